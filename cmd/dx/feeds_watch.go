package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"duplex/core"
	"duplex/feeds"
)

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
		return flagError{"every", fmt.Errorf("more than 0s is wanted")}
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
	screen := terminal(out)
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
