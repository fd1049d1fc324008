package replay

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"duplex/core"
	"duplex/feeds"
	"duplex/internal/backoff"
)

// Recording is a file of prices to play.
type Recording struct {
	path    string
	speed   int64
	first   int64 // ns, of the first row
	sources []*recordedSource
	started atomic.Pointer[time.Time]
}

// recordedSource is one source of a recording. It reads the file itself and skips rows of
// other sources, so that the memory does not depend on the length of the recording.
type recordedSource struct {
	recording *Recording
	feed      core.Feed
	name      string
	played    int // number of its rows played so far
}

// Open reads a whole file, to find errors before anything is played, and returns the
// recording to play at speed times its own speed. An error names the first bad line.
func Open(path string, speed int) (*Recording, error) {
	if speed < 1 {
		return nil, fmt.Errorf("replay: the speed must be at least 1")
	}
	t := &Recording{path: path, speed: int64(speed)}
	seen := map[row]bool{}
	err := t.eachRow(func(r row) bool {
		t.first = cmp.Or(t.first, r.at)
		if id := (row{feed: r.feed, source: r.source}); !seen[id] {
			seen[id] = true
			t.sources = append(t.sources, &recordedSource{recording: t, feed: r.feed, name: r.source})
		}
		return true
	})
	if err == nil && len(t.sources) == 0 {
		err = fmt.Errorf("replay: %s: the file has no price", path)
	}
	return t, err
}

// eachRow calls use for each row until use returns false.
func (t *Recording) eachRow(use func(row) bool) error {
	f, err := os.Open(t.path)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer f.Close()
	rows := readRows(bufio.NewReader(f))
	for {
		r, err := rows.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("replay: %s: %w", t.path, err)
		case !use(r):
			return nil
		}
	}
}

// Sources returns the sources for a Poster. The recording starts, for all of them, when the
// first is run.
func (t *Recording) Sources() []feeds.Source {
	out := make([]feeds.Source, len(t.sources))
	for i, s := range t.sources {
		out[i] = s
	}
	return out
}

func (k *recordedSource) Name() string    { return k.name }
func (k *recordedSource) Feed() core.Feed { return k.feed }

// Run plays the source's prices, each at its time, then waits until ctx ends. It passes on
// a price whose time is before the previous one; the index drops it.
func (k *recordedSource) Run(ctx context.Context, out func(price core.Price, at time.Time)) error {
	now := time.Now()
	k.recording.started.CompareAndSwap(nil, &now)
	start := *k.recording.started.Load()
	own := 0
	err := k.recording.eachRow(func(r row) bool {
		if r.feed != k.feed || r.source != k.name {
			return true
		}
		if own++; own <= k.played { // played by an earlier Run that ended with an error
			return true
		}
		due := start.Add(time.Duration((r.at - k.recording.first) / k.recording.speed))
		if !sleepUntil(ctx, due) {
			return false
		}
		out(r.price, due)
		k.played = own
		return true
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// sleepUntil waits until due; it returns false if ctx ends first.
func sleepUntil(ctx context.Context, due time.Time) bool {
	wait := time.Until(due)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	return backoff.Sleep(ctx, wait)
}

// Each calls use for each price of a file, in the order of the file, until use returns false. at is
// the time of the price, in ns. An error names the first bad line.
func Each(path string, use func(f core.Feed, source string, price core.Price, at int64) bool) error {
	return (&Recording{path: path}).eachRow(func(r row) bool { return use(r.feed, r.source, r.price, r.at) })
}
