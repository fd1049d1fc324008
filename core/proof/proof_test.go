package proof

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/core"
)

// TestBundles writes and checks the bundle of each settled round, and compares the outcome with
// what the test has traded.
func TestBundles(t *testing.T) {
	dir := journalDir(t)
	for _, x := range []struct {
		round  uint64
		report Report
		kinds  string // the lines, in order, without the groups and ticks between them
	}{
		{settledRound, Report{Market: 1, Category: 1, Strike: start + 1, SettlePrice: 6_500_053_400_053, Winner: core.Yes, Covered: 10, Fills: 5, Accounts: 4, Pairs: 24, Paid: 240_000},
			"open fill fill fill fill fill redeem freeze propose settlement settlement settlement settlement settle"},
		{emptyRound, Report{Market: 4, Category: 4, Strike: start, SettlePrice: 6_500_000_000_052, Winner: core.Yes, Covered: 10}, "open freeze propose settle"},
		{operatorRound, Report{Market: 10, Category: 1, Strike: 6_500_058_000_058, SettlePrice: start - 9, Winner: core.No, ByOperator: true, Fills: 1, Accounts: 2, Pairs: 12, Paid: 120_000},
			"open fill freeze propose propose settlement settlement settle"},
	} {
		b := bundle(t, dir, x.round)
		got, err := Check(bytes.NewReader(b))
		if err != nil {
			t.Errorf("round %d: %v", x.round, err)
			continue
		}
		var kinds []string
		groups := 0
		for _, r := range rowsOf(t, b) {
			switch k := kindOf(r); k {
			case "group":
				groups++
			case "tick", headerKind, "end":
			default:
				kinds = append(kinds, k)
			}
		}
		if k := strings.Join(kinds, " "); k != x.kinds || got.Groups != groups {
			t.Errorf("round %d: %s; %d groups, want %d", x.round, k, got.Groups, groups)
		}
		x.report.Round, x.report.Generation, x.report.Window = x.round, 1, 10
		x.report.Groups, x.report.First, x.report.Last, x.report.SHA256 = got.Groups, got.First, got.Last, got.SHA256
		if got != x.report || got.First.Number >= got.Last.Number {
			t.Errorf("round %d:\n%+v, want\n%+v", x.round, got, x.report)
		}
		if again := bundle(t, dir, x.round); !bytes.Equal(again, b) {
			t.Errorf("round %d: the second bundle differs from the first", x.round)
		}
	}
}

// TestPaths checks that the bundle that other tests damage has fills on all paths, with every fee
// and share.
func TestPaths(t *testing.T) {
	var seen [3]int
	var fees [4]core.Pips
	for _, r := range rowsOf(t, bundle(t, journalDir(t), settledRound)) {
		if f, ok := r.(*fillRow); ok {
			seen[f.Path]++
			for i, p := range []core.Pips{f.TakerFee, f.MakerFee, f.Rebate, f.Referral} {
				fees[i] += p
			}
		}
	}
	if slices.Contains(seen[:], 0) || slices.Contains(fees[:], 0) {
		t.Errorf("paths %v, fees %v", seen, fees)
	}
}

func TestNoBundle(t *testing.T) {
	dir := journalDir(t)
	for round, want := range map[uint64]string{
		liveRound: "round 2 is trading; a bundle is of a settled round",
		voidRound: "round 7 is void: it has no winner, and each contract was paid 5000 pips; a bundle is of a settled round",
		99:        "round 99 has not opened: the journal's last round is 1",
		0:         "rounds are numbered from 1",
	} {
		if err := Write(io.Discard, dir, round, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("round %d: %v, want %s", round, err, want)
		}
	}
	if err := Write(failing{}, dir, settledRound, nil); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("a writer that fails: %v", err)
	}
}

