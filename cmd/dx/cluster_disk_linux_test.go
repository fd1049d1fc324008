package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"duplex/internal/memdir"
	"duplex/schemas"
)

// cutFiles are the files of a member that TestClusterDamage cuts too, as patterns below its data directory. The
// newest match is cut.
var cutFiles = []string{"etcd/member/wal/*.wal", "etcd/member/snap/db", "etcd/member/snap/*.snap", "journal/log/*.wal", "journal/snapshots/*.snapshot"}

// TestClusterDamage stops a member, flips a bit in the used part of one of its files or cuts the file, and starts the
// member: with each file in turn. It must serve what the others serve, or end and serve nothing, with 3 and the name of
// the file. What is damaged in its archive or a snapshot it gets from another member. The others go on meanwhile. A
// member that ended over a flip starts as before once the byte is put back, and one that ended over a cut is replaced.
func TestClusterDamage(t *testing.T) {
	skipUnlessLong(t)
	r := startCluster(t, append([]string{"--mirror", "sqlite"}, loadRates...)...).underLoad()
	r.l.answered(800)
	outcomes := map[string]int{}
	damage := func(victim int, file string, flip bool) {
		r.l.useOthers(victim)
		if flip {
			r.terminate(victim)
		} else {
			r.kill(victim)
		}
		whole, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) { // a segment or a snapshot that was removed since
			r.start(victim)
			r.waitServing(victim)
			r.l.use(0, 1, 2)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		what := "cut"
		if flip {
			what = "flip of " + flipBit(t, file)
		} else {
			cutFile(t, file)
		}
		r.start(victim)
		outcome := r.afterDamage(victim, file)
		t.Logf("%s, %s: %s", strings.TrimPrefix(file, r.data(victim)), what, outcome)
		outcomes[outcome]++
		r.l.answered(100) // on the others
		if r.members[victim].cmd != nil && !flip && filepath.Base(file) == "db" {
			// What is damaged may not have been read yet. A new member gets the leader's db.
			r.change((victim+1)%3, "POST", "/admin/cluster/leader", schemas.MoveLeader{Name: memberNames[(victim+1)%3]})
			r.kill(victim)
		}
		switch {
		case r.members[victim].cmd != nil:
		case flip:
			if err := os.WriteFile(file, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			r.start(victim)
			r.waitServing(victim)
		default:
			r.replace(victim)
		}
		r.l.use(0, 1, 2)
		r.l.answered(50)
	}
	for range fewRounds() {
		const flipped = 1
		r.change(flipped, "POST", "/admin/snapshot", nil)
		r.change(flipped, "POST", "/admin/cluster/leader", schemas.MoveLeader{Name: memberNames[flipped]}) // etcd writes most there
		for _, file := range r.filesOf(flipped) {
			damage(flipped, file, true)
		}
		for n, pattern := range cutFiles {
			victim := n % 3
			r.change(victim, "POST", "/admin/snapshot", nil)
			r.l.answered(200)
			found, err := filepath.Glob(filepath.Join(r.data(victim), pattern))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) == 0 {
				outcomes["no "+pattern]++
				continue
			}
			damage(victim, slices.Max(found), false)
		}
	}
	r.finish()
	for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%3d × %s", outcomes[outcome], outcome)
	}
}

// afterDamage waits until a member serves, or has ended as it may.
func (c *clusterTrial) afterDamage(i int, file string) string {
	c.Helper()
	m := c.members[i]
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); {
		select {
		case err := <-m.done:
			m.cmd = nil
			name := filepath.Base(file)
			switch {
			case name == "db":
				name = "snap/db"
			case strings.Contains(file, "etcd/member/wal"):
				name = "member/wal"
			}
			named := strings.Contains(m.logs.String(), name)
			exit, ok := errors.AsType[*exec.ExitError](err)
			switch {
			case !ok:
				c.Errorf("%s with a damaged %s: %v", memberNames[i], file, err)
				return "ended"
			case strings.Contains(file, "journal"):
				c.Errorf("%s does not replace its damaged %s: %v\n%.3000s", memberNames[i], file, err, withoutActions(m.logs.String()))
				return "failed"
			case exit.ExitCode() == 3 && named:
				return "exit 3, file named"
			}
			c.Errorf("%s with a damaged %s: %v\n%.3000s", memberNames[i], file, err, withoutActions(m.logs.String()))
			return "failed"
		case <-time.After(20 * time.Millisecond):
		}
		if c.serves(i) {
			if strings.Contains(m.logs.String(), filepath.Base(file)) {
				return "repaired, file named"
			}
			return "serves"
		}
	}
	c.Errorf("%s with a damaged %s neither serves nor ends\n%s", memberNames[i], file, m.logs)
	return "waits"
}

