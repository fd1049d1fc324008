package mirror

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// shorterLeases makes nodes notice soon that a writer is gone.
func shorterLeases(t *testing.T) {
	idle, ping, try, poll := leaseIdle, leasePing, leaseTry, leasePoll
	leaseIdle, leasePing, leaseTry, leasePoll = time.Second, 100*time.Millisecond, 20*time.Millisecond, 10*time.Millisecond
	t.Cleanup(func() { leaseIdle, leasePing, leaseTry, leasePoll = idle, ping, try, poll })
}

// TestOneWriter gives three nodes one PostgreSQL database. One writes, and the others serve its rows. After
// the writer has ended, lost its session, or stood still in the middle of a transaction, another one
// writes, and no row is missing or twice; the one before reads.
func TestOneWriter(t *testing.T) {
	shorterLeases(t)
	dsn := newPostgres(t)
	v := newVenueLog(t, 41)
	v.run(20)
	var stands atomic.Pointer[chan struct{}] // a writer in the middle of a transaction waits for it
	node := func() *Mirror {
		o := v.options(dsn)
		o.Dir, o.Others = filepath.Join(tempDir(t), "mirror"), &otherNodes{}
		o.fault = func(point string) error {
			if until := stands.Load(); until != nil && point == "COMMIT" {
				stands.Store(nil)
				<-*until
			}
			return nil
		}
		return v.start(o)
	}
	nodes := []*Mirror{node(), node(), node()}
	writer := func(but *Mirror) (w *Mirror) {
		t.Helper()
		waitUntil(t, func() bool {
			w = nil
			writers := 0
			for _, m := range nodes {
				if m.Err() != nil {
					t.Fatal(m.Err())
				}
				if m.Writer() {
					w = m
					writers++
				}
			}
			return writers == 1 && w != but
		})
		return w
	}
	allRead := func() {
		t.Helper()
		v.run(3)
		for _, m := range nodes {
			v.waitFor(m)
			v.check(m)
		}
	}
	writer(nil)
	allRead()

	t.Run("it loses its session", func(t *testing.T) {
		execute(t, nil, dsn, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
		allRead()
		writer(nil)
	})
	t.Run("it stands still", func(t *testing.T) {
		before, until := writer(nil), make(chan struct{})
		stands.Store(&until)
		v.run(1)
		waitUntil(t, func() bool { return stands.Load() == nil })
		waitUntil(t, func() bool {
			for _, m := range nodes {
				if m != before && m.Writer() {
					return true
				}
			}
			return false
		})
		close(until)
		allRead()
		if writer(nil) == before {
			t.Error("the one that stood still writes again")
		}
	})
	t.Run("it ends", func(t *testing.T) {
		for len(nodes) > 1 {
			before := writer(nil)
			mustClose(t, before)
			for i, m := range nodes {
				if m == before {
					nodes = append(nodes[:i:i], nodes[i+1:]...)
				}
			}
			writer(before)
			allRead()
		}
	})
}

// TestReaderOfAnotherVenue checks that a node does not serve the rows that another venue writes.
func TestReaderOfAnotherVenue(t *testing.T) {
	shorterLeases(t)
	dsn := newPostgres(t)
	v, other := newVenueLog(t, 42), newVenueLog(t, 43)
	v.run(10)
	other.run(20)
	o := v.options(dsn)
	o.Others = &otherNodes{}
	v.waitFor(v.start(o))
	o = other.options(dsn)
	o.Others = &otherNodes{}
	waitForStop(t, other.start(o), ErrOtherVenue, "the data directory of the venue")
}

// TestNodeBehindASharedDatabase checks that a node whose log ends before what another one has written, because it stood
// still, neither reads nor writes the database until it has caught up, and does not stop.
func TestNodeBehindASharedDatabase(t *testing.T) {
	shorterLeases(t)
	dsn := newPostgres(t)
	start := func(v *venueLog) *Mirror {
		o := v.options(dsn)
		o.Dir, o.Others = filepath.Join(tempDir(t), "mirror"), &otherNodes{}
		return v.start(o)
	}
	ahead, behind := newVenueLog(t, 41), newVenueLog(t, 41)
	ahead.run(30)
	behind.run(20)
	writer := start(ahead)
	ahead.waitFor(writer)
	reader := start(behind)
	waits := func(what string) {
		t.Helper()
		if err := reader.Err(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if at, _ := reader.Position(); at != 0 {
			t.Fatalf("%s: it says that it is at %d", what, at)
		}
	}
	for range 20 { // a look that finds nothing for it gives no signal
		waits("while another node writes")
		time.Sleep(leasePoll)
	}
	mustClose(t, writer)
	waitUntil(t, func() bool { return reader.LastError() != nil || reader.Err() != nil })
	waits("with the lease")
	behind.run(10)
	behind.waitFor(reader)
	behind.check(reader)
	mustClose(t, reader)
}
