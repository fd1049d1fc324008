package arena

import (
	"errors"
	"fmt"
	"io"
	"os"
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
	of, ok := core.FeedNamed(m.Feed)
	switch {
	case !ok:
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
	list, length, err := m.bars()
	if err != nil {
		return nil, &ConfigError{err}
	}
	out := &Imported{Feed: of, Bar: time.Duration(length) * time.Second, Seconds: int(list[len(list)-1].at - list[0].at + length), Start: time.Unix(list[0].at+length, 0).UTC()}
	return out, atomicfile.WriteWith(m.Out, 0o644, func(f *os.File) error { return m.write(f, out.Feed, list, length) })
}

// bars returns the bars of the file, the earliest first, and their length in seconds.
func (m *Import) bars() ([]bar, int64, error) {
	file, err := os.Open(m.File)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	list, length, err := m.readBars(file)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", m.File, err)
	}
	return list, length, nil
}

// write writes the tape of the bars. A bar of a second has a line for each second in which its close is the last one. A
// bar of a minute has one line, so that a reader can tell a tape of minutes from one of seconds.
func (m *Import) write(to io.Writer, f core.Feed, list []bar, length int64) error {
	tape, err := replay.NewRecorder(to)
	if err != nil {
		return err
	}
	for i, b := range list {
		until := b.at + length
		if i+1 < len(list) {
			until = list[i+1].at
		}
		for at := b.at; at < until; at += length {
			tape.Record(f, m.Source, b.close, time.Unix(at+length, 0)) // a close is known when its bar ends
		}
	}
	return tape.Flush()
}
