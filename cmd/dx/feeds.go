package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/replay"
)

// feedsCmd is `dx feeds`, which runs the price sources without a venue.
type feedsCmd struct {
	Watch  feedsWatchCmd  `cmd:"" help:"Show the price sources and their last prices."`
	Record feedsRecordCmd `cmd:"" help:"Record the prices of the sources in a file that --oracle replay:FILE plays."`
}

// feedsWatchCmd is `dx feeds watch`.
type feedsWatchCmd struct {
	sourceFlags
	Every time.Duration `help:"Time between two updates." default:"1s"`
	For   time.Duration `help:"Time to run; 0 runs until Ctrl-C." default:"0s"`
}

func (w *feedsWatchCmd) Help() string {
	return `STATE is fresh (counts for the index), quiet (connected or connecting, without a fresh price) or waiting (before the next attempt to connect). DROPPED counts values that were not a price.

Examples:
  dx feeds watch
  dx feeds watch --sources coinbase,kraken
  dx feeds watch --for 1m > sources.txt`
}

func (w *feedsWatchCmd) Run(ctx context.Context, out io.Writer) error {
	if w.Every <= 0 {
		return cli.BadFlag("every", errors.New("must be more than 0s"))
	}
	sources, err := w.openSources()
	if err != nil {
		return err
	}
	poster, stop, err := runSources(ctx, sources)
	if err != nil {
		return err
	}
	defer stop()
	screen := cli.IsTerminal(out)
	return repeatUntil(ctx, w.Every, w.For, func() error {
		var err error
		if screen {
			_, err = fmt.Fprintf(out, "\x1b[H\x1b[2J%s", sourceTable(poster))
		} else {
			_, err = io.WriteString(out, sourceLines(poster, time.Now()))
		}
		return err
	})
}

// sourceTable returns the table for a terminal.
func sourceTable(p *feeds.Poster) string {
	var b strings.Builder
	t := cli.NewTable("FEED", "SOURCE", "PRICE", "AGE", "STATE", "RECONNECTS", "MESSAGES", "DROPPED", "LAST ERROR")
	for _, s := range p.States() {
		t.Row(s.Feed.String(), s.Source.Name, priceText(s.Source.Price), ageText(&s), s.Status(), s.Reconnects(), s.Counts.Messages, s.Dropped(), errText(s.Err))
	}
	for f := range core.Feed(core.Feeds) {
		if last := p.Stats(f).Last; last.Price > 0 {
			t.Row(f.String(), "index", priceText(last.Price), "", fmt.Sprint(last.Count, " sources"))
		}
	}
	_ = t.Print(&b, "") // a strings.Builder does not fail
	return b.String()
}

// sourceLines returns one line per source, which programs can parse.
func sourceLines(p *feeds.Poster, now time.Time) string {
	var b strings.Builder
	for _, s := range p.States() {
		fmt.Fprintf(&b, "%s %s %s price=%s age=%s state=%s reconnects=%d messages=%d dropped=%d", now.UTC().Format(time.RFC3339),
			s.Feed, s.Source.Name, priceText(s.Source.Price), ageText(&s), s.Status(), s.Reconnects(), s.Counts.Messages, s.Dropped())
		if s.Err != nil {
			fmt.Fprintf(&b, " error=%q", errText(s.Err))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func ageText(s *feeds.State) string {
	if s.Source.Price == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fs", s.Age.Seconds())
}

// errText returns an error as one line of at most 80 bytes.
func errText(err error) string {
	if err == nil {
		return ""
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > 80 {
		text = text[:80] + "…"
	}
	return strings.ToValidUTF8(text, "")
}

// feedsRecordCmd is `dx feeds record`.
type feedsRecordCmd struct {
	sourceFlags
	Out string        `help:"The file to write. It must not exist." required:"" type:"path"`
	For time.Duration `help:"Time to run; 0 runs until Ctrl-C." default:"0s"`
}

func (r *feedsRecordCmd) Help() string {
	return `Writes a line ts_ns,feed,source,price for every price, with the time of its arrival.

Examples:
  dx feeds record --out monday.csv --for 1h
  dx dev --oracle replay:monday.csv`
}

func (r *feedsRecordCmd) Run(ctx context.Context, out io.Writer) (err error) {
	sources, err := r.openSources()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(r.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return cli.BadFlag("out", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rec, err := replay.NewRecorder(f)
	if err != nil {
		return err
	}
	for i, s := range sources {
		sources[i] = rec.Tee(s)
	}
	_, stop, err := runSources(ctx, sources)
	if err != nil {
		return err
	}
	err = repeatUntil(ctx, time.Second, r.For, rec.Flush) // a full disk ends the recording
	stop()
	err = errors.Join(err, rec.Flush())
	fmt.Fprintf(out, "%s prices in %s\n", cli.Grouped(rec.Rows()), r.Out)
	return err
}

// runSources runs sources without a venue; the Poster shows their state. stop ends them and
// waits until they have ended.
func runSources(ctx context.Context, sources []feeds.Source) (p *feeds.Poster, stop func(), err error) {
	p, err = feeds.NewPoster(func(context.Context, core.Command) error { return nil }, sources...)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	return p, func() { cancel(); running.Wait() }, nil
}

// repeatUntil calls do once per interval until ctx ends, until duration has passed if it is
// not 0, or until do fails.
func repeatUntil(ctx context.Context, interval, duration time.Duration, do func() error) error {
	if duration > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, duration)
		defer done()
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := do(); err != nil {
			return err
		}
	}
}

// priceText formats a price at 1e8 scale in dollars, or as a dash if there is none.
func priceText(p core.Price) string {
	if p == 0 {
		return "-"
	}
	return fmt.Sprintf("%d.%04d", p/100_000_000, p/10_000%10_000)
}
