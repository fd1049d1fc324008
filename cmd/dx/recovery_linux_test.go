package main

import (
	"strings"
	"testing"
	"time"

	"duplex/internal/memdir"
	"duplex/schemas"
	"duplex/server/servertest"
)

// A venue starts on a full disk. It accepts cancels and rejects placements and snapshots,
// reports readiness except for the oracle, warns, and stops without an error. With free
// space again it works as before.
func TestLongFullDisk(t *testing.T) {
	if !long() {
		t.Skip("mounts and fills a disk of 200 MB: DX_LONG=1 go test ./cmd/dx -run TestLongFullDisk")
	}
	dir := t.TempDir()
	memdir.Mount(t, dir, "200m")
	h := servertest.OpenLive(t, dir, nil)
	k := h.NewAccount("a")
	h.Close()
	free := memdir.Fill(t, dir)
	h = servertest.OpenLive(t, dir, nil)
	servertest.CheckKey(t, h, k)
	if _, err := h.ClientWithKey(k.APIKey, k.Secret).CancelAll(t.Context(), schemas.CancelAll{}); err != nil {
		t.Errorf("a cancel: %v", err)
	}
	if _, err := h.Engine().Snapshot(); err == nil {
		t.Error("a snapshot was written to a full disk")
	}
	if _, body := ask(t, "GET", h.AdminURL()+"/readyz"); !strings.Contains(body, `"reasons":["oracle_stale"],"warnings":["disk_full"]`) {
		t.Errorf("/readyz: %s", body)
	}
	took := stopTime(h)
	for range 2 { // the fastest of three counts, because a machine that is held up delays one
		took = min(took, stopTime(servertest.OpenLive(t, dir, nil)))
	}
	if took > 10*time.Second {
		t.Errorf("the stop took %v", took)
	}
	expectCommand(t, 0, "", "verify", dir)
	free()
	h = servertest.OpenLive(t, dir, nil)
	servertest.CheckKey(t, h, k)
	h.Close()
}

// stopTime stops a venue and returns how long that takes.
func stopTime(v *servertest.Venue) time.Duration {
	begun := time.Now()
	v.Close()
	return time.Since(begun)
}
