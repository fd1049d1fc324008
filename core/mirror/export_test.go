package mirror

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"duplex/core"
	"duplex/core/export"
)

// exportTo exports tables and returns the manifest on disk.
func exportTo(t *testing.T, o Options, format export.Format, names []string, r Range) (dir string, m export.Manifest) {
	t.Helper()
	dir = tempDir(t)
	if err := exportInto(dir, o, export.Options{Format: format, Raw: true}, names, r); err != nil {
		t.Fatal(err)
	}
	return dir, manifestOf(t, dir)
}

func exportInto(dir string, o Options, how export.Options, names []string, r Range) error {
	f, err := export.Create(dir, how)
	if err != nil {
		return err
	}
	m, err := Export(ctx, o, names, r, f, nil)
	if err == nil {
		err = f.Close(m)
	}
	if err != nil {
		return errors.Join(err, f.Abort())
	}
	return nil
}

func manifestOf(t *testing.T, dir string) (m export.Manifest) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, export.ManifestName))
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
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
		for _, table := range ExportTables() {
			want, got := readCSV(t, dir, table.Name), readParquet(t, parquetDir, table)
			if len(got) != len(want) {
				t.Fatalf("%s has %d rows in Parquet, %d in CSV", table.Name, len(got), len(want))
			}
			for i, row := range want {
				for _, c := range table.Columns {
					if c.Kind != export.Time {
						continue
					}
					ns, err := strconv.ParseInt(row[c.Name], 10, 64)
					if text := time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z"); err != nil || row[c.Name+"_iso"] != text && (ns != 0 || row[c.Name+"_iso"] != "") {
						t.Fatalf("%s, row %d: %s is %q, and %q in RFC 3339", table.Name, i, c.Name, row[c.Name], row[c.Name+"_iso"])
					}
					delete(row, c.Name+"_iso")
				}
				if !maps.Equal(got[i], row) {
					t.Fatalf("%s, row %d is\n%v in Parquet, and\n%v in CSV", table.Name, i, got[i], row)
				}
			}
		}
	})
}

