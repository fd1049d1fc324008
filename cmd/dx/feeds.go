package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/replay"
)

// feedsCmd is `dx feeds`: price sources without a venue.
type feedsCmd struct {
	Watch  feedsWatchCmd  `cmd:"" help:"Show the sources as they speak."`
	Record feedsRecordCmd `cmd:"" help:"Write what the sources say to a file that --oracle replay:FILE plays."`
}

// feedsWatchCmd is `dx feeds watch`.
type feedsWatchCmd struct {
	sourceFlags
	Every time.Duration `help:"How often to show them." default:"1s"`
	For   time.Duration `help:"How long; 0 is until Ctrl-C." default:"0s"`
}

func (w *feedsWatchCmd) Help() string {
	return `STATE is fresh (counts for the index), quiet (connected or connecting, without a fresh price) or waiting (to connect again). DROPPED are values that were no price.

Examples:
  dx feeds watch
  dx feeds watch --sources coinbase,kraken
  dx feeds watch --for 1m > sources.txt`
}

func (w *feedsWatchCmd) Run(ctx context.Context, out io.Writer) error {
	if w.Every <= 0 {
		return cli.BadFlag("every", fmt.Errorf("more than 0s is wanted"))
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

// sourceTable is the screen of a terminal.
func sourceTable(p *feeds.Poster) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FEED\tSOURCE\tPRICE\tAGE\tSTATE\tRECONNECTS\tMESSAGES\tDROPPED\tLAST ERROR")
	for _, s := range p.States() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", s.Feed, s.Source.Name, priceText(s.Source.Price), ageText(&s), s.Status(), s.Reconnects(), s.Counts.Messages, s.Dropped(), errText(s.Err))
	}
	for f := range core.Feed(core.Feeds) {
		if last := p.Stats(f).Last; last.Price > 0 {
			fmt.Fprintf(t, "%s\tindex\t%s\t\t%d sources\n", f, priceText(last.Price), last.Count)
		}
	}
	_ = t.Flush() // into memory
	return b.String()
}

// sourceLines are a line a source, to be read by programs too.
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

// errText is an error on one line of bearable length.
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
	Out string        `help:"The file to write; it must not be there yet." required:"" type:"path"`
	For time.Duration `help:"How long; 0 is until Ctrl-C." default:"0s"`
}

func (r *feedsRecordCmd) Help() string {
	return `Writes ts_ns,feed,source,price: every price, when it came.

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
	err = repeatUntil(ctx, time.Second, r.For, rec.Flush) // a disk that is full ends it
	stop()
	err = errors.Join(err, rec.Flush())
	fmt.Fprintf(out, "%d prices in %s\n", rec.Rows(), r.Out)
	return err
}

// runSources runs sources without a venue, until stop is called, which waits for them.
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

// repeatUntil calls do after each pause until ctx ends, until long has passed if it is not
// 0, or until do fails.
func repeatUntil(ctx context.Context, pause, long time.Duration, do func() error) error {
	if long > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, long)
		defer done()
	}
	tick := time.NewTicker(pause)
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

// priceText formats an oracle price in dollars.
func priceText(p core.Price) string {
	if p == 0 {
		return "-"
	}
	return fmt.Sprintf("%d.%04d", p/100_000_000, p/10_000%10_000)
}
