package replay

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"duplex/core"
	"duplex/core/feed"
)

// header has the names of the columns.
var header = []string{"ts_ns", "feed", "source", "price"}

// MaxSourceName is the greatest length in bytes of a source's name, which the evidence of
// rounds contains.
const MaxSourceName = 64

// row is one line of a file.
type row struct {
	at     int64 // ns
	feed   core.Feed
	source string
	price  core.Price
}

// rows reads a file line by line.
type rows struct{ csv *csv.Reader }

func readRows(r io.Reader) *rows {
	c := csv.NewReader(r)
	c.FieldsPerRecord, c.ReuseRecord = len(header), true
	return &rows{c}
}

// next returns the next row, io.EOF after the last. Any other error names the line.
func (r *rows) next() (row, error) {
	for {
		fields, err := r.csv.Read()
		if err != nil {
			return row{}, err
		}
		n, _ := r.csv.FieldPos(0)
		if n == 1 && fields[0] == header[0] {
			continue
		}
		out, err := parseRow(fields)
		if err != nil {
			return row{}, fmt.Errorf("line %d: %w", n, err)
		}
		return out, nil
	}
}

func parseRow(fields []string) (out row, err error) {
	if out.at, err = strconv.ParseInt(fields[0], 10, 64); err != nil || out.at <= 0 {
		return row{}, fmt.Errorf("%q is not a time in ns", fields[0])
	}
	if out.feed, err = parseFeed(fields[1]); err != nil {
		return row{}, err
	}
	if out.source = fields[2]; out.source == "" || len(out.source) > MaxSourceName {
		return row{}, errors.New("a source has a name of 1 to 64 bytes")
	}
	if out.price, err = feed.ParsePrice(fields[3]); err != nil || out.price == 0 {
		return row{}, fmt.Errorf("%q is not a price", fields[3])
	}
	return out, nil
}

func parseFeed(text string) (core.Feed, error) {
	for f := range core.Feed(core.Feeds) {
		if text == f.String() || text == strconv.Itoa(int(f)) {
			return f, nil
		}
	}
	return 0, fmt.Errorf("there is no feed %q", text)
}