// TestRunningVenue asks for rounds of a venue that adds groups meanwhile. What the reader finds half
// written, or has read before it was written, is not damage.
func TestRunningVenue(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, dir)
	defer w.stop()
	w.accounts(2)
	w.do(&core.SetSession{Feed: core.BTC, Open: true})
	for round, want := range map[uint64]string{99: "round 99 has not opened", 1: "round 1 is trading"} {
		w.second(2)
		w.price(core.BTC, start)
		w.second(1)
		added := 0
		err := Write(io.Discard, dir, round, func(uint64) {
			if added < 40 { // each is a group of its own
				added++
				w.price(core.BTC, start+core.Price(added))
				w.at.Add(1)
			}
		})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("round %d: %v, want %s", round, err, want)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space") }

// TestTrimmedJournal proves a round while the venue runs, before and after snapshots have trimmed
// the journal.
func TestTrimmedJournal(t *testing.T) {
	was := wal.SegmentSizeBytes
	wal.SegmentSizeBytes = 8 << 10
	t.Cleanup(func() { wal.SegmentSizeBytes = was })
	dir := t.TempDir()
	w := newWorld(t, dir)
	defer func() { w.stop() }()
	w.accounts(2)
	w.do(&core.SetSession{Feed: core.BTC, Open: true})
	minute := func() uint64 {
		w.price(core.BTC, start)
		w.second(1)
		r := w.roundOf(1)
		w.order(1, r.Market, core.Buy, core.Yes, 5000, 5)
		w.order(2, r.Market, core.Buy, core.No, 5000, 5)
		for range 59 {
			w.second(1)
			w.price(core.BTC, start+3)
		}
		return r.Number
	}
	w.second(1)
	one := minute()
	w.second(1)
	last := minute()
	w.waitFor(one, core.Settled)
	before := bundle(t, dir, one)
	if _, err := Check(bytes.NewReader(before)); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the newest two are kept, and the log from the older one on
		if _, err := w.e.Snapshot(); err != nil {
			t.Fatal(err)
		}
		w.second(1)
		last = minute()
	}
	w.second(10)
	w.waitFor(last, core.Settled)
	if err := Write(io.Discard, dir, one, nil); err == nil || !strings.Contains(err.Error(), "round 1 is older than the journal, whose first whole round is ") {
		t.Errorf("a round that is trimmed: %v", err)
	}
	if _, err := Check(bytes.NewReader(bundle(t, dir, last))); err != nil {
		t.Error(err)
	}
}

