package mirror

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"duplex/core"
	"duplex/core/export"
)

// exportTo exports tables and returns the manifest on disk.
func exportTo(t *testing.T, o Options, format export.Format, names []string, r Range) (dir string, m export.Manifest) {
	t.Helper()
	dir = tempDir(t)
	tables := slices.DeleteFunc(ExportTables(), func(x export.Table) bool { return !slices.Contains(names, x.Name) })
	f, err := export.Create(dir, format, tables)
	if err != nil {
		t.Fatal(err)
	}
	m, err = Export(ctx, o, names, r, f, nil)
	if err == nil {
		err = f.Close(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, export.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return dir, m
}

// readCSV returns the rows of a table of an export as maps, files in the order of the days.
func readCSV(t *testing.T, dir, table string) (rows []map[string]string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, table+"*.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		list, err := csv.NewReader(f).ReadAll()
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		for _, r := range list[1:] {
			row := map[string]string{}
			for i, name := range list[0] {
				row[name] = r[i]
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func allNames() (names []string) {
	for _, t := range ExportTables() {
		names = append(names, t.Name)
	}
	return names
}

// TestExport exports every table in both formats and compares the numbers of rows with those that
// the mirror wrote, and the money in the files with that of the venue.
func TestExport(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 3)
		v.run(150)
		o := v.options(dsn)
		v.mirror(o)
		dir, manifest := exportTo(t, o, export.CSV, allNames(), Range{})
		now := v.state.Venue.Now()
		if manifest.FromSeq != 1 || manifest.ToSeq != now.Seq || manifest.Chain != fmt.Sprintf("%x", v.state.At.Chain) {
			t.Errorf("the manifest is %+v, the journal is at seq %d, %x", manifest, now.Seq, v.state.At.Chain)
		}
		counts := map[string]uint64{}
		for _, f := range manifest.Files {
			counts[f.Table] += f.Rows
		}
		s, err := openStore(ctx, dsn, forWriting)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		for _, name := range allNames() {
			var rows uint64
			if err := s.reader().QueryRowContext(ctx, `SELECT count(*) FROM "`+name+`"`).Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if counts[name] != rows || rows == 0 || uint64(len(readCSV(t, dir, name))) != rows {
				t.Errorf("%s: %d rows in files, %d in the database", name, counts[name], rows)
			}
		}
		last := map[string]map[string]string{} // newest row of each ledger
		for _, r := range readCSV(t, dir, "ledger") {
			last[r["user_id"]] = r
		}
		for u := range v.state.Venue.Users() {
			cash, reserved := v.state.Venue.Balance(u.ID)
			row, sum := last[strconv.Itoa(int(u.ID))], cash+reserved
			if row == nil && sum != 0 {
				t.Errorf("account %d has %d and no ledger", u.ID, sum)
			}
			if row != nil && (row["balance_after"] != strconv.FormatInt(int64(sum), 10) || row["balance_after_usd"] != fmt.Sprintf("%d.%04d", sum/10_000, sum%10_000)) {
				t.Errorf("account %d has %d; its ledger ends with %v", u.ID, sum, row)
			}
		}
		parquetDir, other := exportTo(t, o, export.Parquet, allNames(), Range{})
		if other.Rows != manifest.Rows || len(other.Files) != len(manifest.Files) {
			t.Errorf("Parquet has %d rows in %d files, CSV %d in %d", other.Rows, len(other.Files), manifest.Rows, len(manifest.Files))
		}
		type fill struct {
			UserID int64  `parquet:"user_id"`
			N      int64  `parquet:"n"`
			Client uint64 `parquet:"client_order_id"`
			Fee    int64  `parquet:"fee"`
		}
		var fills []fill
		for _, f := range other.Files {
			if f.Table == "fills" {
				rows, err := parquet.ReadFile[fill](filepath.Join(parquetDir, f.Name))
				if err != nil {
					t.Fatal(err)
				}
				fills = append(fills, rows...)
			}
		}
		for i, r := range readCSV(t, dir, "fills") {
			if want := fmt.Sprintf("%d %d %d %d", fills[i].UserID, fills[i].N, fills[i].Client, fills[i].Fee); want != strings.Join([]string{r["user_id"], r["n"], r["client_order_id"], r["fee"]}, " ") {
				t.Fatalf("fill %d is %v in CSV and %s in Parquet", i, r, want)
			}
		}
	})
}

// TestExportOfARange checks that the exports of two ranges that meet have every row once, by seq and
// by time, and that a range without rows has no file.
func TestExportOfARange(t *testing.T) {
	t.Parallel()
	v := newVenueLog(t, 4)
	v.run(100)
	o := v.options(filepath.Join(tempDir(t), "history.db"))
	v.mirror(o)
	key := func(r map[string]string) string { return r["user_id"] + " " + r["n"] }
	all, _ := exportTo(t, o, export.CSV, []string{"ledger"}, Range{})
	want := readCSV(t, all, "ledger")
	half := want[len(want)/2]
	seq, err := strconv.ParseUint(half["seq"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	ts, err := strconv.ParseInt(half["ts"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string][2]Range{"seq": {{ToSeq: seq - 1}, {FromSeq: seq}}, "time": {{ToTs: ts}, {FromTs: ts}}} {
		var got []string
		for _, part := range r {
			dir, manifest := exportTo(t, o, export.CSV, []string{"ledger"}, part)
			if manifest.Rows == 0 || manifest.FromSeq > manifest.ToSeq {
				t.Errorf("by %s: %+v", name, manifest)
			}
			for _, row := range readCSV(t, dir, "ledger") {
				got = append(got, key(row))
			}
		}
		if len(got) != len(want) {
			t.Fatalf("by %s: %d rows in two parts, %d in all", name, len(got), len(want))
		}
		for i := range want {
			if got[i] != key(want[i]) {
				t.Fatalf("by %s: row %d is %s, want %s", name, i, got[i], key(want[i]))
			}
		}
	}
	_, empty := exportTo(t, o, export.CSV, []string{"ledger", "ticks"}, Range{FromSeq: 1 << 40, ToSeq: 1 << 41})
	if empty.Rows != 0 || len(empty.Files) != 0 {
		t.Errorf("a range beyond the journal: %+v", empty)
	}
	if _, err := Export(ctx, o, nil, Range{FromSeq: 2, ToSeq: 1}, nil, nil); !errors.Is(err, ErrEmptyRange) {
		t.Errorf("a range that ends before it begins: %v", err)
	}
	if _, err := Export(ctx, o, nil, Range{FromTs: 2, ToTs: 2}, nil, nil); !errors.Is(err, ErrEmptyRange) {
		t.Errorf("an empty range: %v", err)
	}
}

// TestExportsPartition cuts the history at random seqs and times, at those of rows, and within seconds:
// two exports that meet at the cut have together every row of every table once.
func TestExportsPartition(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 5)
		v.run(30)
		o := v.options(dsn)
		v.mirror(o)
		rowsOf := func(r Range) map[string][]string {
			dir, _ := exportTo(t, o, export.CSV, allNames(), r)
			out := map[string][]string{}
			for _, name := range allNames() {
				for _, row := range readCSV(t, dir, name) {
					out[name] = append(out[name], fmt.Sprint(row)) // a map is printed by rising key
				}
			}
			return out
		}
		want := rowsOf(Range{})
		for _, rows := range want {
			slices.Sort(rows)
		}
		last := v.state.Venue.Now()
		begin := last.Ts - 35*core.NsPerSec
		seqs, times := []uint64{2, last.Seq + 1}, []int64{last.Ts, last.Ts + core.NsPerSec}
		for range 3 {
			seqs = append(seqs, 2+v.r.Uint64N(last.Seq-2))
			at := begin + v.r.Int64N(last.Ts-begin)
			times = append(times, at, at/core.NsPerSec*core.NsPerSec)
		}
		for name, r := range map[string]func(i int) (before, after Range){
			"seq":  func(i int) (Range, Range) { return Range{ToSeq: seqs[i] - 1}, Range{FromSeq: seqs[i]} },
			"time": func(i int) (Range, Range) { return Range{ToTs: times[i]}, Range{FromTs: times[i]} },
		} {
			for i := range map[string]int{"seq": len(seqs), "time": len(times)}[name] {
				before, after := r(i)
				first, second := rowsOf(before), rowsOf(after)
				for table, rows := range want {
					got := slices.Concat(first[table], second[table])
					slices.Sort(got)
					if !slices.Equal(got, rows) {
						t.Errorf("%s: cut at %+v there are %d + %d rows, want %d", table, after, len(first[table]), len(second[table]), len(rows))
					}
				}
			}
		}
	})
}

// TestExportOfAnotherVenue checks that rows of another venue, or of a journal that went another way,
// are refused, and that a database without its journal can be exported.
func TestExportOfAnotherVenue(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 7)
		v.run(20)
		o := v.options(dsn)
		v.mirror(o)
		for _, seconds := range []int{5, 60} { // a shorter journal, and a longer one
			other := newVenueLog(t, 8)
			other.run(seconds)
			if _, err := Export(ctx, other.options(dsn), allNames(), Range{}, nil, nil); !errors.Is(err, ErrOtherVenue) {
				t.Errorf("a journal of %d s: %v", seconds, err)
			}
		}
		v.run(5) // the mirror is behind
		if _, manifest := exportTo(t, o, export.CSV, allNames(), Range{}); manifest.Rows == 0 {
			t.Error("no rows")
		}
		o.Journal = tempDir(t)
		if _, manifest := exportTo(t, o, export.CSV, allNames(), Range{}); manifest.Rows == 0 {
			t.Error("no rows without a journal")
		}
	})
}

