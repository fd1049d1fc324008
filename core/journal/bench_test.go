package journal

import (
	"context"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"
)

// BenchmarkReplay reads and verifies groups of 16 records of 100 bytes.
func BenchmarkReplay(b *testing.B) {
	defer func(small int64) { wal.SegmentSizeBytes = small }(wal.SegmentSizeBytes)
	wal.SegmentSizeBytes = 64_000_000
	dir := tempDir(b)
	f := mustOpen(b, dir)
	const groups = 5000
	for i := range groups {
		if err := f.Propose(context.Background(), Group{Proposal: uint64(i), Body: make([]byte, 1600)}); err != nil {
			b.Fatal(err)
		}
	}
	mustClose(b, f)
	b.SetBytes(groups * 1600)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range Scan(dir, 1) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != groups {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.N*groups)/b.Elapsed().Seconds(), "groups/s")
}
