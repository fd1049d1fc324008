package engine

import (
	"flag"
	"os"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"
)

// Tests have small segments: by default each journal zeroes 64 MB ahead of itself.
// Benchmarks and the sizing table have those of dx.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" && os.Getenv("DX_LONG") == "" {
		wal.SegmentSizeBytes = 1 << 20
	}
	os.Exit(m.Run())
}
