package journal

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
)

// groupsOf returns n groups after a position.
func groupsOf(after Position, n int) (list []Group) {
	for i := range n {
		g := after.Next(Group{Node: 7, Proposal: uint64(i + 1), Stamp: int64(i), Body: body(int(after.Number) + i + 1)})
		list = append(list, g)
		after = g.After()
	}
	return list
}

func openArchive(t testing.TB, dir string, base Position) *File {
	t.Helper()
	f, err := Open(dir, Options{Archive: true, Base: base, Start: base})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func appendAll(t testing.TB, f *File, list []Group) {
	t.Helper()
	for _, g := range list {
		if err := f.Append(g); err != nil {
			t.Fatal(err)
		}
	}
}

// requireGroups fails unless the log has exactly these groups from their first number on.
func requireGroups(t testing.TB, f *File, want []Group) {
	t.Helper()
	if got := mustDrain(t, f, want[0].Number); !same(got, want) {
		t.Fatalf("the %d groups from %d on are not the %d wanted ones", len(got), want[0].Number, len(want))
	}
}

// TestArchiveOfANode checks that an archive has the bytes of the log that it copies, from its start and
// from a base, over a restart and after a trim.
func TestArchiveOfANode(t *testing.T) {
	for _, base := range []int{0, 41} {
		at := Position{}
		if base > 0 {
			list := groupsOf(at, base)
			at = list[base-1].After()
		}
		list, dir := groupsOf(at, 300), tempDir(t)
		f := openArchive(t, dir, at)
		appendAll(t, f, list[:200])
		requireGroups(t, f, list[:200])
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		if f.Synced() != list[199].Number {
			t.Errorf("synced %d", f.Synced())
		}
		if err := f.Append(list[250]); !errors.Is(err, errNotNext) {
			t.Errorf("a gap: %v", err)
		}
		mustClose(t, f)
		f = openArchive(t, dir, at)
		appendAll(t, f, list[200:])
		requireGroups(t, f, list)
		if err := f.Trim(list[280].Number); err != nil {
			t.Fatal(err)
		}
		mustClose(t, f)
		f = openArchive(t, dir, list[280].After())
		requireGroups(t, f, list[290:])
		mustClose(t, f)
		for _, err := range Check(dir, list[280].After(), 0) {
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// TestArchiveCutsWhatItHasNotSynced damages each byte region after the mark, and one before it.
func TestArchiveCutsWhatItHasNotSynced(t *testing.T) {
	list := groupsOf(Position{}, 400)
	for damaged := 205; damaged < 400; damaged += 13 {
		dir := tempDir(t)
		f := openArchive(t, dir, Position{})
		appendAll(t, f, list[:200])
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		mark := mustRead(t, filepath.Join(dir, markName))
		appendAll(t, f, list[200:])
		mustClose(t, f)
		mustWrite(t, filepath.Join(dir, markName), mark)
		flip(t, dir, damaged)
		f = openArchive(t, dir, Position{})
		if last := f.Last().Number; last != uint64(damaged)-1 {
			t.Errorf("group %d is damaged, the archive ends at %d", damaged, last)
		}
		appendAll(t, f, list[damaged-1:])
		requireGroups(t, f, list)
		mustClose(t, f)
	}
	dir := tempDir(t)
	f := openArchive(t, dir, Position{})
	appendAll(t, f, list[:200])
	mustClose(t, f)
	flip(t, dir, 150)
	_, err := Open(dir, Options{Archive: true})
	if damage := (*Damage)(nil); !errors.As(err, &damage) || damage.Group != 150 {
		t.Errorf("damage before the mark: %v", err)
	}
}

// flip changes a bit in the body of a group.
func flip(t *testing.T, dir string, number int) {
	t.Helper()
	g := places(t, dir)[number-1]
	mustWrite(t, g.File, flipped(mustRead(t, g.File), g.Offset+60))
}

// TestRecords checks the form in which groups are sent.
func TestRecords(t *testing.T) {
	list := groupsOf(Position{}, 20)
	var b []byte
	for i := range list {
		b = AppendRecord(b, &list[i])
	}
	r, at := bytes.NewReader(b), Position{}
	for i := range list {
		g, err := ReadRecord(r)
		if err != nil || !g.Follows(at) || !bytes.Equal(g.Body, list[i].Body) {
			t.Fatalf("record %d: %v", i, err)
		}
		at = g.After()
	}
	for i := range len(b) {
		c := bytes.Clone(b)
		c[i] ^= 1
		r, at := bytes.NewReader(c), Position{}
		for n := 0; ; n++ {
			g, err := ReadRecord(r)
			if err != nil || !g.Follows(at) {
				break
			}
			if at = g.After(); n == len(list)-1 {
				t.Fatalf("byte %d is changed, and nothing noticed", i)
			}
		}
	}
}
