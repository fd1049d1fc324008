package cluster

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
)

var damages = flag.Int("damages", 3, "damaged databases of etcd in TestRecoverOfADamagedDatabase")

// TestRecoverOfADamagedDatabase checks that etcd's damaged database is an error to recover, which goes
// on with the archives, and never the end of the process; and that what is read in spite of it is right.
//
//	go test ./cluster -run RecoverOfADamagedDatabase -damages 1000 -v
func TestRecoverOfADamagedDatabase(t *testing.T) {
	t.Parallel()
	o, want := stoppedMember(t)
	head := uint64(len(want))
	unreadable := 0
	try := func(name string, damage func(db []byte) []byte) error {
		t.Helper()
		c, err := copyEtcd(o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.remove()
		path := filepath.Join(c.dir, "etcd", "member", "snap", "db")
		db, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, damage(db), 0o600); err != nil {
			t.Fatal(err)
		}
		archive, err := journal.Open(t.TempDir(), journal.Options{Archive: true})
		if err != nil {
			t.Fatal(err)
		}
		defer archive.Close()
		readErr := c.drain(t.Context(), archive)
		if readErr == nil && archive.Head() != head {
			t.Errorf("%s: %d groups and no error", name, archive.Head())
		}
		if readErr != nil {
			unreadable++
		}
		if n := archive.Head(); n > 0 && archive.Last() != want[n-1].After() {
			t.Errorf("%s: another group %d", name, n)
		}
		return readErr
	}
	if err := try("whole", func(db []byte) []byte { return db }); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(db []byte) []byte{
		"no root":  func(db []byte) []byte { clear(db[:2*os.Getpagesize()]); return db },
		"no pages": func(db []byte) []byte { clear(db[2*os.Getpagesize():]); return db },
		"other text": func(db []byte) []byte {
			for i := range db {
				db[i] = byte(i)
			}
			return db
		},
	} {
		if err := try(name, damage); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	try("half of it", func(db []byte) []byte { return db[:len(db)/2] }) // etcd may still have all of it in its WAL
	for range *damages {
		try("flip", func(db []byte) []byte {
			for range 1 + rand.N(20) {
				db[rand.N(len(db))] ^= 1 << rand.N(8)
			}
			return db
		})
	}
	t.Logf("%d databases were not readable", unreadable)
}

// stoppedMember is the data of a member that has stopped, and the groups of its log.
func stoppedMember(t *testing.T) (o *offline, groups []journal.Group) {
	t.Helper()
	r := newTrial(t, 1)
	l := r.open(0)
	fill(t, l, 1, 1<<32, 300)
	head, err := r.clusters[0].readHead(t.Context()) // a proposal that waited long was put twice
	if err != nil {
		t.Fatal(err)
	}
	groups = read(t, l, 1, head)
	l.Close()
	r.closeAll()
	if o, err = openOffline(r.options[0].Dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.close() })
	return o, groups
}

