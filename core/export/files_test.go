package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

var sample = Table{Name: "ledger", Columns: []Column{{"user_id", Int}, {"ts", Time}, {"kind", Text}, {"amount", Money}, {"client_order_id", Uint}, {"maker", Bool}}}

const day = int64(86_400_000_000_000)

var sampleRows = []Row{
	{int64(1), day, "fill", int64(-123_456), uint64(math.MaxUint64), true},
	{int64(2), day + 1, "a \"name\", with\r\nall", int64(0), nil, false},
	{nil, 2 * day, nil, nil, uint64(7), nil},
	{int64(math.MinInt64), 2*day + 5, "", int64(math.MinInt64), uint64(0), true},
}

func write(t *testing.T, dir string, format Format) {
	t.Helper()
	f, err := Create(dir, format, []Table{sample})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Table(&sample); err != nil {
		t.Fatal(err)
	}
	for _, r := range sampleRows {
		if err := f.Row(r[1].(int64), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(Manifest{FromSeq: 1, ToSeq: 9, Chain: "ab"}); err != nil {
		t.Fatal(err)
	}
}

// TestCSV reads an export back and compares every cell, the money in dollars included.
func TestCSV(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, CSV)
	want := map[string][][]string{
		"ledger-1970-01-02.csv": {
			{"user_id", "ts", "kind", "amount", "amount_usd", "client_order_id", "maker"},
			{"1", "86400000000000", "fill", "-123456", "-12.3456", "18446744073709551615", "true"},
			{"2", "86400000000001", "a \"name\", with\nall", "0", "0.0000", "", "false"}, // encoding/csv reads CRLF in a field as LF
		},
		"ledger-1970-01-03.csv": {
			{"user_id", "ts", "kind", "amount", "amount_usd", "client_order_id", "maker"},
			{"", "172800000000000", "", "", "", "7", ""},
			{"-9223372036854775808", "172800000000005", "", "-9223372036854775808", "-922337203685477.5808", "0", "true"},
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
		if !strings.HasPrefix(string(b), "user_id,ts,kind,amount,amount_usd,client_order_id,maker\r\n") {
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
		f, err := Create(dir, format, []Table{table})
		if err != nil {
			t.Fatal(err)
		}
		f.Raw = raw
		err = f.Table(&table)
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
		if *r.Name != texts[i] {
			t.Errorf("in Parquet, %q is %q", texts[i], *r.Name)
		}
	}
}

// TestParquet reads an export back as rows of a struct.
func TestParquet(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, Parquet)
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
		for _, r := range rows {
			if !reflect.DeepEqual(r.Amount, r.Usd) {
				t.Errorf("amount %v, in dollars %v", r.Amount, r.Usd)
			}
			got = append(got, Row{value(r.UserID), value(r.Ts), value(r.Kind), value(r.Amount), value(r.Client), value(r.Maker)})
		}
	}
	if !reflect.DeepEqual(got, sampleRows) {
		t.Errorf("read back\n%v\nwant\n%v", got, sampleRows)
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
	for _, f := range m.Files {
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

// TestFolderInUse checks that an export changes no file that exists.
func TestFolderInUse(t *testing.T) {
	for _, name := range []string{"ledger-2026-01-01.csv", "ledger.csv", ManifestName} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(dir, CSV, []Table{sample}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/sub", CSV)
	if _, err := Create(dir, CSV, []Table{sample}); err != nil {
		t.Error(err)
	}
	if _, err := Create(dir, "xls", nil); err == nil {
		t.Error("an unknown format is accepted")
	}
}

// TestAbort checks that an export that ends early leaves nothing, and that a file that another
// program made meanwhile is kept.
func TestAbort(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(dir, CSV, []Table{sample})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Table(&sample), f.Row(day, sampleRows[0]), f.Row(2*day, sampleRows[2])); err != nil {
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
	f, err = Create(sub, CSV, []Table{sample})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(sub); !os.IsNotExist(err) {
		t.Errorf("the folder that Create made stays: %v", err)
	}

	f, err = Create(dir, CSV, []Table{sample})
	if err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(dir, "ledger-1970-01-02.csv")
	if err := errors.Join(f.Table(&sample), f.Row(day, sampleRows[0]), os.WriteFile(theirs, []byte("theirs"), 0o600)); err != nil {
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
		e, err := format.encoder(io.Discard, &Table{Name: "t", Columns: []Column{{"a", Int}}}, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.row(Row{1.5}); err == nil || !strings.Contains(err.Error(), "column a") {
			t.Errorf("%s: %v", format, err)
		}
	}
}
