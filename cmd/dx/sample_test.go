package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSampleNeedsANewDirectory checks that dx sample changes no journal, and that one that is stopped
// leaves none. TestDataGuide runs it to its end.
func TestSampleNeedsANewDirectory(t *testing.T) {
	data := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&sampleCmd{Data: data, Seed: 1}).Run(ctx, io.Discard); err == nil || !strings.Contains(err.Error(), "no journal stays") {
		t.Error(err)
	}
	if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", left, err)
	}
	if err := os.Mkdir(filepath.Join(data, "journal"), 0o700); err != nil {
		t.Fatal(err)
	}
	expectCommand(t, 2, "has a journal: name another directory", "sample", "--data", data)
	expectCommand(t, 2, "--data", "sample")
}
