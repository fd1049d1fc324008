package journal

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestCopy copies a closed log and checks that the copy opens with the same groups, and that a
// second copy writes only what is new.
func TestCopy(t *testing.T) {
	from, want := closedLog(t, 60)
	to := filepath.Join(tempDir(t), "copy")
	first, err := Copy(t.Context(), from, to, CopyOptions{Other: []string{"other", "missing"}})
	if err != nil {
		t.Fatal(err)
	}
	if first.Below != 61 || first.Files < 3 {
		t.Fatalf("the first copy is %+v, want the groups below 61 in three files or more", first)
	}
	mustWrite(t, filepath.Join(from, "other"), []byte("x"))
	f := mustOpen(t, from)
	propose(t, f, 61, 65)
	want = append(want, mustDrain(t, f, 61)...)
	second, err := Copy(t.Context(), from, to, CopyOptions{Other: []string{"other"}}) // the log is open
	mustClose(t, f)
	if err != nil || second.Below != 66 || second.Files >= first.Files {
		t.Fatalf("%+v after %+v: %v", second, first, err)
	}
	if string(mustRead(t, filepath.Join(to, "other"))) != "x" {
		t.Error("the other file differs")
	}
	f = mustOpen(t, to)
	defer mustClose(t, f)
	if f.Torn() != nil || !same(mustDrain(t, f, 1), want) {
		t.Fatal("the copy differs")
	}
	propose(t, f, 66, 70) // and goes on
}

// TestCopyWhileWriting copies a log again and again while groups are added and segments are
// trimmed. Every copy is a log that opens, and continues where the last one ended.
func TestCopyWhileWriting(t *testing.T) {
	from := tempDir(t)
	f := mustOpen(t, from)
	propose(t, f, 1, 20)
	ended := make(chan struct{})
	stop, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		for n := 21; stop.Err() == nil; n++ {
			propose(t, f, n, n)
			if n%40 == 0 {
				if err := f.Trim(uint64(n - 30)); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	var below uint64
	for range 12 {
		to := filepath.Join(tempDir(t), "copy")
		c, err := Copy(t.Context(), from, to, CopyOptions{})
		if err != nil {
			t.Error(err)
			break
		}
		if c.Below < below {
			t.Errorf("the copy ends before %d, the one before it before %d", c.Below, below)
		}
		below = c.Below
		last := Position{}
		for g, err := range Scan(to, 0) {
			if err != nil {
				t.Error(err)
			}
			last = g.After()
		}
		if last.Number+1 != c.Below {
			t.Errorf("the copy ends with group %d, not before %d", last.Number, c.Below)
		}
	}
	cancel()
	<-ended
	mustClose(t, f)
}

// TestArchive keeps an archive of a log that is trimmed: it has every group since the first, and
// opens as a log.
func TestArchive(t *testing.T) {
	from, to := tempDir(t), filepath.Join(tempDir(t), "archive")
	f := mustOpen(t, from)
	var want []Group
	for n := 1; n < 100; n += 20 {
		propose(t, f, n, n+19)
		want = append(want, mustDrain(t, f, uint64(n))...)
		c, err := Copy(t.Context(), from, to, CopyOptions{Prove: true})
		if err != nil || c.Below != uint64(n+20) {
			t.Fatal(c, err)
		}
		if err := f.Trim(c.Below); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, f)
	g := mustOpen(t, to)
	defer mustClose(t, g)
	if got := mustDrain(t, g, 1); len(segmentsOf(t, to)) < 3 || !same(got, want) {
		t.Fatalf("%d groups of %d", len(got), len(want))
	}
}

// TestCopyRefuses checks what Copy does not do.
func TestCopyRefuses(t *testing.T) {
	from, _ := closedLog(t, 60)
	other := tempDir(t)
	f := mustOpen(t, other)
	propose(t, f, 1001, 1002)
	mustClose(t, f)
	if _, err := Copy(t.Context(), tempDir(t), tempDir(t), CopyOptions{}); !errors.Is(err, ErrNoLog) {
		t.Errorf("no log: %v", err)
	}
	if _, err := Copy(t.Context(), from, other, CopyOptions{}); !errors.Is(err, ErrOtherLog) {
		t.Errorf("another log: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to := tempDir(t)
	if _, err := Copy(ctx, from, to, CopyOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(to, walDir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	for _, at := range []struct {
		segment int
		prove   bool
	}{{len(segmentsOf(t, from)) - 1, false}, {0, true}} {
		damaged := tempDir(t)
		copyLog(t, damaged, from)
		path := segmentsOf(t, damaged)[at.segment].path
		b := mustRead(t, path)
		b[len(bytes.TrimRight(b, "\x00"))/2] ^= 1
		mustWrite(t, path, b)
		_, err := Copy(t.Context(), damaged, tempDir(t), CopyOptions{Prove: at.prove})
		wantDamage(t, err)
	}
	// A venue that was restored from an older backup goes another way after it.
	older := tempDir(t)
	copyLog(t, older, other)
	f = mustOpen(t, older)
	propose(t, f, 1003, 1005)
	mustClose(t, f)
	f = mustOpen(t, other)
	propose(t, f, 2003, 2004)
	ahead := tempDir(t)
	if _, err := Copy(t.Context(), older, ahead, CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Copy(t.Context(), other, ahead, CopyOptions{}); !errors.Is(err, ErrOtherLog) {
			t.Errorf("groups that the journal lacks: %v", err)
		}
		propose(t, f, 2005, 2020) // now it is the longer one
	}
	mustClose(t, f)
	f = mustOpen(t, other)
	defer mustClose(t, f)
	propose(t, f, 1003, 1100)
	to = tempDir(t)
	if _, err := Copy(t.Context(), other, to, CopyOptions{Prove: true}); err != nil {
		t.Fatal(err)
	}
	propose(t, f, 1101, 1300)
	if err := f.Trim(250); err != nil {
		t.Fatal(err)
	}
	if _, err := Copy(t.Context(), other, to, CopyOptions{Prove: true}); err == nil || !strings.Contains(err.Error(), "comes next") {
		t.Errorf("a gap: %v", err)
	}
}