// rowsOf decodes the lines of a bundle.
func rowsOf(t testing.TB, b []byte) (rows []row) {
	t.Helper()
	for line := range bytes.Lines(bytes.Clone(b)) {
		r, err := decode(line)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// seal encodes rows, without the end of a bundle, as a bundle with a valid digest.
func seal(t testing.TB, rows []row) []byte {
	t.Helper()
	var out bytes.Buffer
	w := newLineWriter(&out)
	for _, r := range rows {
		if _, ok := r.(*endRow); !ok {
			w.row(r)
		}
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// nth returns the nth row of a type, from 0, and its index.
func nth[R row](rows []row, n int) (R, int) {
	for i, r := range rows {
		if x, ok := r.(R); ok {
			if n == 0 {
				return x, i
			}
			n--
		}
	}
	panic("no such row")
}

// forgery changes a bundle. A forger computes the digest anew, and the chain of a group that he
// has changed.
type forgery struct {
	name   string
	forge  func(rows []row) []row
	want   string // in the error of Check
	python bool   // check_proof.py finds it too
}

func change[R row](n int, f func(R)) func([]row) []row {
	return func(rows []row) []row {
		r, _ := nth[R](rows, n)
		f(r)
		return rows
	}
}

func remove[R row](n int) func([]row) []row {
	return func(rows []row) []row {
		_, i := nth[R](rows, n)
		return slices.Delete(rows, i, i+1)
	}
}

// groupOf returns the group of the row at i.
func groupOf(rows []row, i int) *groupRow {
	for ; ; i-- {
		if g, ok := rows[i].(*groupRow); ok {
			return g
		}
	}
}

var forgeries = []forgery{
	{"nothing", func(rows []row) []row { return rows }, "", true},
	{"body", change(3, func(g *groupRow) { g.Body[len(g.Body)-1] ^= 1 }), "does not have the chain that follows", true},
	{"chain", change(3, func(g *groupRow) { g.Chain[0] ^= 1 }), "does not have the chain that follows", true},
	{"chain before", change(3, func(g *groupRow) { g.Before[0] ^= 1 }), "does not have the chain that follows", true},
	{"stamp of a group", change(3, func(g *groupRow) { g.Stamp-- }), "does not have the chain that follows", true},
	{"another history before a group", func(rows []row) []row {
		for n := 1; ; n++ {
			g, _ := nth[*groupRow](rows, n)
			if before, _ := nth[*groupRow](rows, n-1); g.Number == before.Number+1 {
				g.Before[0] ^= 1
				g.Chain = chainOf(g)
				return rows
			}
		}
	}, "does not continue the chain", true},
	{"seq of a group", change(3, func(g *groupRow) { g.Seq += 1000 }), "do not continue those of group", false},
	{"command left out", change(3, func(g *groupRow) { g.Skipped = []int{0} }), "", false},
	{"price of a tick", change(5, func(r *tickRow) { r.Price++ }), "posts the index", true},
	{"second of a tick", change(5, func(r *tickRow) { r.Second++ }), "posts the index", true},
	{"tick left out", func(rows []row) []row {
		_, freeze := nth[*freezeRow](rows, 0)
		for i := freeze; ; i-- {
			if r, ok := rows[i].(*tickRow); ok {
				return slices.DeleteFunc(rows, func(x row) bool { return x == row(r) })
			}
		}
	}, "counts, and its line is missing", true},
	{"strike", change(0, func(r *openRow) { r.Strike-- }), "the strike is", true},
	{"strike over the settle price", change(0, func(r *openRow) { r.Strike *= 2 }), "the strike is", true},
	{"category", change(0, func(r *openRow) { r.Category++ }), "not as its series does", false},
	{"close", change(0, func(r *openRow) { r.CloseTs += 60 * core.NsPerSec }), "does not open at", false},
	{"fees at the opening", change(0, func(r *openRow) { r.TakerRate = 0 }), "the fees at the opening", false},
	{"settle price of the freeze", change(0, func(r *freezeRow) { r.SettlePrice++ }), "the settle price is", true},
	{"covered seconds", change(0, func(r *freezeRow) { r.Covered-- }), "the settle price is", false},
	{"sources", change(0, func(r *freezeRow) { r.Sources++ }), "sources, and it says", false},
	{"proposed price", change(0, func(r *proposeRow) { r.SettlePrice++ }), "the proposed price is", true},
	{"operator's price without a command", change(0, func(r *proposeRow) { r.ByOperator = true }), "is not this price of an operator", false},
	{"winner", change(0, func(r *proposeRow) { r.Winner = outcome(core.No) }), "yes wins", true},
	{"winner of the settlement", change(0, func(r *settleRow) { r.Winner = outcome(core.No) }), "settles on another price or winner", true},
	{"price of the settlement", change(0, func(r *settleRow) { r.SettlePrice++ }), "settles on another price or winner", true},
	{"price of a fill", change(0, func(r *fillRow) { r.YesTick++ }), "rests at", false},
	{"quantity of a fill", change(0, func(r *fillRow) { r.Qty++ }), "", true},
	{"taker of a fill", change(0, func(r *fillRow) { r.TakerUser = 3 }), "is of another account", true},
	{"sides of a fill", change(0, func(r *fillRow) { r.TakerSide = side(core.Sell) }), "is of another account", true},
	{"maker of a fill", change(0, func(r *fillRow) { r.Maker++ }), "", false},
	{"path of a fill", change(0, func(r *fillRow) { r.Path = path(core.Merge) }), "do not meet in this way", false},
	{"fee of a taker", change(0, func(r *fillRow) { r.TakerFee-- }), "the taker's fee is", false},
	{"fee of a maker", change(0, func(r *fillRow) { r.MakerFee++ }), "the maker's fee is", false},
	{"rebate", change(0, func(r *fillRow) { r.Rebate++ }), "the rebate is", false},
	{"referral share", change(0, func(r *fillRow) { r.Referral++ }), "the referral share is", false},
	{"fill left out", remove[*fillRow](2), "does not have 2 pairs", true},
	{"fill left out, and then a sale", remove[*fillRow](1), "that it does not have", true},
	{"fill repeated", func(rows []row) []row {
		r, i := nth[*fillRow](rows, 0)
		return slices.Insert(rows, i, row(r))
	}, "", true},
	{"quantity of a redemption", change(0, func(r *redeemRow) { r.Qty-- }), "is not this redemption", true},
	{"credit of a redemption", change(0, func(r *redeemRow) { r.Credit++ }), "are worth", false},
	{"redemption left out", remove[*redeemRow](0), "by its fills", true},
	{"contracts of a settlement", change(0, func(r *settlementRow) { r.Yes++ }), "by its fills", true},
	{"payout", change(0, func(r *settlementRow) { r.Payout++ }), "is to be paid", true},
	{"account of a settlement", change(0, func(r *settlementRow) { r.User = 77 }), "has no contracts", true},
	{"settlement left out", remove[*settlementRow](0), "and no payout", true},
	{"settlement repeated", func(rows []row) []row {
		r, i := nth[*settlementRow](rows, 0)
		return slices.Insert(rows, i, row(r))
	}, "is paid twice", true},
	{"pairs", change(0, func(r *settleRow) { r.Pairs++ }), "pairs are open by the fills", true},
	{"sum of the payouts", change(0, func(r *settleRow) { r.Paid++ }), "the payouts are", true},
	{"group left out", func(rows []row) []row { // that of the first fill
		_, i := nth[*fillRow](rows, 0)
		g := groupOf(rows, i)
		return slices.DeleteFunc(rows, func(x row) bool { return x == row(g) })
	}, "is not in group", false},
	{"groups exchanged", func(rows []row) []row {
		_, i := nth[*groupRow](rows, 0)
		_, j := nth[*groupRow](rows, 1)
		k := j + 1
		for _, ok := rows[k].(*groupRow); !ok; _, ok = rows[k].(*groupRow) {
			k++
		}
		return slices.Concat(rows[:i], rows[j:k], rows[i:j], rows[k:])
	}, "follows group", false},
	{"no opening", remove[*openRow](0), "precedes the opening", true},
	{"no freeze", remove[*freezeRow](0), "precedes the freeze", true},
	{"no proposal", remove[*proposeRow](0), "precedes the proposal", true},
	{"no end", remove[*settleRow](0), "the settlement of the round is missing", true},
}

// forged returns the bundle of the settled round as a forger writes it.
func forged(t *testing.T, f forgery) []byte {
	return seal(t, f.forge(rowsOf(t, bundle(t, journalDir(t), settledRound))))
}

func TestForgeries(t *testing.T) {
	for _, f := range forgeries {
		_, err := Check(bytes.NewReader(forged(t, f)))
		if f.name == "nothing" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%s: %v, want %q", f.name, err, f.want)
		} else if strings.Contains(err.Error(), "the file has been changed") {
			t.Errorf("%s: the digest does not hold: %v", f.name, err)
		}
	}
}

// TestNumberIsNotBound checks what docs/guides/data.md says: the number of the round is the writer's
// word. The checks of the other fields are those of TestForgeries.
func TestNumberIsNotBound(t *testing.T) {
	rows := rowsOf(t, bundle(t, journalDir(t), settledRound))
	h, _ := nth[*headerRow](rows, 0)
	h.Round++
	if out, err := Check(bytes.NewReader(seal(t, rows))); err != nil || out.Round != settledRound+1 {
		t.Errorf("round %d: %v", out.Round, err)
	}
}

// TestPython runs the checker of the examples on the same bundles.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	dir, n := t.TempDir(), 0
	cases := map[string]bool{} // by path: whether the bundle is good
	add := func(name string, b []byte, good bool) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n, " ", name))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		cases[path] = good
	}
	for _, f := range forgeries {
		if f.python {
			add(f.name, forged(t, f), f.name == "nothing")
		}
	}
	for name, damaged := range damages(bundle(t, journalDir(t), settledRound)) {
		add(name, damaged, false)
	}
	for _, round := range []uint64{settledRound, emptyRound, operatorRound} {
		add(fmt.Sprint("round ", round), bundle(t, journalDir(t), round), true)
	}
	// The go command repeats a test when a file that it has read changes, and does not see what a child reads.
	const program = "../../examples/python/check_proof.py"
	if _, err := os.ReadFile(program); err != nil {
		t.Fatal(err)
	}
	// One process checks all files, because a Python takes longer to start than to check.
	const all = `import runpy, sys
program, files = sys.argv[1], sys.argv[2:]
for f in files:
    sys.argv = [program, f]
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as e:
        print(e)`
	out, err := exec.Command(python, append([]string{"-B", "-c", all, program}, slices.Sorted(maps.Keys(cases))...)...).CombinedOutput()
	lines := slices.Collect(strings.Lines(string(out)))
	if err != nil || len(lines) != len(cases) {
		t.Fatalf("the Python checker fails: %v\n%s", err, out)
	}
	for i, path := range slices.Sorted(maps.Keys(cases)) {
		if good := strings.Contains(lines[i], " agrees: "); good != cases[path] || !good && !strings.Contains(lines[i], "does not hold") {
			t.Errorf("the Python checker says of %s: %s, want agrees only for a true bundle", filepath.Base(path), lines[i])
		}
	}
}

