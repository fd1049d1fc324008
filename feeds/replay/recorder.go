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

// Recorder writes what its sources say. Many may speak at once.
type Recorder struct {
	mu   sync.Mutex
	csv  *csv.Writer
	rows uint64
}

// NewRecorder begins a file.
func NewRecorder(w io.Writer) (*Recorder, error) {
	r := &Recorder{csv: csv.NewWriter(w)}
	return r, r.csv.Write(header)
}

// Tee is a source whose prices are written as they pass.
func (r *Recorder) Tee(s feeds.Source) feeds.Source { return tee{s, r} }

// Rows is how many prices were written.
func (r *Recorder) Rows() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rows
}

// Flush puts what was written where it belongs, and tells if writing has failed.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.csv.Flush()
	return r.csv.Error()
}

// write keeps a price. What fails here Flush tells.
func (r *Recorder) write(f core.Feed, source string, p core.Price, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.csv.Write([]string{strconv.FormatInt(at.UnixNano(), 10), f.String(), source, text(p)}) == nil {
		r.rows++
	}
}

// text is a price as decimal text, every digit of it.
func text(p core.Price) string {
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
			t.to.write(t.Feed(), t.Name(), price, at)
		}
		out(price, at)
	})
}

// Heard passes on what the source counts.
func (t tee) Heard() feeds.Heard {
	if c, ok := t.Source.(feeds.Counter); ok {
		return c.Heard()
	}
	return feeds.Heard{}
}
