package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"duplex/schemas"
)

// renew renews the certificates of all members and of the follower f, and returns when they end.
func (c *clusterTrial) renew(f *followerOf, valid time.Duration) time.Time {
	c.Helper()
	args := []string{"cluster", "certs", filepath.Join(c.dir, "certs"), "--renew", "--valid", valid.String(), "--follower", "f=" + f.host}
	for i, name := range memberNames {
		args = append(args, name+"="+c.hosts[i])
	}
	out := c.dx(args...)
	end, err := time.Parse(time.DateTime, regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`).FindString(out))
	if err != nil {
		c.Fatalf("%v in\n%s", err, out)
	}
	return end
}

// certificateEnds reads the two values of the metric at an admin listener, by the kind of certificate.
func (c *clusterTrial) certificateEnds(url string) map[string]time.Time {
	c.Helper()
	_, page := c.send("GET", url+"/metrics", "", clusterOperator)
	ends := map[string]time.Time{}
	for _, m := range regexp.MustCompile(`(?m)^duplex_cluster_certificate_end_seconds\{certificate="(\w+)"\} (\S+)$`).FindAllStringSubmatch(page, -1) {
		var seconds float64
		if err := json.Unmarshal([]byte(m[2]), &seconds); err != nil {
			c.Fatal(m[0], err)
		}
		ends[m[1]] = time.Unix(int64(seconds), 0).UTC()
	}
	return ends
}

// TestClusterCertsCommand checks the durations of dx cluster certs, that only --renew replaces a file, and
// what it prints.
func TestClusterCertsCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	run := func(more ...string) (code int, out string) {
		t.Helper()
		code, out, errs := runCommand(append([]string{"cluster", "certs", dir, "a=127.0.0.1", "--follower", "f=127.0.0.2"}, more...)...)
		return code, out + errs
	}
	for _, bad := range []string{"0s", "-1h", "999ms", "3651d", "87601h", "12", "d", "1.5d", "+1d", "70000d", "soon"} {
		if code, out := run("--valid=" + bad); code != 2 || !strings.Contains(out, "--valid") {
			t.Errorf("--valid %s: %d %s", bad, code, out)
		}
	}
	if code, out := run("--renew"); code != 1 || !strings.Contains(out, "a.crt") {
		t.Errorf("nothing to renew: %d %s", code, out)
	}
	for _, test := range []struct {
		valid string
		lasts time.Duration
		renew []string
	}{{"12h", 12 * time.Hour, nil}, {"730d", 730 * 24 * time.Hour, []string{"--renew"}}, {"1s", time.Second, []string{"--renew"}}} {
		before := time.Now()
		code, out := run(append(test.renew, "--valid", test.valid)...)
		end, err := time.Parse(time.DateTime, regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`).FindString(out))
		if began := end.Add(time.Second - test.lasts); code != 0 || err != nil || began.Before(before) || began.After(time.Now().Add(time.Second)) {
			t.Errorf("--valid %s: %d %v\n%s", test.valid, code, err, out)
		}
	}
	if code, out := run(); code != 1 || !strings.Contains(out, "no file is ever replaced") {
		t.Errorf("a second certificate: %d %s", code, out)
	}
}

// TestClusterCertificates lets the certificates of all nodes end under load, and replaces them then. A
// member that is killed and restarts with the new ones serves again although the processes of the others
// began with the old ones; so does each other node. Nothing that was answered is lost.
func TestClusterCertificates(t *testing.T) {
	skipUnlessLong(t)
	c := newClusterTrial(t, 3)
	c.args = loadRates
	f := c.follow()
	var end time.Time
	for valid := time.Minute; ; valid *= 2 { // a machine that takes so long to start gets more time
		end = c.renew(f, valid)
		c.startAll()
		f.start(0, 1)
		f.waitState("serving")
		if time.Now().Before(end) {
			break
		}
		for i := range c.members {
			c.kill(i)
		}
		f.kill()
	}
	l := c.load()
	l.answered(300)
	time.Sleep(time.Until(end.Add(time.Second)))
	l.answered(300) // over the connections that are there
	if _, err := c.clusterStatus(0); err == nil || !strings.Contains(err.Error(), "the certificate of b ended on "+end.Format(time.DateOnly)) {
		t.Errorf("dx cluster status: %v, want an error about the certificates", err)
	}

	end = c.renew(f, 48*time.Hour)
	for i := range c.members {
		c.kill(i)
		c.start(i)
		c.waitServing(i)
		l.answered(300)
	}
	f.kill()
	f.start(2)
	f.waitState("serving")

	s := c.waitStatus(1, "the new certificates alone", func(s schemas.ClusterStatus, err error) bool { return err == nil })
	for _, m := range s.Members {
		if int64(m.CertEndTs) != end.UnixNano() {
			t.Errorf("the certificate of %s ends at %d, want %v", m.Node, m.CertEndTs, end)
		}
	}
	ca := time.Unix(0, int64(s.CAEndTs)).UTC()
	if !ca.After(end.AddDate(9, 0, 0)) {
		t.Errorf("the authority ends on %v", ca)
	}
	for _, url := range []string{c.url(0, 8082), f.url(8082)} {
		if ends := c.certificateEnds(url); !ends["node"].Equal(end) || !ends["ca"].Equal(ca) {
			t.Errorf("the metric of %s is %v, want %v and %v", url, ends, end, ca)
		}
	}
	if out, err := c.tryAt(0, "cluster", "status"); err != nil || !strings.Contains(out, "authority ends "+ca.Format(time.DateOnly)) || strings.Count(out, end.Format(time.DateOnly)) != 3 {
		t.Errorf("dx cluster status: %v\n%s", err, out)
	}
	if ends := fmt.Sprintf(`"ends":%q`, end.Format(time.RFC3339)); !strings.Contains(c.members[0].logs.String(), ends) {
		t.Errorf("the log of a has no %s", ends)
	}
	l.stop()
	l.compare()
	f.waitEqual(0)
	l.finish()
}
