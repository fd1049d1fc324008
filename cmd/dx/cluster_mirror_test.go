package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

var mirrorSeq = regexp.MustCompile(`seq +(\d+)\n`)

// TestClusterMirrors gives each member of a cluster and a follower a mirror of its own. After a kill of a
// member that misses commands, and one of the follower, each mirror catches up, agrees with the archive
// of its node, and has the same rows as the others.
func TestClusterMirrors(t *testing.T) {
	skipUnlessLong(t)
	c := startCluster(t, "--mirror", "sqlite")
	user := c.createUser("trader")
	f := c.follow()
	f.args = []string{"--mirror", "sqlite"}
	f.start(0, 1)
	f.waitState("serving")
	for i := range 5 {
		c.depositOn(i%3, user, fmt.Sprint("before-", i))
	}
	c.kill(2)
	f.kill()
	for i := range 5 {
		c.depositOn(i%2, user, fmt.Sprint("away-", i))
	}
	f.start(0, 1)
	c.start(2)
	c.waitServing(2)
	f.waitState("serving")
	c.depositOn(2, user, "after")
	want := uint64(c.seqOf(2))

	files := map[string]string{} // hash of the ledger of each node
	for _, data := range []string{c.data(0), c.data(1), c.data(2), filepath.Join(c.dir, "f")} {
		for end, at := time.Now().Add(3*time.Minute), uint64(0); at < want; time.Sleep(20 * time.Millisecond) {
			out, err := c.try("mirror", "status", "--data", data)
			if m := mirrorSeq.FindStringSubmatch(out); m != nil {
				at, _ = strconv.ParseUint(m[1], 10, 64) // digits
			}
			if time.Now().After(end) {
				t.Fatalf("the mirror of %s is at seq %d, want %d: %v\n%s", data, at, want, err, out)
			}
		}
		if out := c.dx("mirror", "check", "--data", data); !regexp.MustCompile(`(?m)^equal: \d+ rows`).MatchString(out) {
			t.Errorf("%s: %s", data, out)
		}
		dir := filepath.Join(t.TempDir(), "out")
		c.dx("export", "ledger", "--to", fmt.Sprint(want), "--data", data, "--out", dir)
		b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			Rows  int
			Files []struct{ SHA256 string }
		}
		if err := json.Unmarshal(b, &m); err != nil || m.Rows != 11 {
			t.Errorf("%s: %s %v", data, b, err)
		}
		files[fmt.Sprint(m.Files)] += data + " "
	}
	if len(files) != 1 {
		t.Errorf("the ledgers differ: %v", files)
	}
}
