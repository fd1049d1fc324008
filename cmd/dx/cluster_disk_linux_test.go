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

// damagedFiles are the files of a member that TestClusterDamage damages, as patterns below its data
// directory. The newest match is damaged.
var damagedFiles = []struct{ name, pattern string }{
	{"etcd's WAL", "etcd/member/wal/*.wal"},
	{"etcd's db", "etcd/member/snap/db"},
	{"etcd's snapshot", "etcd/member/snap/*.snap"},
	{"archive", "journal/log/*.wal"},
	{"snapshot", "journal/snapshots/*.snapshot"},
}

// TestClusterDamage stops a member, flips a bit in one of its files or cuts it, and starts the member. It
// must either end and serve nothing, with 3 and the name of the file, or serve what every other member
// serves. What is damaged in its archive or a snapshot it gets from another member. The others go on meanwhile. A member that ended is replaced.
func TestClusterDamage(t *testing.T) {
	skipUnlessLong(t)
	c := startCluster(t, loadRates...)
	l := c.load()
	l.answered(1000)
	outcomes := map[string]int{}
	victim := 0
	for range fewRounds() {
		for _, f := range damagedFiles {
			for what, damage := range map[string]func(*testing.T, string){"bit flip": func(t *testing.T, file string) { flipBit(t, file) }, "truncation": cutFile} {
				victim = (victim + 1) % 3
				c.change(victim, "POST", "/admin/snapshot", nil)
				l.answered(200)
				c.kill(victim)
				found, err := filepath.Glob(filepath.Join(c.data(victim), f.pattern))
				if err != nil {
					t.Fatal(err)
				}
				if len(found) == 0 {
					outcomes[f.name+", "+what+": there is none"]++
					c.start(victim)
					c.waitServing(victim)
					continue
				}
				file := slices.Max(found)
				damage(t, file)
				l.useOthers(victim)
				c.start(victim)
				outcome := c.afterDamage(victim, file)
				outcomes[f.name+", "+what+": "+outcome]++
				l.answered(100) // on the others
				if c.members[victim].cmd != nil && f.name == "etcd's db" {
					// What is damaged may not have been read yet. A new member gets the leader's db.
					c.change((victim+1)%3, "POST", "/admin/cluster/leader", schemas.MoveLeader{Name: memberNames[(victim+1)%3]})
					c.kill(victim)
				}
				if c.members[victim].cmd == nil {
					c.replace(victim)
				}
				l.use(0, 1, 2)
			}
		}
	}
	l.finish()
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

// TestClusterFlippedFiles flips a used byte in each file of a member in turn, and starts the member. It must serve what
// the others serve, or end with 3 and the name of the file; with the byte put back it starts as before.
func TestClusterFlippedFiles(t *testing.T) {
	skipUnlessLong(t)
	c := startCluster(t, append([]string{"--mirror", "sqlite"}, loadRates...)...)
	l := c.load()
	l.answered(1000)
	const victim = 1
	c.change(victim, "POST", "/admin/snapshot", nil)
	c.change(victim, "POST", "/admin/cluster/leader", schemas.MoveLeader{Name: memberNames[victim]}) // etcd writes most there
	for range fewRounds() {
		for _, file := range c.filesOf(victim) {
			l.use(0, 2)
			c.terminate(victim)
			whole, err := os.ReadFile(file)
			if errors.Is(err, os.ErrNotExist) { // a segment or a snapshot that was removed since
				c.start(victim)
				c.waitServing(victim)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			at, bit := flipBit(t, file)
			c.start(victim)
			outcome := c.afterDamage(victim, file)
			t.Logf("%s, byte %d, bit %#x: %s", strings.TrimPrefix(file, c.data(victim)), at, bit, outcome)
			if c.members[victim].cmd == nil {
				if err := os.WriteFile(file, whole, 0o600); err != nil {
					t.Fatal(err)
				}
				c.start(victim)
				c.waitServing(victim)
			}
			l.use(0, 1, 2)
			l.answered(50)
		}
	}
	l.finish()
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

// flipBit flips a bit in the part of a file that is used, and returns which one.
func flipBit(t *testing.T, file string) (at int64, bit byte) {
	t.Helper()
	at, bit = int64(rand.IntN(usedBytes(t, file))), 1<<rand.IntN(8)
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
	return at, bit
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
	l := c.load()
	l.answered(200)
	c.change(0, "POST", "/admin/cluster/leader", schemas.MoveLeader{Name: memberNames[member]})
	filler := filepath.Join(disk, "filler")
	fill := func(free int64) {
		var s syscall.Statfs_t
		if err := syscall.Statfs(disk, &s); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filler, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(make([]byte, max(0, int64(s.Bavail)*s.Bsize-free))); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	fill(100 << 20) // less than 128 MiB
	c.waitState(member, "disk_full")
	if status, err := c.admin(t.Context(), member, "POST", fmt.Sprintf("/admin/users/%d/deposits", l.user), map[string]string{"amount": "1", "deposit_id": "on a full disk"}, nil); err != nil || status != 503 {
		t.Errorf("a write on a full disk: %d %v", status, err)
	}
	if !within(3*time.Minute, func() bool { return c.leader() != member }) {
		t.Fatal("a member with a full disk keeps the lead")
	}
	l.answered(300)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	c.waitServing(member)
	l.answered(300)
	l.finish()
}
