package journal

import (
	"context"
	"fmt"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"
)

// BenchmarkDurable measures how many records of 100 bytes one goroutine makes durable, with one
// sync for each group.
func BenchmarkDurable(b *testing.B) {
	bigSegments(b)
	for _, size := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("group=%d", size), func(b *testing.B) {
			f, err := Open(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer mustClose(b, f)
			body := make([]byte, size*100)
			for i := range body {
				body[i] = byte(i * 7)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := f.Propose(context.Background(), Group{Body: body}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

func bigSegments(b *testing.B) {
	small := wal.SegmentSizeBytes
	wal.SegmentSizeBytes = 64_000_000
	b.Cleanup(func() { wal.SegmentSizeBytes = small })
}

// BenchmarkReplay reads and verifies groups of 16 records of 100 bytes.
func BenchmarkReplay(b *testing.B) {
	bigSegments(b)
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
