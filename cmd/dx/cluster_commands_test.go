package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"duplex/schemas"
)

// clusterStatus is what `dx cluster status --json` prints on a member, and its error.
func (c *clusterTrial) clusterStatus(i int) (s schemas.ClusterStatus, err error) {
	c.Helper()
	out, err := c.tryAt(i, "cluster", "status", "--json")
	line, _, _ := strings.Cut(out, "\n")
	if bad := json.Unmarshal([]byte(line), &s); bad != nil {
		c.Fatalf("dx cluster status --json: %v\n%s", bad, out)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimPrefix(out, line))
	}
	return s, err
}

// waitStatus waits until `dx cluster status` of a member shows what is wanted.
func (c *clusterTrial) waitStatus(i int, what string, ok func(schemas.ClusterStatus, error) bool) (s schemas.ClusterStatus) {
	c.Helper()
	var err error
	if !within(3*time.Minute, func() bool { s, err = c.clusterStatus(i); return ok(s, err) }) {
		c.Fatalf("dx cluster status does not show %s: %+v, %v", what, s, err)
	}
	return s
}

// refused runs a command that the member must refuse, with a reason.
func (c *clusterTrial) refused(i int, reason string, args ...string) {
	c.Helper()
	out, err := c.tryAt(i, args...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out, "invalid_transition") || !strings.Contains(out, reason) {
		c.Errorf("dx %s: %v, want a refusal with %q\n%s", strings.Join(args, " "), err, reason, out)
	}
}

// accepted runs a command until a member accepts it, and returns the members that it prints.
func (c *clusterTrial) accepted(i int, args ...string) (s schemas.ClusterStatus) {
	c.Helper()
	var out string
	var err error
	if within(3*time.Minute, func() bool { out, err = c.tryAt(i, args...); return err == nil }) {
		err = json.Unmarshal([]byte(out), &s)
	}
	if err != nil {
		c.Fatalf("dx %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return s
}

func memberOf(s schemas.ClusterStatus, name string) schemas.ClusterMember {
	if i := slices.IndexFunc(s.Members, func(m schemas.ClusterMember) bool { return m.Node == name }); i >= 0 {
		return s.Members[i]
	}
	return schemas.ClusterMember{}
}