// damages returns files that are no bundles of this version.
func damages(b []byte) map[string][]byte {
	lines := slices.Collect(bytes.Lines(b))
	return map[string][]byte{
		"an empty file":     {},
		"an empty line":     []byte("\n"),
		"another file":      []byte("{\"a\":1}\n{\"b\":2}\n{}\n"),
		"another version":   bytes.Replace(b, []byte(`"version":1`), []byte(`"version":2`), 1),
		"no last newline":   b[:len(b)-1],
		"no end":            bytes.Join(lines[:len(lines)-1], nil),
		"a byte more":       append(slices.Clone(b), '\n'),
		"a line twice":      slices.Concat(bytes.Join(lines[:9], nil), bytes.Join(lines[8:], nil)),
		"another digest":    slices.Concat(bytes.Join(lines[:len(lines)-1], nil), bytes.ToUpper(lines[len(lines)-1])),
		"two bundles":       slices.Concat(b, b),
		"a price in place":  bytes.Replace(b, []byte(`"strike":65`), []byte(`"strike":66`), 1),
		"carriage returns":  bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")),
		"half of the bytes": b[:len(b)/2],
	}
}

func TestDamages(t *testing.T) {
	b := bundle(t, journalDir(t), settledRound)
	want := map[string]string{
		"an empty file": "not a proof bundle", "an empty line": "not a proof bundle", "another file": "not a proof bundle",
		"another version": "the bundle has version 2, and this program reads version 1",
		"no last newline": "has been cut", "no end": "has been cut", "half of the bytes": "has been cut",
		"a byte more": "the bundle has ended before it", "two bundles": "the bundle has ended before it", "another digest": "line ",
		"a line twice": "the file has been changed", "a price in place": "the file has been changed", "carriage returns": "line ",
	}
	for name, damaged := range damages(b) {
		if _, err := Check(bytes.NewReader(damaged)); err == nil || !strings.Contains(err.Error(), want[name]) {
			t.Errorf("%s: %v, want %q", name, err, want[name])
		}
	}
	_, err := Check(bytes.NewReader(damages(b)["a price in place"]))
	if err == nil || !strings.Contains(err.Error(), "the strike is") {
		t.Errorf("the error does not name the line: %v", err)
	}
}

