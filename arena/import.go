package arena

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"duplex/core"
	"duplex/feeds/replay"
	"duplex/internal/atomicfile"
	"duplex/schemas"
)

// Import makes a tape of a CSV file of bars (docs/guides/arena.md#tapes). The bars are of one second, or of one minute
// for series of 5 and 15 minutes. A bar has the time of its begin.
type Import struct {
	File   string
	Out    string // the tape
	Source string // where the bars come from, for reports: plain text of 1 to 64 bytes
	Feed   string // the name of a feed, in any letters

	// Time and Price are the columns of the time and of the close: a name of the first line, or a number from 1.
	// "": by the usual names; in a file without names columns 1 and 5.
	Time, Price string
}

// Imported says what a tape has.
type Imported struct {
	Feed    core.Feed
	Bar     time.Duration // of a bar: a second or a minute
	Seconds int           // with a price
	Start   time.Time     // of the first
}

// The bars that a tape can be made of, in seconds, and how many missing seconds hold the last close.
const (
	secondBar  = 1
	minuteBar  = 60
	heldAtMost = 5
)

// Run reads the bars and writes the tape. An error in the file names line and column. After an error, a tape that was
// there is unchanged.
func (m *Import) Run() (*Imported, error) {
	i := slices.IndexFunc(core.AllFeeds(), func(f core.Feed) bool { return strings.EqualFold(f.String(), m.Feed) })
	switch {
	case i < 0:
		return nil, badConfig("feed %q: one of %s", m.Feed, strings.ToLower(fmt.Sprint(core.AllFeeds())))
	case m.Source == "" || len(m.Source) > replay.MaxSourceName || !schemas.PlainText(m.Source):
		return nil, badConfig("source %q: plain text of 1 to %d bytes", m.Source, replay.MaxSourceName)
	case sameFile(m.File, m.Out):
		return nil, badConfig("%s is the file of the bars: name another file with --out", m.Out)
	}
	if err := checkRegular(m.File); err != nil {
		return nil, &ConfigError{err}
	}
	if err := checkRegular(m.Out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, &ConfigError{err}
	}
	if _, err := m.convert(core.Feed(i), io.Discard); err != nil { // before anything is written
		return nil, err
	}
	var out *Imported
	err := atomicfile.WriteWith(m.Out, 0o644, func(f *os.File) (err error) {
		out, err = m.convert(core.Feed(i), f)
		return err
	})
	return out, err
}

// convert writes the tape of the bars to a writer. A bar of a second has a line for each second in which its close is
// the last one. A bar of a minute has one line, so that no reader takes a price that stands for a minute for one of
// each second.
func (m *Import) convert(f core.Feed, to io.Writer) (*Imported, error) {
	file, err := os.Open(m.File)
	if err != nil {
		return nil, &ConfigError{err}
	}
	defer file.Close()
	tape, err := replay.NewRecorder(to)
	if err != nil {
		return nil, err
	}
	bars, err := m.readBars(file)
	if err != nil {
		return nil, &ConfigError{fmt.Errorf("%s: %w", m.File, err)}
	}
	// A close is known when its bar ends.
	write := func(b bar, at int64) { tape.Record(f, m.Source, b.close, time.Unix(at+bars.length, 0)) }
	last := bars.first
	for {
		b, err := bars.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &ConfigError{fmt.Errorf("%s: %w", m.File, err)}
		}
		for at := last.at; at < b.at; at += bars.length {
			write(last, at)
		}
		last = b
	}
	write(last, last.at)
	out := &Imported{Feed: f, Bar: time.Duration(bars.length) * time.Second, Seconds: int(last.at - bars.first.at + bars.length), Start: time.Unix(bars.first.at+bars.length, 0).UTC()}
	return out, tape.Flush()
}
