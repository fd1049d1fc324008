package replay

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"duplex/core"
	"duplex/feeds"
)

// Recorder writes the prices of its sources. It is safe for concurrent use.
type Recorder struct {
	mu   sync.Mutex
	csv  *csv.Writer
	rows uint64
}

// NewRecorder writes the header to w and returns a Recorder.
func NewRecorder(w io.Writer) (*Recorder, error) {
	r := &Recorder{csv: csv.NewWriter(w)}
	return r, r.csv.Write(header)
}

// Tee returns a source that records the prices of s and passes them on.
func (r *Recorder) Tee(s feeds.Source) feeds.Source { return tee{s, r} }

// Rows is the number of prices written.
func (r *Recorder) Rows() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rows
}

// Flush writes buffered rows and returns the first error of any write.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.csv.Flush()
	return r.csv.Error()
}

// Record writes a price, received at the time at. Flush returns its error.
func (r *Recorder) Record(f core.Feed, source string, p core.Price, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.csv.Write([]string{strconv.FormatInt(at.UnixNano(), 10), f.String(), source, decimalText(p)}) == nil {
		r.rows++
	}
}

// decimalText is a price as decimal text with all eight decimals.
func decimalText(p core.Price) string {
	const one = 100_000_000
	return fmt.Sprintf("%d.%08d", p/one, p%one)
}

type tee struct {
	feeds.Source
	to *Recorder
}

func (t tee) Run(ctx context.Context, out func(price core.Price, at time.Time)) error {
	return t.Source.Run(ctx, func(price core.Price, at time.Time) {
		if price > 0 {
			t.to.Record(t.Feed(), t.Name(), price, at)
		}
		out(price, at)
	})
}

// Counts returns the counts of the source, zero if it has none.
func (t tee) Counts() feeds.Counts {
	if c, ok := t.Source.(feeds.CountingSource); ok {
		return c.Counts()
	}
	return feeds.Counts{}
}
