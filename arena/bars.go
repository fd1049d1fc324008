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

// barReader reads the bars of a file.
type barReader struct {
	csv         *csv.Reader
	names       []string // of the columns; nil in a file without them
	time, price int      // columns, from 0
	unit        int64    // of the times, ns; isoTime; 0 before the first
	row         []string // the first line, if it is a bar that is not returned yet
	length      int64    // of a bar, seconds; 0 before the second bar
	last        int64    // when the last bar that was read begins; 0 before the first
	falls       bool     // the newest bar is first
	consecutive bool     // two bars followed each other directly
	line        int      // of the second bar
}

const byteOrderMark = "\ufeff" // which some programs write first

// The columns in a file without names, and the names that the files of exchanges have.
const defaultTime, defaultPrice = "1", "5"

var (
	timeNames  = []string{"time", "timestamp", "open_time", "open time", "unix"}
	priceNames = []string{"close"}
)

// readBars returns the bars of a file, the earliest first, and their length in seconds, which is the distance of the
// first two.
func (m *Import) readBars(file io.Reader) (list []bar, length int64, err error) {
	b, err := m.newBarReader(file)
	if err != nil {
		return nil, 0, err
	}
	for {
		x, err := b.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		list = append(list, x)
	}
	switch {
	case len(list) == 0:
		return nil, 0, errors.New("no bar")
	case len(list) == 1:
		return nil, 0, errors.New("one bar alone does not show its length")
	case b.length == secondBar && !b.consecutive:
		return nil, 0, fmt.Errorf("line %d, %s: no two bars follow each other by 1 s: bars are of a second or of a minute", b.line, b.nameOf(b.time))
	}
	if b.falls {
		slices.Reverse(list)
	}
	return list, b.length, nil
}

// newBarReader reads the names of the columns.
func (m *Import) newBarReader(file io.Reader) (*barReader, error) {
	text, separator, banner, err := findSeparator(bufio.NewReader(file))
	if err != nil {
		return nil, err
	}
	b := &barReader{csv: csv.NewReader(text)}
	b.csv.Comma, b.csv.ReuseRecord, b.csv.FieldsPerRecord = separator, true, -1
	b.csv.TrimLeadingSpace = separator != '\t' // or it would trim tabs, which separate
	fields, err := b.read()
	if err != nil {
		return nil, err
	}
	b.csv.FieldsPerRecord = len(fields)
	if !slices.ContainsFunc(fields, isNumber) {
		b.names = slices.Clone(fields)
	} else if b.row = fields; banner != 0 {
		return nil, fmt.Errorf("line %d has no comma, semicolon or tab, and no names of columns follow it", banner)
	}
	line := b.lineOf(0)
	if b.time, err = b.column(fields, m.Time, defaultTime, timeNames); err == nil {
		b.price, err = b.column(fields, m.Price, defaultPrice, priceNames)
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return b, nil
}

// findSeparator returns the text of a file without a byte order mark, and the character that separates its cells: the
// first comma, semicolon or tab outside quotes. The first line may have none if the second does; its number is then
// banner, and the text has an empty line in its place, so that other lines keep their numbers.
func findSeparator(file *bufio.Reader) (text io.Reader, separator rune, banner int, err error) {
	if mark, _ := file.Peek(len(byteOrderMark)); string(mark) == byteOrderMark { // an error comes again when it is read
		_, _ = file.Discard(len(byteOrderMark))
	}
	for n := 1; ; n++ {
		line, err := file.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, 0, err
		}
		if separator := separatorOf(line); separator != 0 {
			return io.MultiReader(strings.NewReader(strings.Repeat("\n", n-1)+line), file), separator, banner, nil
		}
		empty := strings.TrimSpace(line) == ""
		switch {
		case !empty && (banner != 0 || err != nil):
			return nil, 0, 0, fmt.Errorf("line %d: no comma, semicolon or tab separates columns", n)
		case !empty:
			banner = n
		case err != nil && banner != 0:
			return nil, 0, 0, fmt.Errorf("line %d: no comma, semicolon or tab separates columns", banner)
		case err != nil:
			return nil, 0, 0, errors.New("the file is empty")
		}
	}
}

