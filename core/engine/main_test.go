package engine

import (
	"flag"
	"os"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"
)

// Tests use small segments, because a journal fills its segments of 64 MB with zeros ahead.
// Benchmarks and TestSizing use the segments of dx.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" && os.Getenv("DX_LONG") == "" {
		wal.SegmentSizeBytes = 1 << 20
	}
	os.Exit(m.Run())
}
