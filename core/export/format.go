package export

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// Options say how the files of an export are written.
type Options struct {
	Format Format
	Codec  Codec // of Parquet; "" is Zstd. CSV must have none
	// Raw writes texts to CSV as they are. Without it, an apostrophe is put before a text that begins with
	// =, +, -, @, a tab or a CR, which a spreadsheet would run as a formula.
	Raw bool
}

// Format is the form of the files.
type Format string

const (
	CSV     Format = "csv"     // RFC 4180, with a header
	Parquet Format = "parquet" // every column is compressed
)

// Codec is the compression of Parquet.
type Codec string

const (
	Zstd   Codec = "zstd"   // the smaller files
	Snappy Codec = "snappy" // read by every Parquet reader
)

// ErrCodecOfCSV means that a codec is named for files that are not compressed.
var ErrCodecOfCSV = errors.New("only Parquet is compressed: CSV has no codec")

// encoder writes the rows of one file.
type encoder interface {
	row(Row) error
	close() error
}

// codec returns the compression of the files, nil for CSV. An error says what o has wrong.
func (o *Options) codec() (compress.Codec, error) {
	switch {
	case o.Format != CSV && o.Format != Parquet:
		return nil, fmt.Errorf("no format %q: csv and parquet exist", o.Format)
	case o.Format == CSV && o.Codec != "":
		return nil, ErrCodecOfCSV
	case o.Format == CSV:
		return nil, nil
	}
	switch o.Codec {
	case "", Zstd:
		return &parquet.Zstd, nil
	case Snappy:
		return &parquet.Snappy, nil
	}
	return nil, fmt.Errorf("no codec %q: zstd and snappy exist", o.Codec)
}

func (o *Options) encoder(w io.Writer, t *Table) (encoder, error) {
	codec, err := o.codec()
	if err != nil {
		return nil, err
	}
	if o.Format == CSV {
		return newCSV(w, t, o.Raw)
	}
	return newParquet(w, t, codec), nil
}

type csvFile struct {
	w      *csv.Writer
	t      *Table
	raw    bool
	fields []string
}

func newCSV(w io.Writer, t *Table, raw bool) (*csvFile, error) {
	f := &csvFile{w: csv.NewWriter(w), t: t, raw: raw}
	f.w.UseCRLF = true
	for _, c := range t.Columns {
		f.fields = append(f.fields, c.Name)
		switch c.Kind {
		case Money:
			f.fields = append(f.fields, c.Name+usdSuffix)
		case Time:
			f.fields = append(f.fields, c.Name+isoSuffix)
		}
	}
	return f, f.w.Write(f.fields)
}

func (f *csvFile) row(r Row) error {
	f.fields = f.fields[:0]
	for i, v := range r {
		text := ""
		switch v := v.(type) {
		case nil:
		case int64:
			text = strconv.FormatInt(v, 10)
		case uint64:
			text = strconv.FormatUint(v, 10)
		case string:
			text = v
			if !f.raw {
				text = withoutFormula(v)
			}
		case bool:
			text = strconv.FormatBool(v)
		default:
			return errValue(f.t, i, v)
		}
		f.fields = append(f.fields, text)
		n, isInt := v.(int64)
		switch f.t.Columns[i].Kind {
		case Money:
			text = ""
			if isInt {
				text = dollars(n)
			}
			f.fields = append(f.fields, text)
		case Time:
			f.fields = append(f.fields, iso(n))
		}
	}
	return f.w.Write(f.fields)
}

// withoutFormula puts an apostrophe before a text that a spreadsheet would take for a formula.
func withoutFormula(text string) string {
	if text != "" && strings.IndexByte("=+-@\t\r", text[0]) >= 0 {
		return "'" + text
	}
	return text
}

func (f *csvFile) close() error {
	f.w.Flush()
	return f.w.Error()
}

func appendUint(b []byte, n uint64) []byte { return strconv.AppendUint(b, n, 10) }

func errValue(t *Table, column int, v any) error {
	return fmt.Errorf("table %s, column %s: a value of type %T", t.Name, t.Columns[column].Name, v)
}

// parquetFile writes rows in groups of rowGroup.
type parquetFile struct {
	w      *parquet.GenericWriter[any]
	t      *Table
	places []place // of the columns of the file, by name
	rows   []parquet.Row
}

// place says which column of the table a column of the file holds.
type place struct {
	name    string
	column  int
	dollars bool
}

// rowsAtOnce is the number of rows that are handed to the Parquet writer together.
const rowsAtOnce = 256

func newParquet(w io.Writer, t *Table, codec compress.Codec) *parquetFile {
	f := &parquetFile{t: t}
	group := parquet.Group{}
	for i, c := range t.Columns {
		group[c.Name] = parquet.Compressed(parquet.Optional(c.Kind.node()), codec)
		f.places = append(f.places, place{name: c.Name, column: i})
		if c.Kind == Money {
			group[c.Name+usdSuffix] = parquet.Compressed(parquet.Optional(parquet.Decimal(4, 18, parquet.Int64Type)), codec)
			f.places = append(f.places, place{name: c.Name + usdSuffix, column: i, dollars: true})
		}
	}
	slices.SortFunc(f.places, func(a, b place) int { return cmp.Compare(a.name, b.name) }) // as parquet.Group does
	f.w = parquet.NewGenericWriter[any](w, parquet.NewSchema(t.Name, group))
	return f
}

func (k Kind) node() parquet.Node {
	switch k {
	case Uint:
		return parquet.Uint(64)
	case Time:
		return parquet.TimestampAdjusted(parquet.Nanosecond, false) // DuckDB cuts one with a time zone to µs
	case Text:
		return parquet.String()
	case Bool:
		return parquet.Leaf(parquet.BooleanType)
	default:
		return parquet.Int(64)
	}
}

func (f *parquetFile) row(r Row) error {
	out := make(parquet.Row, len(f.places))
	for i, p := range f.places {
		var value parquet.Value
		level := 1
		switch v := r[p.column].(type) {
		case nil:
			level = 0
		case int64:
			value = parquet.Int64Value(v)
		case uint64:
			value = parquet.Int64Value(int64(v))
		case string:
			if value = parquet.ByteArrayValue([]byte(v)); v == "" { // null, as an empty cell of CSV
				value, level = parquet.Value{}, 0
			}
		case bool:
			value = parquet.BooleanValue(v)
		default:
			return errValue(f.t, p.column, v)
		}
		out[i] = value.Level(0, level, i)
	}
	if f.rows = append(f.rows, out); len(f.rows) < rowsAtOnce {
		return nil
	}
	return f.flush()
}

func (f *parquetFile) flush() error {
	_, err := f.w.WriteRows(f.rows)
	f.rows = f.rows[:0]
	return err
}

func (f *parquetFile) close() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.w.Close()
}
