package day

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"duplex/core/engine"
	"duplex/internal/memdir"
)

// TestSeedOne compares the running hash of the journal of seed 1 with a golden value, which holds on
// every machine, and verifies the journal.
func TestSeedOne(t *testing.T) {
	const want = "a22cc6f73d7fb58379b94e28c1026d791c976f79239f41200b26d26c011fd319"
	dir, last := memdir.New(t), uint64(0)
	r, err := Write(t.Context(), dir, 1, func(done, total uint64) {
		if done < last || done > total {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(r.Chain[:]); got != want {
		t.Errorf("the journal has the chain %s, want %s: a change of the venue or of the day also changes docs/guides/data.md (go test ./cmd/dx -run DataGuide -update)", got, want)
	}
	p, err := engine.Verify(filepath.Join(dir, name), nil)
	if err != nil || p.Seq != r.Seq || p.Groups != r.Groups || r.Rounds == 0 {
		t.Errorf("%+v %v, want %+v", p, err, r)
	}
	if _, err := Write(t.Context(), dir, 1, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a journal that exists: %v", err)
	}
}

// TestCanceled checks that a canceled Write leaves nothing.
func TestCanceled(t *testing.T) {
	dir := memdir.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Write(ctx, dir, 1, func(done, _ uint64) {
		if done > 100 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", left, err)
	}
}
