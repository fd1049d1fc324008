package arena

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"duplex/core"
	"duplex/core/feed"
)

// bar is the close of a bar and the time of its begin, in Unix seconds.
type bar struct {
	at    int64
	close core.Price
}

// bars reads the bars of a file.
type bars struct {
	csv         *csv.Reader
	names       []string // of the columns; nil in a file without them
	time, price int      // columns, from 0
	unit        int64    // of the times, ns; isoTime; 0 before the first
	first       bar
	length      int64 // of a bar, seconds
	last        int64 // when the last bar that was read begins
	second      *bar  // read to know the length, but not returned yet
	consecutive bool  // two bars followed each other directly
	line        int   // of the second bar
}

const byteOrderMark = "\ufeff" // which some programs write first

// The columns in a file without names, and the names that the files of exchanges have.
const defaultTime, defaultPrice = "1", "5"

var (
	timeNames  = []string{"time", "timestamp", "open_time", "open time", "unix"}
	priceNames = []string{"close"}
)

// readBars reads the names of the columns and the first two bars, whose distance is the length of a bar.
func (m *Import) readBars(file io.Reader) (*bars, error) {
	text := bufio.NewReader(file)
	if mark, _ := text.Peek(len(byteOrderMark)); string(mark) == byteOrderMark { // an error comes again when it is read
		_, _ = text.Discard(len(byteOrderMark))
	}
	b := &bars{csv: csv.NewReader(text)}
	b.csv.ReuseRecord, b.csv.FieldsPerRecord, b.csv.TrimLeadingSpace = true, -1, true
	fields, err := b.read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	b.csv.FieldsPerRecord = len(fields)
	if !slices.ContainsFunc(fields, isNumber) {
		b.names = slices.Clone(fields)
	}
	line := b.lineOf(0)
	if b.time, err = b.column(fields, m.Time, defaultTime, timeNames); err == nil {
		b.price, err = b.column(fields, m.Price, defaultPrice, priceNames)
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	if b.names != nil {
		if fields, err = b.read(); errors.Is(err, io.EOF) {
			return nil, errors.New("no bar")
		} else if err != nil {
			return nil, err
		}
	}
	if b.first, err = b.parse(fields); err != nil {
		return nil, err
	}
	b.last = b.first.at
	second, err := b.next()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("one bar alone does not show its length")
	}
	b.second = &second
	return b, err
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// read returns the cells of the next line, io.EOF after the last.
func (b *bars) read() ([]string, error) {
	fields, err := b.csv.Read()
	if errors.Is(err, csv.ErrFieldCount) {
		return nil, fmt.Errorf("line %d, column %d: the line has %d cells, the first one %d", b.lineOf(0), min(len(fields), b.csv.FieldsPerRecord)+1, len(fields), b.csv.FieldsPerRecord)
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields, err // one of encoding/csv names the line, too
}

func (b *bars) lineOf(column int) int {
	line, _ := b.csv.FieldPos(column)
	return line
}

// column returns the place of a column by its name or its number, or by the usual ones.
func (b *bars) column(fields []string, name, number string, usual []string) (int, error) {
	if name == "" && b.names == nil {
		name = number
	}
	named := func(have string) bool {
		return have == name || name == "" && slices.Contains(usual, strings.ToLower(have))
	}
	if i := slices.IndexFunc(b.names, named); i >= 0 {
		if slices.ContainsFunc(b.names[i+1:], named) {
			return 0, fmt.Errorf("column %s is there twice", b.names[i])
		}
		return i, nil
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n < 1 || n > len(fields) {
			return 0, fmt.Errorf("no column %d: there are %d", n, len(fields))
		}
		return n - 1, nil
	}
	if b.names == nil {
		return 0, fmt.Errorf("no column %s: the line has no names, so give the number of the column", name)
	}
	if name == "" {
		name = strings.Join(usual, " or ")
	}
	return 0, fmt.Errorf("no column %s: name one of %s", name, strings.Join(b.names, ", "))
}

// next returns the next bar after the first, io.EOF after the last.
func (b *bars) next() (bar, error) {
	if x := b.second; x != nil {
		b.second = nil
		return *x, nil
	}
	fields, err := b.read()
	if errors.Is(err, io.EOF) && b.length == secondBar && !b.consecutive {
		return bar{}, fmt.Errorf("line %d, %s: no two bars follow each other by 1 s: bars are of a second or of a minute", b.line, b.nameOf(b.time))
	}
	if err != nil {
		return bar{}, err
	}
	x, err := b.parse(fields)
	if err != nil {
		return bar{}, err
	}
	gap := x.at - b.last
	if b.length == 0 {
		if b.length, b.line = secondBar, b.lineOf(b.time); gap == minuteBar {
			b.length = minuteBar
		}
	}
	switch {
	case gap == 0:
		return bar{}, b.bad(b.time, "the time %s is there twice", fields[b.time])
	case gap < 0:
		return bar{}, b.bad(b.time, "the time falls to %s", fields[b.time])
	case b.length == secondBar && gap > heldAtMost+1:
		return bar{}, b.bad(b.time, "%d s are missing before %s: the last close holds for at most %d s", gap-1, fields[b.time], heldAtMost)
	case b.length == minuteBar && gap != minuteBar:
		return bar{}, b.bad(b.time, "%s is %d s after the bar before: each bar of a minute begins a minute after the last", fields[b.time], gap)
	}
	b.last, b.consecutive = x.at, b.consecutive || gap == b.length
	return x, nil
}

// bad returns an error that names the line and the column.
func (b *bars) bad(column int, format string, args ...any) error {
	return fmt.Errorf("line %d, %s: %s", b.lineOf(column), b.nameOf(column), fmt.Sprintf(format, args...))
}

func (b *bars) nameOf(column int) string {
	if b.names != nil {
		return "column " + b.names[column]
	}
	return fmt.Sprint("column ", column+1)
}

// parse reads the two cells of a bar.
func (b *bars) parse(fields []string) (x bar, err error) {
	if x.at, err = b.parseTime(fields[b.time]); err != nil {
		return bar{}, b.bad(b.time, "%v", err)
	}
	if x.close, err = feed.ParsePrice(fields[b.price]); err != nil || x.close == 0 {
		return bar{}, b.bad(b.price, "%q is no price: decimal digits, above 0", fields[b.price])
	}
	return x, nil
}

// isoTime is the unit of times in ISO 8601.
const isoTime = -1

var (
	isoLayouts = []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05"} // without a zone: UTC
	unitNames  = map[int64]string{isoTime: "ISO 8601", core.NsPerSec: "s", core.NsPerSec / 1e3: "ms", core.NsPerSec / 1e6: "µs", 1: "ns"}
)

// parseTime returns a time in Unix seconds. All times of a file have the unit of the first.
func (b *bars) parseTime(text string) (int64, error) {
	n, unit, err := timeAndUnit(text)
	if err != nil {
		return 0, err
	}
	if b.unit == 0 {
		b.unit = unit
	}
	if unit != b.unit {
		return 0, fmt.Errorf("%q is a time in %s, the first one in %s", text, unitNames[unit], unitNames[b.unit])
	}
	if unit == isoTime {
		unit = 1
	}
	if perSecond := core.NsPerSec / unit; n%perSecond != 0 {
		return 0, fmt.Errorf("%q is not a whole second, with which a bar begins", text)
	} else if n /= perSecond; n > math.MaxInt64/core.NsPerSec-minuteBar {
		return 0, fmt.Errorf("%q is a time after the year 2262", text)
	}
	return n, nil
}

// timeAndUnit returns a time after 1970 and its unit in ns, which its magnitude shows: a time in s has up to 11 digits,
// one in ms up to 14, one in µs up to 17.
func timeAndUnit(text string) (n, unit int64, err error) {
	for _, layout := range isoLayouts {
		if t, err := time.Parse(layout, text); err == nil && t.Year() > 1970 && t.Year() < 2262 {
			return t.UnixNano(), isoTime, nil
		}
	}
	if n, err = strconv.ParseInt(text, 10, 64); err != nil || n <= 0 {
		return 0, 0, fmt.Errorf("%q is no time: a number of s, ms, µs or ns since 1970, or ISO 8601", text)
	}
	switch {
	case n < 1e11:
		return n, core.NsPerSec, nil
	case n < 1e14:
		return n, core.NsPerSec / 1e3, nil
	case n < 1e17:
		return n, core.NsPerSec / 1e6, nil
	}
	return n, 1, nil
}