// TestEveryByte changes one bit of each byte of a bundle, leaves the byte out, and doubles it. Of a round
// with fills it takes the lines that other rounds do not have, in one of the three ways; with DX_LONG
// every byte in all of them.
func TestEveryByte(t *testing.T) {
	for _, round := range []uint64{emptyRound, settledRound} {
		b := bundle(t, journalDir(t), round)
		r := rand.New(rand.NewPCG(1, uint64(len(b))))
		every := round == emptyRound || os.Getenv("DX_LONG") != ""
		tried := 0
		for at, line := 0, []byte(nil); at < len(b); at += len(line) {
			line = b[at : at+1+bytes.IndexByte(b[at:], '\n')]
			if !every && !oneOf(line, "fill", "redeem", "settlement") {
				continue
			}
			for i := at; i < at+len(line); i++ {
				flipped := slices.Clone(b)
				flipped[i] ^= 1 << r.IntN(8)
				damages := []struct {
					name string
					file []byte
				}{{"flipped", flipped}, {"left out", slices.Delete(slices.Clone(b), i, i+1)}, {"doubled", slices.Insert(slices.Clone(b), i, b[i])}}
				for k, d := range damages {
					if !every && k != i%len(damages) {
						continue
					}
					tried++
					if _, err := Check(bytes.NewReader(d.file)); err == nil || err.Error() == "" {
						t.Fatalf("round %d: byte %d, %q, is %s, and the check passes", round, i, b[i], d.name)
					}
				}
			}
		}
		for i, c := range b {
			if c == '\n' && i+1 < len(b) {
				if _, err := Check(bytes.NewReader(b[:i+1])); err == nil || !strings.Contains(err.Error(), "has been cut") {
					t.Fatalf("round %d: the first %d bytes: %v", round, i+1, err)
				}
			}
		}
		t.Logf("round %d: %d of the damages of %d bytes", round, tried, len(b))
		if tried < 1000 {
			t.Errorf("round %d: only %d damages", round, tried)
		}
	}
}