// TestGuideQueries runs the queries of docs/guides/data.md on both databases: they are valid in each,
// and their results have equal numbers. TestDataGuide (cmd/dx) compares those of a day with the page.
func TestGuideQueries(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/guides/data.md")
	if err != nil {
		t.Fatal(err)
	}
	queries := regexp.MustCompile("(?ms)^```sql (\\w+)\n(.*?)^```\n").FindAllStringSubmatch(string(page), -1)
	results := map[string]map[string][][]string{}
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 3)
		v.run(150)
		v.mirror(v.options(dsn))
		s, err := openStore(ctx, dsn, forReading)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		for _, q := range queries {
			if q[1] == "duckdb" {
				continue
			}
			if results[q[1]] == nil {
				results[q[1]] = map[string][][]string{}
			}
			results[q[1]][t.Name()] = ask(t, s, q[2])
		}
	})
	if len(results) < 4 || len(results["profit"]) == 0 {
		t.Errorf("%d queries", len(results))
	}
	for name, of := range results {
		var first [][]string
		for database, rows := range of {
			if first == nil {
				first = rows
			}
			if !reflect.DeepEqual(rows, first) {
				t.Errorf("%s: %s has\n%v\nanother\n%v", name, database, rows, first)
			}
			if name == "profit" && len(rows) == 0 {
				t.Errorf("%s: %s has no rows", name, database)
			}
		}
	}
}

// ask returns the rows of a query; numbers have no zeros at the end.
func ask(t *testing.T, s store, query string) [][]string {
	t.Helper()
	rows, err := s.reader().QueryContext(ctx, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	out := [][]string{}
	err = eachRow(rows, func(values []any) error {
		line := make([]string, len(values))
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			line[i] = fmt.Sprint(v)
			if f, err := strconv.ParseFloat(line[i], 64); err == nil {
				line[i] = strconv.FormatFloat(f, 'f', -1, 64)
			}
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
