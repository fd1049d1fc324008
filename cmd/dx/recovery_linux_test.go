package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=200m"); err != nil {
		t.Skip("needs root, to mount a small disk that it can fill:", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	h := servertest.OpenLive(t, dir, nil)
	k := h.NewAccount("a")
	h.Close()
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 20, 4 << 10, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || f.Close() != nil {
		t.Fatal(err)
	}
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
	begun := time.Now()
	h.Close()
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("the stop took %v", took)
	}
	expectCommand(t, 0, "", "verify", dir)
	servertest.RemoveFile(t, filler)
	h = servertest.OpenLive(t, dir, nil)
	servertest.CheckKey(t, h, k)
	h.Close()
}
