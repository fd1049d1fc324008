package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
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

// TestClusterCommands runs the commands of the operator of a cluster while two of three members run, and
// then with all three: status, the lead, defragmentation, and the changes that are refused, among them one
// after which too few members would be up.
func TestClusterCommands(t *testing.T) {
	skipUnlessLong(t)
	c := newClusterTrial(t, 3)
	c.start(0)
	c.start(1)
	c.waitServing(0)
	c.waitServing(1)

	s := c.waitStatus(0, "c as the only member that is down", func(s schemas.ClusterStatus, err error) bool {
		return err != nil && strings.Contains(err.Error(), "c is down") && !strings.Contains(err.Error(), ";")
	})
	if a := memberOf(s, "a"); s.ClusterID == "" || s.Leader == "" || len(s.Members) != 3 || a.Seq == 0 || a.Number == 0 || a.Version == "" || a.DiskFree == 0 || a.Peer != c.address(0, 7000) || a.Follow != c.address(0, 7001) {
		t.Errorf("%+v", s)
	}
	if out, err := c.tryAt(0, "cluster", "status"); err == nil || !strings.Contains(out, "leader "+s.Leader) || !strings.Contains(out, c.address(2, 7000)) {
		t.Errorf("%v\n%s", err, out)
	}
	c.refused(0, "only 1 of 2 voters would be up", "cluster", "remove", "b")
	c.refused(0, "ask another member", "cluster", "remove", "a")
	c.refused(0, "not a member", "cluster", "remove", "zoe")
	c.refused(0, "is a member already", "cluster", "add", "c="+c.address(3, 7000))
	c.refused(0, "has a vote already", "cluster", "promote", "c")
	c.refused(0, "not a member", "cluster", "move-leader", "c")

	c.start(2)
	c.waitServing(2)
	s = c.waitStatus(2, "three members that serve", func(_ schemas.ClusterStatus, err error) bool { return err == nil })
	next := memberNames[(slices.Index(memberNames, s.Leader)+1)%3]
	c.accepted(0, "cluster", "move-leader", next)
	c.waitStatus(1, "the new leader", func(s schemas.ClusterStatus, err error) bool {
		return err == nil && s.Leader == next && memberOf(s, next).Role == "leader"
	})
	var d schemas.DefragResult
	out, err := c.tryAt(0, "cluster", "defrag")
	if err == nil {
		err = json.Unmarshal([]byte(out), &d)
	}
	if err != nil || len(d.Members) != 3 || d.Members[2].Node != next {
		t.Errorf("dx cluster defrag: %v\n%s", err, out)
	}
	c.refusedWithoutToken()
}

// refusedWithoutToken checks that the commands need the operator's token.
func (c *clusterTrial) refusedWithoutToken() {
	c.Helper()
	path := dxPath(c)
	cmd := exec.Command(path, "cluster", "status")
	cmd.Env = append(cmd.Environ(), "DX_ADMIN_URL="+c.url(0, 8082), "DX_OPERATOR_TOKEN=another")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "unauthorized") {
		c.Errorf("with another token: %v\n%s", err, out)
	}
}
