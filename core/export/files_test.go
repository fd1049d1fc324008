package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

var sample = Table{Name: "ledger", Columns: []Column{{"user_id", Int}, {"ts", Time}, {"kind", Text}, {"amount", Money}, {"client_order_id", Uint}, {"maker", Bool}}}

const day = int64(86_400_000_000_000)

var sampleRows = []Row{
	{int64(1), day, "fill", int64(-123_456), uint64(math.MaxUint64), true},
	{int64(2), day + 1, "a \"name\", with\r\nall", int64(0), nil, false},
	{nil, 2 * day, nil, nil, uint64(7), nil},
	{int64(math.MinInt64), 2*day + 5, "", int64(math.MinInt64), uint64(0), true},
}

// until is the time of which write exports every row: the first day has ended, and the second has not.
var until = Span{From: day, To: 3*day - 1}

func write(t *testing.T, dir string, o Options) {
	t.Helper()
	if err := writeTable(dir, o, &sample, sampleRows, Manifest{FromSeq: 1, ToSeq: 9, Chain: "ab"}); err != nil {
		t.Fatal(err)
	}
}

// writeTable exports the rows of a table; their time is in the column ts. After an error nothing of it stays.
func writeTable(dir string, o Options, table *Table, rows []Row, m Manifest) error {
	f, err := Create(dir, o)
	if err != nil {
		return err
	}
	err = f.Table(table, until)
	at := slices.IndexFunc(table.Columns, func(c Column) bool { return c.Name == "ts" })
	for _, r := range rows {
		if err == nil {
			err = f.Row(r[at].(int64), r)
		}
	}
	if err == nil {
		err = f.Close(m)
	}
	if err != nil {
		return errors.Join(err, f.Abort())
	}
	return nil
}

// TestCSV reads an export back and compares every cell, the money in dollars included.
func TestCSV(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, Options{Format: CSV})
	want := map[string][][]string{
		"ledger-1970-01-02.csv": {
			{"user_id", "ts", "ts_iso", "kind", "amount", "amount_usd", "client_order_id", "maker"},
			{"1", "86400000000000", "1970-01-02T00:00:00.000000000Z", "fill", "-123456", "-12.3456", "18446744073709551615", "true"},
			{"2", "86400000000001", "1970-01-02T00:00:00.000000001Z", "a \"name\", with\nall", "0", "0.0000", "", "false"}, // encoding/csv reads CRLF in a field as LF
		},
		"ledger-1970-01-03.csv": {
			{"user_id", "ts", "ts_iso", "kind", "amount", "amount_usd", "client_order_id", "maker"},
			{"", "172800000000000", "1970-01-03T00:00:00.000000000Z", "", "", "", "7", ""},
			{"-9223372036854775808", "172800000000005", "1970-01-03T00:00:00.000000005Z", "", "-9223372036854775808", "-922337203685477.5808", "0", "true"},
		},
	}
	checkManifest(t, dir, len(want), uint64(len(sampleRows)))
	for name, rows := range want {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil || !reflect.DeepEqual(got, rows) {
			t.Errorf("%s: %v\n%q\nwant\n%q", name, err, got, rows)
		}
		if !strings.HasPrefix(string(b), "user_id,ts,ts_iso,kind,amount,amount_usd,client_order_id,maker\r\n") {
			t.Errorf("%s begins with %q", name, b[:40])
		}
	}
}

// TestFormulas checks that no text of a CSV file is a formula in a spreadsheet, that numbers keep their
// signs, and that programs get texts as they are: with Raw, and in Parquet.
func TestFormulas(t *testing.T) {
	table := Table{Name: "users", Columns: []Column{{"name", Text}, {"amount", Money}, {"change", Int}}}
	texts := []string{"=cmd|calc!A1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "ann", "'=1", "a=1", "", "−1"}
	export := func(format Format, raw bool) string {
		dir := t.TempDir()
		f, err := Create(dir, Options{Format: format, Raw: raw})
		if err != nil {
			t.Fatal(err)
		}
		err = f.Table(&table, Always)
		for _, text := range texts {
			err = errors.Join(err, f.Row(0, Row{text, int64(-10_000), int64(-1)}))
		}
		if err := errors.Join(err, f.Close(Manifest{})); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "users."+string(format))
	}
	lines := func(path string) []string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(b), "\r\n"), "\r\n")[1:]
	}
	const rest = ",-10000,-1.0000,-1"
	want := []string{"'=cmd|calc!A1", "'+1", "'-1", "'@SUM(A1)", "'\t=1", "\"'=1\"", "ann", "'=1", "a=1", "", "−1"} // encoding/csv drops a CR
	for i, line := range lines(export(CSV, false)) {
		if line != want[i]+rest {
			t.Errorf("%q is %q, want %q", texts[i], line, want[i]+rest)
		}
	}
	for i, line := range lines(export(CSV, true)) {
		if text := strings.Trim(strings.TrimSuffix(line, rest), `"`); text != strings.TrimPrefix(texts[i], "\r") {
			t.Errorf("raw, %q is %q", texts[i], line)
		}
	}
	type row struct {
		Name *string `parquet:"name"`
	}
	rows, err := parquet.ReadFile[row](export(Parquet, false))
	if err != nil || len(rows) != len(texts) {
		t.Fatal(len(rows), err)
	}
	for i, r := range rows {
		if texts[i] == "" {
			if r.Name != nil {
				t.Errorf("in Parquet, an empty text is %q, want null", *r.Name)
			}
		} else if r.Name == nil || *r.Name != texts[i] {
			t.Errorf("in Parquet, %q is %v", texts[i], value(r.Name))
		}
	}
}

