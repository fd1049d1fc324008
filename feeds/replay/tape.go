package replay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"duplex/core"
	"duplex/feeds"
)

// Tape is a file that can be played.
type Tape struct {
	path    string
	speed   int64
	first   int64 // ns, of the first row
	tracks  []*track
	started atomic.Pointer[time.Time]
}

// track is one source of a tape. It reads the file for itself and skips what is
// not its own, so that a tape of any length takes no memory.
type track struct {
	tape *Tape
	feed core.Feed
	name string
	done int // rows of its own that were played
}

// Open reads a file through once, so that what is wrong with it is known before
// anything is played, and prepares to play it speed times as fast as it was.
//
// Returns an error that names the first line that is no price.
func Open(path string, speed int) (*Tape, error) {
	if speed < 1 {
		return nil, fmt.Errorf("replay: a speed is 1 or more")
	}
	t := &Tape{path: path, speed: int64(speed)}
	seen := map[row]bool{}
	err := t.each(func(r row) bool {
		if t.first == 0 {
			t.first = r.at
		}
		if id := (row{feed: r.feed, source: r.source}); !seen[id] {
			seen[id] = true
			t.tracks = append(t.tracks, &track{tape: t, feed: r.feed, name: r.source})
		}
		return true
	})
	if err == nil && len(t.tracks) == 0 {
		err = fmt.Errorf("replay: %s: no price in it", path)
	}
	return t, err
}

// each reads the file until use has had enough.
func (t *Tape) each(use func(row) bool) error {
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

// Sources gives the tape to a Poster. They share the moment the first was run as
// their beginning.
func (t *Tape) Sources() []feeds.Source {
	out := make([]feeds.Source, len(t.tracks))
	for i, s := range t.tracks {
		out[i] = s
	}
	return out
}

func (k *track) Name() string    { return k.name }
func (k *track) Feed() core.Feed { return k.feed }

// Run plays the source's prices, each at its time, then is silent until ctx ends.
// A price whose time goes back is handed on with that time, for the index to drop.
func (k *track) Run(ctx context.Context, out func(price core.Price, at time.Time)) error {
	now := time.Now()
	k.tape.started.CompareAndSwap(nil, &now)
	start := *k.tape.started.Load()
	own := 0
	err := k.tape.each(func(r row) bool {
		if r.feed != k.feed || r.source != k.name {
			return true
		}
		if own++; own <= k.done { // played before the file failed
			return true
		}
		due := start.Add(time.Duration((r.at - k.tape.first) / k.tape.speed))
		if !until(ctx, due) {
			return false
		}
		out(r.price, due)
		k.done = own
		return true
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// until waits for a moment; false if ctx ends first.
func until(ctx context.Context, due time.Time) bool {
	wait := time.Until(due)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