// readParquet returns the rows of a table of an export as readCSV does: null is "".
func readParquet(t *testing.T, dir string, table export.Table) (rows []map[string]string) {
	t.Helper()
	kinds := map[string]export.Kind{}
	for _, c := range table.Columns {
		if kinds[c.Name] = c.Kind; c.Kind == export.Money {
			kinds[c.Name+"_usd"] = c.Kind
		}
	}
	paths, err := filepath.Glob(filepath.Join(dir, table.Name+"*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if rest := strings.TrimPrefix(filepath.Base(path), table.Name); rest[0] != '-' && rest[0] != '.' {
			continue // a table whose name begins alike
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		columns := f.Schema().Columns()
		r := parquet.NewReader(f)
		for range f.NumRows() {
			var one [1]parquet.Row
			if n, err := r.ReadRows(one[:]); n != 1 {
				t.Fatal(path, err)
			}
			row := map[string]string{}
			for _, v := range one[0] {
				name := columns[v.Column()][0]
				text := ""
				switch kind := kinds[name]; {
				case v.IsNull():
				case kind == export.Text:
					if text = string(v.ByteArray()); text == "" {
						t.Fatalf("%s: %s has an empty text, want null", path, name)
					}
				case kind == export.Bool:
					text = strconv.FormatBool(v.Boolean())
				case kind == export.Uint:
					text = strconv.FormatUint(v.Uint64(), 10)
				case strings.HasSuffix(name, "_usd"):
					if text = fmt.Sprintf("%d.%04d", max(v.Int64(), -v.Int64())/10_000, max(v.Int64(), -v.Int64())%10_000); v.Int64() < 0 {
						text = "-" + text
					}
				default:
					text = strconv.FormatInt(v.Int64(), 10)
				}
				row[name] = text
			}
			rows = append(rows, row)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// TestExportOfDays exports a venue whose day has ended, and marks what is not complete: the day of the cursor, a
// day that the range cuts, and a table without a time. The days go into one folder.
func TestExportOfDays(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 6)
		v.run(30)
		const dayNs = 86_400 * core.NsPerSec
		midnight := v.now/dayNs*dayNs + dayNs
		v.now = midnight - 25*core.NsPerSec + 7
		v.run(24)
		o := v.options(dsn)
		v.mirror(o)
		first, second := time.Unix(0, midnight-1).UTC().Format(time.DateOnly), time.Unix(0, midnight).UTC().Format(time.DateOnly)
		open := tempDir(t)
		if err := exportInto(open, o, export.Options{Format: export.CSV}, allNames(), Range{}); err != nil {
			t.Fatal(err)
		}
		for _, f := range manifestOf(t, open).Files {
			if f.Complete || f.Day != "" && f.Day != first {
				t.Errorf("before the end of the day: %+v, want no complete file", f)
			}
		}
		before := v.state.Venue.Now().Seq
		v.run(3)
		v.mirror(o)
		_, soon := exportTo(t, o, export.CSV, []string{"fills", "evidence"}, Range{})
		for _, f := range soon.Files { // an opening and a freeze still add evidence
			if want := f.Day == first && f.Table == "fills"; f.Complete != want {
				t.Errorf("2 s after the end of the day: %+v, want complete %v", f, want)
			}
		}
		v.run(100) // the round that was open at midnight has ended, and its evidence is there
		v.mirror(o)
		days := tempDir(t)
		parquet := export.Options{Format: export.Parquet, Codec: export.Snappy}
		for _, r := range []Range{{ToTs: midnight}, {FromTs: midnight}} {
			if err := exportInto(days, o, parquet, allNames(), r); err != nil {
				t.Fatal(err)
			}
		}
		parts := tempDir(t) // rounds of an account have no day
		middle := (before + v.state.Venue.Now().Seq) / 2
		for _, r := range []Range{{ToSeq: middle}, {FromSeq: middle + 1}} {
			if err := exportInto(parts, o, parquet, []string{"user_rounds"}, r); err != nil {
				t.Fatal(err)
			}
		}
		if files := manifestOf(t, parts).Files; len(files) != 2 || files[0].Name != fmt.Sprintf("user_rounds-1-%d.parquet", middle) || files[0].Rows == 0 || files[1].Rows == 0 {
			t.Errorf("two parts of a table without days: %+v", files)
		}
		_, all := exportTo(t, o, export.Parquet, slices.DeleteFunc(allNames(), func(name string) bool { return name == "user_rounds" }), Range{})
		_, bySeq := exportTo(t, o, export.Parquet, allNames(), Range{FromSeq: 2, ToSeq: before})
		_, cut := exportTo(t, o, export.Parquet, allNames(), Range{FromTs: midnight - 5*core.NsPerSec, ToTs: midnight + 1})
		type key struct{ table, day string }
		rows, complete := map[key]uint64{}, map[key]bool{}
		for _, f := range all.Files {
			k := key{f.Table, f.Day}
			if rows[k] += f.Rows; f.Complete != (f.Day == first) {
				t.Errorf("all: %+v, want %s alone to be complete", f, first)
			}
		}
		if rows[key{"fills", first}] == 0 || rows[key{"fills", second}] == 0 || rows[key{"evidence", first}] == 0 {
			t.Fatalf("the rows are %v", rows)
		}
		var total uint64
		for _, f := range manifestOf(t, days).Files {
			if f.Table == "user_rounds" {
				if f.Complete || f.Day != "" {
					t.Errorf("%+v, want a file without a day, which is not complete", f)
				}
				continue
			}
			total += f.Rows
			if k := (key{f.Table, f.Day}); f.Complete != (f.Day == first) || f.Rows != rows[k] {
				t.Errorf("by day: %+v, want %d rows, and %s complete", f, rows[k], first)
			}
		}
		if total != all.Rows {
			t.Errorf("the days have %d rows, want %d", total, all.Rows)
		}
		for _, f := range bySeq.Files { // it ends at the last command of the day, and begins after the first
			k := key{f.Table, f.Day}
			if complete[k] = f.Complete; f.Complete && f.Rows != rows[k] {
				t.Errorf("by seq: %+v, want %d rows of a complete day", f, rows[k])
			}
		}
		if !complete[key{"fills", first}] || complete[key{"actions", first}] {
			t.Errorf("by seq, complete are %v, want fills, and not actions, whose first row is of seq 1", complete)
		}
		for _, f := range cut.Files {
			if f.Complete {
				t.Errorf("cut by time: %+v, want that it is not complete", f)
			}
		}
	})
}

// TestExportOfALaterMirror checks that the day in which a mirror begins is not complete, and the next one is.
func TestExportOfALaterMirror(t *testing.T) {
	t.Parallel()
	v := newVenueLog(t, 9)
	v.run(100)
	v.snapshot(true)
	const dayNs = 86_400 * core.NsPerSec
	for range 2 {
		v.run(10)
		v.now = v.now/dayNs*dayNs + dayNs
	}
	v.run(10)
	o := v.options(SQLitePath(tempDir(t)))
	v.mirror(o)
	_, m := exportTo(t, o, export.CSV, []string{"ticks"}, Range{})
	if m.FromSeq == 1 || len(m.Files) != 3 || m.Files[0].Complete || !m.Files[1].Complete || m.Files[2].Complete {
		t.Errorf("the manifest is %+v, want a first day without its beginning, a complete one, and an open one", m)
	}
}

// TestExportOfOtherJournal checks that a folder gets rows of one journal alone: its newest export is known by the
// group of the journal, and by an action in the mirror after the journal was trimmed or lost.
func TestExportOfOtherJournal(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v, other := newVenueLog(t, 7), newVenueLog(t, 8)
		v.run(20)
		other.run(40)
		o := v.options(dsn)
		v.mirror(o)
		dir, csv := tempDir(t), export.Options{Format: export.CSV}
		if err := exportInto(dir, o, csv, []string{"fills"}, Range{}); err != nil {
			t.Fatal(err)
		}
		theirs := other.options(SQLitePath(tempDir(t)))
		other.mirror(theirs)
		names := func() (out []string) {
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				out = append(out, e.Name())
			}
			return out
		}
		was := names()
		refused := func(what string, o Options) {
			t.Helper()
			if err := exportInto(dir, o, csv, []string{"ledger"}, Range{}); !errors.Is(err, ErrOtherExports) {
				t.Errorf("%s: %v, want that the folder has exports of another journal", what, err)
			}
			if now := names(); !slices.Equal(now, was) {
				t.Errorf("%s: the folder has %v, want %v", what, now, was)
			}
		}
		refused("another venue", theirs)
		lost := theirs
		lost.Journal = tempDir(t)
		if m := manifestOf(t, dir); m.LastAction == nil || m.Group == 0 {
			t.Fatalf("the manifest has no position: %+v", m)
		}
		v.run(5)
		v.mirror(o)
		if err := exportInto(dir, o, csv, []string{"ledger"}, Range{}); err != nil {
			t.Errorf("the same venue, later: %v", err)
		}
		was = names()
		o.Journal = tempDir(t)
		if err := exportInto(dir, o, csv, []string{"trades"}, Range{}); err != nil { // the same cursor
			t.Errorf("the same venue without its journal: %v", err)
		}
		o.Journal = v.dir
		v.run(5)
		v.mirror(o)
		o.Journal = tempDir(t)
		if err := exportInto(dir, o, csv, []string{"users"}, Range{}); err != nil { // known by the action
			t.Errorf("the same venue, later, without its journal: %v", err)
		}
		was = names()
		refused("another venue without its journal", lost)
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