// TestParquet reads exports with each codec back as rows of a struct. An empty text is null, as in CSV.
func TestParquet(t *testing.T) {
	for codec, want := range map[Codec]format.CompressionCodec{"": format.Zstd, Zstd: format.Zstd, Snappy: format.Snappy} {
		t.Run(string(codec), func(t *testing.T) { testParquet(t, codec, want) })
	}
}

func testParquet(t *testing.T, codec Codec, want format.CompressionCodec) {
	dir := t.TempDir()
	write(t, dir, Options{Format: Parquet, Codec: codec})
	checkManifest(t, dir, 2, uint64(len(sampleRows)))
	type row struct {
		UserID *int64  `parquet:"user_id"`
		Ts     *int64  `parquet:"ts"`
		Kind   *string `parquet:"kind"`
		Amount *int64  `parquet:"amount"`
		Usd    *int64  `parquet:"amount_usd"`
		Client *uint64 `parquet:"client_order_id"`
		Maker  *bool   `parquet:"maker"`
	}
	var got []Row
	for _, name := range []string{"ledger-1970-01-02.parquet", "ledger-1970-01-03.parquet"} {
		rows, err := parquet.ReadFile[row](filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for column, got := range codecs(t, filepath.Join(dir, name)) {
			if got != want {
				t.Errorf("%s: column %s has the codec %v, want %v", name, column, got, want)
			}
		}
		for _, r := range rows {
			if !reflect.DeepEqual(r.Amount, r.Usd) {
				t.Errorf("amount %v, in dollars %v", r.Amount, r.Usd)
			}
			got = append(got, Row{value(r.UserID), value(r.Ts), value(r.Kind), value(r.Amount), value(r.Client), value(r.Maker)})
		}
	}
	wantRows := slices.Clone(sampleRows)
	wantRows[3] = slices.Clone(wantRows[3])
	wantRows[3][2] = nil
	if !reflect.DeepEqual(got, wantRows) {
		t.Errorf("read back\n%v\nwant\n%v", got, wantRows)
	}
}

// codecs returns the compression of each column of a Parquet file.
func codecs(t *testing.T, path string) map[string]format.CompressionCodec {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]format.CompressionCodec{}
	for _, c := range f.Metadata().RowGroups[0].Columns {
		out[strings.Join(c.MetaData.PathInSchema, ".")] = c.MetaData.Codec
	}
	if len(out) != len(sample.Columns)+1 { // amount_usd
		t.Fatalf("%s has the columns %v", path, out)
	}
	return out
}

// TestCodecOfCSV checks that a codec is refused for CSV, and one that does not exist.
func TestCodecOfCSV(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if _, err := Create(dir, Options{Format: CSV, Codec: Zstd}); !errors.Is(err, ErrCodecOfCSV) {
		t.Errorf("CSV with zstd: %v", err)
	}
	if _, err := Create(dir, Options{Format: Parquet, Codec: "lz4"}); err == nil || !strings.Contains(err.Error(), "lz4") {
		t.Errorf("an unknown codec: %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder of a refused export: %v", err)
	}
}

// TestTimesInCSV checks the column in RFC 3339: every digit, and nothing where there is no time.
func TestTimesInCSV(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "", 1: "1970-01-01T00:00:00.000000001Z", 1_800_000_000_120_000_000: "2027-01-15T08:00:00.120000000Z", math.MaxInt64: "2262-04-11T23:47:16.854775807Z", -1: "1969-12-31T23:59:59.999999999Z",
	} {
		if got := iso(ns); got != want {
			t.Errorf("%d is %q, want %q", ns, got, want)
		}
	}
}

