package server_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/server"
	"duplex/server/servertest"
)

// withArchive opens a live venue that copies its journal often.
func withArchive(to string) func(*server.Options) {
	return func(o *server.Options) { o.ArchiveTo, o.ArchiveEvery = to, 10*time.Millisecond }
}

// addUsers creates n accounts.
func addUsers(t *testing.T, v *servertest.Venue, n int) {
	t.Helper()
	for range n {
		seq := v.Engine().Seq()
		if _, err := v.Venue.Submit(t.Context(), &core.CreateUser{Name: "user", TokenHash: [32]byte{byte(seq), byte(seq >> 8)}, Audit: core.Audit{Who: "operator"}}); err != nil {
			t.Fatal(err)
		}
	}
}

// archived waits until the archive has every command of the venue, and returns its last seq and its state
// hash.
func archived(t *testing.T, v *servertest.Venue, to string) (seq uint64, hash [32]byte) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "journal")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the archive does not follow the venue")
		}
		// The archive is in use, so a copy of it is verified.
		_ = os.RemoveAll(copied)
		if _, err := os.Stat(filepath.Join(to, "journal", "MARK")); err != nil {
			continue // the first copy is not complete
		}
		if _, err := journal.Copy(t.Context(), filepath.Join(to, "journal"), copied, journal.CopyOptions{}); err != nil {
			t.Fatal(err)
		}
		p, err := engine.Verify(copied, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.Seq == v.Engine().Seq() {
			return p.Seq, p.Hash
		}
	}
}

// TestArchive keeps an archive over three lives of a venue whose journal is trimmed. The archive has
// every command while the venue runs, and after it has stopped; it keeps three snapshots, and a venue
// opens from a copy of it.
func TestArchive(t *testing.T) {
	data, to := t.TempDir(), t.TempDir()
	for range 3 {
		v := servertest.OpenLive(t, data, withArchive(to))
		for range 3 {
			addUsers(t, v, 5)
			for compared := false; !compared; { // a clock tick between the two makes another state
				seq, hash, err := v.Engine().SnapshotHash()
				if err != nil {
					t.Fatal(err)
				}
				at, got := archived(t, v, to)
				if compared = at == seq; compared && got != hash {
					t.Error("the archive has another state")
				}
			}
		}
		addUsers(t, v, 2)
		if text := askOperator(t, v, "GET", "/metrics", ""); !strings.Contains(text, "duplex_archive_age_seconds ") || !strings.Contains(text, "duplex_archive_hold_released 0\n") {
			t.Error("the metrics lack the archive")
		}
		v.Close()
	}
	p, err := engine.Verify(filepath.Join(to, "journal"), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := engine.Verify(filepath.Join(data, "journal"), nil)
	if err != nil || p.Seq != q.Seq || p.Hash != q.Hash {
		t.Errorf("the archive ends with seq %d, the journal with %d: %v", p.Seq, q.Seq, err)
	}
	if list, err := journal.Snapshots(filepath.Join(to, "journal", journal.SnapshotDir)); err != nil || len(list) != 3 {
		t.Errorf("%d snapshots: %v", len(list), err)
	}
	for _, name := range []string{server.FingerprintFile, server.EnvironmentFile} {
		got, err := os.ReadFile(filepath.Join(to, "journal", name))
		if want, _ := os.ReadFile(filepath.Join(data, "journal", name)); err != nil || len(want) == 0 || string(got) != string(want) {
			t.Errorf("%s: %q, want %q: %v", name, got, want, err)
		}
	}
	restored := t.TempDir()
	if _, err := journal.Copy(t.Context(), filepath.Join(to, "journal"), filepath.Join(restored, "journal"), journal.CopyOptions{Other: []string{server.FingerprintFile}}); err != nil {
		t.Fatal(err)
	}
	if err := startError(t, restored, func(o *server.Options) { o.MasterKey = servertest.MasterKey(t, data) }); err != nil {
		t.Error(err)
	}
	if err := startError(t, restored, func(o *server.Options) { o.MasterKey = make([]byte, 32) }); err == nil {
		t.Error("a restored venue opens with another master key")
	}
}

// TestArchiveNeverStopsTheVenue checks that a venue runs while its archive cannot be written, that the
// journal keeps what the archive lacks and lets go beyond the limit, and that the archive goes on
// when it can be written again.
func TestArchiveNeverStopsTheVenue(t *testing.T) {
	was := wal.SegmentSizeBytes
	wal.SegmentSizeBytes = 4 << 10
	t.Cleanup(func() { wal.SegmentSizeBytes = was })
	for _, limit := range []int64{0, 1} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			data, to := t.TempDir(), filepath.Join(t.TempDir(), "archive")
			if err := os.WriteFile(to, nil, 0o600); err != nil { // a file instead of a folder
				t.Fatal(err)
			}
			v := servertest.OpenLive(t, data, func(o *server.Options) {
				withArchive(to)(o)
				o.ArchiveHold = limit
			})
			for range 4 {
				addUsers(t, v, 40)
				if _, err := v.Engine().Snapshot(); err != nil {
					t.Fatal(err)
				}
			}
			segments, err := filepath.Glob(filepath.Join(data, "journal", "log", "*.wal"))
			if err != nil {
				t.Fatal(err)
			}
			first := strings.Contains(segments[0], "0000000000000000-")
			if released := strings.Contains(askOperator(t, v, "GET", "/metrics", ""), "duplex_archive_hold_released 1\n"); released != (limit == 1) || first == released {
				t.Errorf("released %t, first segment kept %t", released, first)
			}
			if err := os.Remove(to); err != nil {
				t.Fatal(err)
			}
			archived(t, v, to)
		})
	}
}

// TestArchiveHoldsDuringTheStart checks that the engine may ask what to keep while it opens, before the
// venue has it: then everything is kept.
func TestArchiveHoldsDuringTheStart(t *testing.T) {
	hold := server.ArchiveHold(server.Options{Data: t.TempDir(), ArchiveTo: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if got := hold(1000); got != 0 {
		t.Errorf("the journal may be trimmed below %d", got)
	}
}