// oneOf reports whether a line has one of several kinds.
func oneOf(line []byte, kinds ...string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool { return bytes.HasPrefix(line, []byte(`{"kind":"`+kind+`"`)) })
}

// TestCheckIsIndependent checks that the files of the check import no package that computes what
// they recompute.
func TestCheckIsIndependent(t *testing.T) {
	for _, file := range []string{"check.go", "settle.go", "format.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if p := strings.Trim(i.Path.Value, `"`); strings.HasPrefix(p, "duplex/") && p != "duplex/core" && p != "duplex/core/journal" {
				t.Errorf("%s imports %s", file, p)
			}
		}
	}
}

// endless is a reader whose line never ends. It counts its bytes.
type endless int

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	*e += endless(len(b))
	return len(b), nil
}

func TestEndlessLine(t *testing.T) {
	for start, want := range map[string]string{"": "line 1: it is longer than", "{\"kind\":\"duplex proof\",\"version\":1,\"round\":1}\n": "line 2: it is longer than"} {
		e := new(endless)
		if _, err := Check(io.MultiReader(strings.NewReader(start), e)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", start, err, want)
		}
		if *e > 2*lineMax {
			t.Errorf("%d bytes are read of a line", *e)
		}
	}
}

// FuzzCheck checks arbitrary files: as they are, and with a header and a valid end, so that the
// lines between are reached. Check must not panic, and accepts no line that encode would not write.
func FuzzCheck(f *testing.F) {
	rows := rowsOf(f, bundle(f, journalDir(f), settledRound))
	for i := range rows {
		line, err := encode(rows[i])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	_, freeze := nth[*freezeRow](rows, 0)
	for _, to := range []int{9, freeze, len(rows) - 1} {
		f.Add(slices.Concat(encoded(f, rows[1:to])...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = Check(bytes.NewReader(b))
		header, _ := encode(&headerRow{Version: Version, Round: 1})
		b = append(header, b...)
		sum := sha256.Sum256(b)
		end, _ := encode(&endRow{Lines: bytes.Count(b, []byte("\n")) + 1, SHA256: sum})
		b = append(b, end...)
		r, err := Check(bytes.NewReader(b))
		if err != nil {
			return
		}
		if again := seal(t, rowsOf(t, b)); !bytes.Equal(again, b) || r.Paid != core.Payout*core.Pips(r.Pairs) {
			t.Errorf("accepted: %s", b)
		}
	})
}

func encoded(t testing.TB, rows []row) (lines [][]byte) {
	t.Helper()
	for _, r := range rows {
		line, err := encode(r)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}
