package journal

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
)

// TestZerosStayAhead checks that zeros are written only after the end of the log, in each of
// several segments, and that every group reads back.
func TestZerosStayAhead(t *testing.T) {
	dir := tempDir(t)
	f := mustOpen(t, dir)
	close(f.preallocator.wake) // ends the log's goroutine: the test writes the zeros in its place
	<-f.preallocator.done
	f.preallocator = newPreallocator()
	r := rand.New(rand.NewPCG(1, 2))
	var bodies [][]byte
	chunk := make([]byte, 3000)
	for i := range 400 {
		body := make([]byte, r.IntN(2000))
		for j := range body {
			body[j] = byte(1 + r.IntN(255))
		}
		if err := f.Propose(context.Background(), Group{Proposal: uint64(i + 1), Body: body}); err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
		for range r.IntN(3) {
			if _, err := f.preallocateNext(chunk); err != nil {
				t.Fatal(err)
			}
		}
		f.mu.Lock()
		written, _, err := readTail(f.segs[len(f.segs)-1].path, 0)
		if err != nil || int64(len(written)) > f.segmentEnd {
			t.Fatalf("group %d: %d bytes are written, zeros begin at %d; %v", i+1, len(written), f.segmentEnd, err)
		}
		f.mu.Unlock()
	}
	if len(f.segs) < 3 {
		t.Fatalf("only %d segments", len(f.segs))
	}
	go f.runPreallocator() // Close waits for it
	mustClose(t, f)
	n := 0
	for p, err := range Scan(dir, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p.Body, bodies[n]) {
			t.Fatalf("group %d has changed", p.Number)
		}
		n++
	}
	if n != len(bodies) {
		t.Errorf("%d of %d groups", n, len(bodies))
	}
}