// TestInitCountsNodes checks that the nodes of a cluster that begins with the data of a former member get numbers
// that no node had which has written to the journal: in those the proposals of their lives are used.
func TestInitCountsNodes(t *testing.T) {
	dir := t.TempDir()
	l, err := journal.Open(filepath.Join(dir, "journal"), journal.Options{Archive: true})
	if err != nil {
		t.Fatal(err)
	}
	body, err := journal.AppendCommand(nil, &core.CreateUser{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []uint32{2, 7, 3} {
		if err := l.Append(l.Last().Next(journal.Group{Node: node, Proposal: 1<<32 + 1, Body: body})); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.Sync(), l.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Init(dir, "a"); err != nil {
		t.Fatal(err)
	}
	if id, err := readIdentity(dir); err != nil || id.Node != 8 {
		t.Errorf("%+v: %v", id, err)
	}
}

// memberData returns the data directory of member a, which has no data of etcd's. Its detach has begun if
// it is leaving.
func memberData(t *testing.T, leaving bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	e, err := engine.OpenContext(t.Context(), engine.Options{Dir: filepath.Join(dir, "journal")})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := Init(dir, "a"); err != nil {
		t.Fatal(err)
	}
	id, err := readIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	id.Forming, id.Leaving = false, leaving
	if err := id.write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDetachIsRepeated checks that a detach which a crash has interrupted is finished by the next one,
// and that the folder is neither a member nor a single machine until then.
func TestDetachIsRepeated(t *testing.T) {
	dir := memberData(t, true)
	if err := os.MkdirAll(filepath.Join(dir, "etcd", "member"), 0o700); err != nil { // a part of it
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, peerPairName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if name, err := MemberOf(dir); err != nil || name != "a" {
		t.Errorf("member %q, %v", name, err)
	}
	r := prepareTrial(t, 3)
	r.options[0].Dir = dir
	if err := r.refusedStart(r.options[0]); r.clusters[0] != nil {
		t.Error(err)
	}
	if _, err := Detach(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if name, err := MemberOf(dir); err != nil || name != "" {
		t.Errorf("member %q, %v", name, err)
	}
	for _, name := range []string{"etcd", peerPairName} {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

// TestRecoverOfADamagedArchive checks that recover takes from the archive of another member what comes before a
// damage, and names the damage.
func TestRecoverOfADamagedArchive(t *testing.T) {
	const groups = 100
	memberWith := func(n int) *offline {
		t.Helper()
		dir := t.TempDir()
		o := &offline{dir: dir, journal: filepath.Join(dir, "journal"), identity: &identity{}}
		l, err := o.openArchive()
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := l.Append(l.Last().Next(journal.Group{Node: 1, Proposal: uint64(1<<32 + i), Body: bytes.Repeat([]byte{byte(i)}, 10_000)})); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(l.Sync(), l.Close()); err != nil {
			t.Fatal(err)
		}
		return o
	}
	other := memberWith(groups)
	segments, err := filepath.Glob(filepath.Join(other.journal, "log", "*.wal"))
	if err != nil || len(segments) < 3 {
		t.Fatal(segments, err)
	}
	last := uint64(10)
	for i, path := range segments {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int{100, len(bytes.TrimRight(whole, "\x00")) / 2} { // before its first group, and between two
			b := bytes.Clone(whole)
			b[at] ^= 1
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			o := memberWith(10)
			r, err := o.complete(t.Context(), []*offline{o, other})
			if err != nil || len(r.Damaged) != 1 || r.Number < last || r.Number >= groups {
				t.Errorf("segment %d of %d, byte %d: %+v: %v; want groups after %d", i+1, len(segments), at, r, err, last)
			}
			last = r.Number
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := memberWith(10)
	if r, err := o.complete(t.Context(), []*offline{o, other}); err != nil || len(r.Damaged) != 0 || r.Number != groups {
		t.Errorf("%+v: %v", r, err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	o = memberWith(10)
	if _, err := o.complete(canceled, []*offline{o, other}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if err := os.Remove(segments[len(segments)-1]); err != nil {
		t.Fatal(err)
	}
	o = memberWith(10)
	if r, err := o.complete(t.Context(), []*offline{o, other}); err != nil || len(r.Damaged) != 1 || r.Number <= 10 || r.Number >= groups {
		t.Errorf("without the last segment: %+v: %v", r, err)
	}
}

// TestRecoverKeepsWhatItCannotRead checks that recover deletes nothing of etcd's that it could not read, and changes
// nothing if it cannot copy etcd's data.
func TestRecoverKeepsWhatItCannotRead(t *testing.T) {
	dir := memberData(t, false)
	member := filepath.Join(dir, "etcd", "member")
	if err := errors.Join(os.Mkdir(filepath.Dir(member), 0o700), os.WriteFile(member, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Recover(t.Context(), dir, nil); !errors.Is(err, errNotCopied) {
		t.Errorf("%v, want %v", err, errNotCopied)
	}
	if now, err := readIdentity(dir); err != nil || now.Forming {
		t.Errorf("%+v, %v", now, err)
	}
	if err := errors.Join(os.Remove(member), os.Mkdir(member, 0o700), os.WriteFile(filepath.Join(member, "wal"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	r, err := Recover(t.Context(), dir, nil)
	if err != nil || len(r.Unusable) != 1 {
		t.Fatalf("%+v: %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(r.Kept, "member", "wal")); err != nil {
		t.Error(err)
	}
	if now, err := readIdentity(dir); err != nil || !now.Forming {
		t.Errorf("%+v, %v", now, err)
	}
}
