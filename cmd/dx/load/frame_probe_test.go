package load

import (
	"context"
	"errors"
	"testing"
	"time"

	"duplex/schemas"
)

// A frame is found even if it arrived before the wait for it. A frame that a later one has
// passed is missing, and the end of the reader is an error.
func TestFrameWatcher(t *testing.T) {
	l := &frameWatcher{timeout: time.Hour, ended: make(chan error, 1), notify: make(chan struct{}, 1)}
	now := time.Now()
	for i, seq := range []schemas.U64{4, 5, 5, 7} {
		l.record(seq, now.Add(time.Duration(i)*time.Millisecond))
	}
	of, out := newSignedHistogram(), &FrameLatency{}
	at := func(seq schemas.U64) error {
		return l.measure(context.Background(), seq, now.Add(4*time.Millisecond), of, out)
	}
	for _, seq := range []schemas.U64{5, 6, 7} {
		if err := at(seq); err != nil {
			t.Fatal(err)
		}
	}
	if out.sum(of); *out != (FrameLatency{Count: 2, Missing: 1, P50: of.quantile(.5), P99: -1000}) || of.quantile(.5) > -2990 {
		t.Errorf("the latency is %+v, want 2 frames, 1 missing, and p50 and p99 before the answer", out)
	}
	l.ended <- errors.New("closed")
	if err := at(9); err == nil {
		t.Error("the end of the reader was not reported")
	}
}