// filesOf are the files of a member that have a content after its end. Its mirror is left out: SQLite has no checksums
// of its rows, and a node says that it is behind where it cannot read them.
func (c *clusterTrial) filesOf(i int) (list []string) {
	c.Helper()
	err := filepath.WalkDir(c.data(i), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".lock") || strings.HasSuffix(path, ".tmp") || filepath.Base(filepath.Dir(path)) == "mirror" {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() == 0 {
			return err
		}
		list = append(list, path)
		return nil
	})
	if err != nil {
		c.Fatal(err)
	}
	return list
}

// replace removes a member that has ended, and adds it again with an empty data directory.
func (c *clusterTrial) replace(i int) {
	c.Helper()
	other := (i + 1) % 3
	c.change(other, "DELETE", "/admin/cluster/members/"+memberNames[i], nil)
	if err := os.RemoveAll(c.data(i)); err != nil {
		c.Fatal(err)
	}
	c.change(other, "POST", "/admin/cluster/members", schemas.AddMember{Name: memberNames[i], Peer: c.address(i, 7000)})
	c.start(i, "--join")
	c.waitServing(i)
	if !within(3*time.Minute, func() bool { return c.roleOf(other, memberNames[i]) != "learner" }) {
		c.Fatalf("%s gets no vote", memberNames[i])
	}
}

// usedBytes is the length of a file without the zeros at its end: logs are allocated in advance.
func usedBytes(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return len(bytes.TrimRight(b, "\x00"))
}

// flipBit flips a bit in the part of a file that is used, and says which one.
func flipBit(t *testing.T, file string) string {
	t.Helper()
	at, bit := int64(rand.IntN(usedBytes(t, file))), byte(1)<<rand.IntN(8)
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= bit
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("byte %d, bit %#x", at, bit)
}

// cutFile removes up to all of the used part of a file.
func cutFile(t *testing.T, file string) {
	t.Helper()
	if err := os.Truncate(file, int64(rand.IntN(usedBytes(t, file)))); err != nil {
		t.Fatal(err)
	}
}

// TestClusterFullDisk fills the disk of the leader: it gives the lead away and takes no writes, and the
// others go on. With space it serves again.
func TestClusterFullDisk(t *testing.T) {
	skipUnlessLong(t)
	c := newClusterTrial(t, 3)
	c.args = loadRates
	const member = 0
	disk := c.data(member)
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	memdir.Mount(t, disk, "600m")
	t.Cleanup(func() { c.kill(member) })
	c.startAll()
	r := c.underLoad()
	filler := filepath.Join(disk, "filler")
	fill := func(r *faultRun) {
		c.change(0, "POST", "/admin/cluster/leader", schemas.MoveLeader{Name: memberNames[member]})
		var s syscall.Statfs_t
		if err := syscall.Statfs(disk, &s); err != nil {
			t.Fatal(err)
		}
		const free = 100 << 20 // less than 128 MiB
		if err := os.WriteFile(filler, make([]byte, max(0, int64(s.Bavail)*s.Bsize-free)), 0o600); err != nil {
			t.Fatal(err)
		}
		c.waitState(member, "disk_full")
	}
	full := func(r *faultRun) {
		if status, err := c.admin(t.Context(), member, "POST", fmt.Sprintf("/admin/users/%d/deposits", r.l.user), map[string]string{"amount": "1", "deposit_id": "on a full disk"}, nil); err != nil || status != 503 {
			t.Errorf("a write on a full disk: status %d, %v; want 503", status, err)
		}
		r.losesLead(member)
	}
	free := func(*faultRun) {
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
	r.run(1, fault{kind: "leader's disk full", hits: func(*faultRun) []int { return []int{member} }, begin: fill, lasts: full, answers: 300, end: free})
	r.finish()
}