// separatorOf returns the first character of a line that separates cells; 0: none.
func separatorOf(line string) rune {
	quoted := false
	for _, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case !quoted && strings.ContainsRune(",;\t", c):
			return c
		}
	}
	return 0
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// read returns the cells of the next line, io.EOF after the last.
func (b *barReader) read() ([]string, error) {
	fields, err := b.csv.Read()
	if errors.Is(err, csv.ErrFieldCount) {
		return nil, fmt.Errorf("line %d, column %d: the line has %s, the first one %d", b.lineOf(0), min(len(fields), b.csv.FieldsPerRecord)+1, several(len(fields), "cell"), b.csv.FieldsPerRecord)
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields, err // one of encoding/csv names the line, too
}

func (b *barReader) lineOf(column int) int {
	line, _ := b.csv.FieldPos(column)
	return line
}

// column returns the place of a column by its name or its number, or by the usual ones.
func (b *barReader) column(fields []string, name, number string, usual []string) (int, error) {
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

// next returns the next bar of the file, io.EOF after the last.
func (b *barReader) next() (bar, error) {
	fields := b.row
	if b.row = nil; fields == nil {
		var err error
		if fields, err = b.read(); err != nil {
			return bar{}, err
		}
	}
	x, err := b.parse(fields)
	if err != nil {
		return bar{}, err
	}
	if b.last != 0 {
		err = b.follow(x.at-b.last, fields[b.time])
	}
	b.last = x.at
	return x, err
}

// follow checks the seconds from the begin of the last bar to that of the next, whose time is text. The first two bars
// show the length of all, and whether times fall.
func (b *barReader) follow(gap int64, text string) error {
	if b.length == 0 {
		b.falls, b.length, b.line = gap < 0, secondBar, b.lineOf(b.time)
		if gap == minuteBar || gap == -minuteBar {
			b.length = minuteBar
		}
	}
	turns, side, distance := "falls", "before", "after the bar before"
	if b.falls {
		gap = -gap
		turns, side, distance = "rises", "after", "before the bar of the line before"
	}
	switch {
	case gap == 0:
		return b.bad(b.time, "the time %s is there twice", text)
	case gap < 0:
		return b.bad(b.time, "the time %s to %s", turns, text)
	case b.length == secondBar && gap > heldAtMost+1:
		return b.bad(b.time, "%d s are missing %s %s: the last close holds for at most %d s", gap-1, side, text, heldAtMost)
	case b.length == minuteBar && gap != minuteBar:
		return b.bad(b.time, "%s is %d s %s: each bar of a minute begins a minute after the last", text, gap, distance)
	}
	b.consecutive = b.consecutive || gap == b.length
	return nil
}

// bad returns an error that names the line and the column.
func (b *barReader) bad(column int, format string, args ...any) error {
	return fmt.Errorf("line %d, %s: %s", b.lineOf(column), b.nameOf(column), fmt.Sprintf(format, args...))
}

func (b *barReader) nameOf(column int) string {
	if b.names != nil {
		return "column " + b.names[column]
	}
	return fmt.Sprint("column ", column+1)
}

// parse reads the two cells of a bar.
func (b *barReader) parse(fields []string) (x bar, err error) {
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
func (b *barReader) parseTime(text string) (int64, error) {
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
	whole, decimals, point := strings.Cut(text, ".")
	if n, err = strconv.ParseInt(whole, 10, 64); err != nil || n <= 0 || point && (decimals == "" || strings.Trim(decimals, "0") != "") {
		return 0, 0, fmt.Errorf("%q is no time: a whole number of s, ms, µs or ns since 1970, or ISO 8601", text)
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