func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// checkManifest compares the manifest with the files.
func checkManifest(t *testing.T, dir string, files int, rows uint64) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if m.FromSeq != 1 || m.ToSeq != 9 || m.Chain != "ab" || m.Rows != rows || len(m.Files) != files {
		t.Errorf("the manifest is %s", b)
	}
	for i, f := range m.Files {
		if f.Complete != (i == 0) || f.FromSeq != 1 || f.ToSeq != 9 || f.Chain != "ab" {
			t.Errorf("%+v, want the first file alone to be complete", f)
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != f.SHA256 || f.Rows != 2 || f.Table != "ledger" {
			t.Errorf("%+v", f)
		}
	}
	if present, err := os.ReadDir(dir); err != nil || len(present) != files+1 {
		t.Errorf("the folder has %v, %v", present, err)
	}
}

// TestFolderInUse checks that an export changes no file that exists, and leaves none if it is refused.
func TestFolderInUse(t *testing.T) {
	csv := Options{Format: CSV}
	for name, want := range map[string]error{"ledger-1970-01-02.csv": ErrExists, "ledger-1970-01-03.csv": ErrExists, ManifestName: ErrNoManifest} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := writeTable(dir, csv, &sample, sampleRows, Manifest{Chain: "ab"}); !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if got := contents(t, dir); len(got) != 1 || got[name] != "mine" {
			t.Errorf("%s: the folder has %v", name, got)
		}
	}
	for _, other := range []string{`{}`, `{"chain":"ab","files":[{"name":"ledger-1970-01-02.csv"}]}`, `{"chain":"ab","seed":"1"}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ManifestName), []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(dir, csv); !errors.Is(err, ErrNoManifest) {
			t.Errorf("the manifest %s: %v, want that it is none", other, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, dir, csv)
	if _, err := Create(t.TempDir(), Options{Format: "xls"}); err == nil {
		t.Error("an unknown format is accepted")
	}
}

// contents returns the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		b, readErr := os.ReadFile(filepath.Join(dir, e.Name()))
		err = errors.Join(err, readErr)
		out[e.Name()] = string(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSharedFolder exports another day, another table and another format into one folder: its manifest has all
// of them, the files of before stay as they are, and an export that is refused changes nothing. A file that was
// deleted can be exported anew.
func TestSharedFolder(t *testing.T) {
	dir := t.TempDir()
	csv, fills := Options{Format: CSV}, Table{Name: "fills", Columns: sample.Columns}
	manifest := func() (m Manifest) {
		if err := json.Unmarshal([]byte(contents(t, dir)[ManifestName]), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	was := map[string]string{}
	export := func(o Options, table *Table, rows []Row, m Manifest) {
		t.Helper()
		if err := writeTable(dir, o, table, rows, m); err != nil {
			t.Fatal(err)
		}
		now := contents(t, dir)
		for name, b := range was {
			if name != ManifestName && now[name] != b {
				t.Errorf("%s has changed", name)
			}
		}
		was = now
	}
	export(csv, &sample, sampleRows[:2], Manifest{FromSeq: 5, ToSeq: 6, Chain: "ab", Group: 6})
	export(csv, &sample, sampleRows[2:], Manifest{FromSeq: 7, ToSeq: 9, Chain: "cd", Group: 9, LastAction: &Action{8, 3}})
	export(csv, &fills, sampleRows, Manifest{FromSeq: 1, ToSeq: 8, Chain: "ef", Group: 12, LastAction: &Action{8, 3}})
	export(Options{Format: Parquet}, &fills, sampleRows[:2], Manifest{FromSeq: 1, ToSeq: 8, Chain: "ef", Group: 12})
	file := func(name, day string, complete bool, from, to uint64, chain string) File {
		table, _, _ := strings.Cut(name, "-")
		sum := sha256.Sum256([]byte(was[name]))
		return File{Name: name, Table: table, Day: day, Complete: complete, FromSeq: from, ToSeq: to, Chain: chain, Rows: 2, SHA256: hex.EncodeToString(sum[:])}
	}
	want := Manifest{FromSeq: 1, ToSeq: 9, Chain: "ef", Group: 12, Rows: 10, Files: []File{
		file("fills-1970-01-02.csv", "1970-01-02", true, 1, 8, "ef"), file("fills-1970-01-02.parquet", "1970-01-02", true, 1, 8, "ef"), file("fills-1970-01-03.csv", "1970-01-03", false, 1, 8, "ef"),
		file("ledger-1970-01-02.csv", "1970-01-02", true, 5, 6, "ab"), file("ledger-1970-01-03.csv", "1970-01-03", false, 7, 9, "cd"),
	}}
	if got := manifest(); !reflect.DeepEqual(got, want) {
		t.Errorf("the manifest is\n%+v\nwant\n%+v", got, want)
	}

	// The first file of this export is new, and the second exists.
	rows := append([]Row{{int64(9), 1 + int64(1), "", int64(0), uint64(1), true}}, sampleRows...)
	if err := writeTable(dir, csv, &sample, rows, Manifest{FromSeq: 1, ToSeq: 9, Chain: "ef"}); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "ledger-1970-01-02.csv") {
		t.Errorf("a day that was exported: %v, want that its file exists", err)
	}
	if now := contents(t, dir); !reflect.DeepEqual(now, was) {
		t.Errorf("after a refused export the folder has %v, want %v", slices.Sorted(maps.Keys(now)), slices.Sorted(maps.Keys(was)))
	}

	if err := os.Remove(filepath.Join(dir, "ledger-1970-01-03.csv")); err != nil {
		t.Fatal(err)
	}
	delete(was, "ledger-1970-01-03.csv")
	export(csv, &sample, sampleRows[3:], Manifest{FromSeq: 7, ToSeq: 20, Chain: "gh", Group: 20})
	if m := manifest(); len(m.Files) != 5 || m.Rows != 9 || m.ToSeq != 20 || m.Files[4].Rows != 1 || m.Files[4].Chain != "gh" {
		t.Errorf("with a day exported anew, the manifest is %+v", m)
	}
}

// TestTwoExportsAtOnce checks that a second export into a folder is refused while the first one writes, so that
// neither loses the other's entries, and that a lock that a process left when it died does not matter.
func TestTwoExportsAtOnce(t *testing.T) {
	dir := t.TempDir()
	csv := Options{Format: CSV}
	if err := os.WriteFile(filepath.Join(dir, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func(f *Files) error{func(f *Files) error { return f.Close(Manifest{Chain: "ab"}) }, (*Files).Abort} {
		f, err := Create(dir, csv)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Create(dir, csv); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), dir) {
			t.Errorf("a second export: %v, want that another is writing", err)
		}
		if err := end(f); err != nil {
			t.Fatal(err)
		}
	}
	if got := slices.Sorted(maps.Keys(contents(t, dir))); !slices.Equal(got, []string{ManifestName}) {
		t.Errorf("the folder has %v, want the manifest alone", got)
	}
}

// TestComplete checks that a file is complete if the export has every row of its day, which has ended.
func TestComplete(t *testing.T) {
	whole := Span{From: day, To: 2 * day}
	for _, c := range []struct {
		day  string
		span Span
		want bool
	}{
		{"1970-01-02", whole, true}, {"1970-01-02", Always, true}, {"1970-01-02", Span{day + 1, 2 * day}, false}, {"1970-01-02", Span{day, 2*day - 1}, false},
		{"1970-01-03", whole, false}, {"1970-01-01", whole, false}, {"", whole, false}, {"", Always, true},
	} {
		if got, err := c.span.covers(c.day); got != c.want || err != nil {
			t.Errorf("day %q of an export of %+v: %v, %v, want %v", c.day, c.span, got, err, c.want)
		}
	}
}

// TestAbort checks that an export that ends early leaves nothing, and that a file that another
// program made meanwhile is kept.
func TestAbort(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(dir, Options{Format: CSV})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Table(&sample, until), f.Row(day, sampleRows[0]), f.Row(2*day, sampleRows[2])); err != nil {
		t.Fatal(err)
	}
	if err := f.Row(day, sampleRows[0]); err == nil {
		t.Error("a time that falls is accepted")
	}
	if err := f.Abort(); err != nil {
		t.Fatal(err)
	}
	if present, err := os.ReadDir(dir); err != nil || len(present) != 0 {
		t.Errorf("the folder has %v, %v", present, err)
	}
	sub := filepath.Join(dir, "sub")
	f, err = Create(sub, Options{Format: CSV})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(sub); !os.IsNotExist(err) {
		t.Errorf("the folder that Create made stays: %v", err)
	}

	f, err = Create(dir, Options{Format: CSV})
	if err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(dir, "ledger-1970-01-02.csv")
	if err := errors.Join(f.Table(&sample, until), f.Row(day, sampleRows[0]), os.WriteFile(theirs, []byte("theirs"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(Manifest{}); err == nil {
		t.Error("a file of another program is replaced")
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(theirs); err != nil || string(b) != "theirs" {
		t.Errorf("the file has %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(dir, ManifestName)); !os.IsNotExist(err) {
		t.Errorf("a manifest in spite of the error: %v", err)
	}
}

// TestValueOfAnotherType checks that a value that no column can hold is an error.
func TestValueOfAnotherType(t *testing.T) {
	for _, format := range []Format{CSV, Parquet} {
		o := Options{Format: format}
		e, err := o.encoder(io.Discard, &Table{Name: "t", Columns: []Column{{"a", Int}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.row(Row{1.5}); err == nil || !strings.Contains(err.Error(), "column a") {
			t.Errorf("%s: %v", format, err)
		}
	}
}
