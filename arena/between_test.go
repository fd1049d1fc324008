package arena

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"duplex/arena/stats"
	"duplex/core/export"
)

// TestBetweenSeats tests what seats win from each other against the exported fills, and that tests and verdicts
// are about what is left: a seat that loses to another on purpose makes nobody skilled.
func TestBetweenSeats(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "csv")
	r := mustRun(t, testConfig(t, func(c *Config) { c.Seeds, c.Rounds = "1..5", 4 }), Options{Dir: dir, Jobs: 2})
	if err := Export(dir, out, export.Options{Format: export.CSV}, nil); err != nil {
		t.Fatal(err)
	}
	want := map[[2]string]*Between{}
	for _, seed := range r.Seeds {
		addFills(t, filepath.Join(out, strconv.FormatUint(seed, 10)), want)
	}
	if len(r.Between) == 0 || len(r.Between) != len(want) {
		t.Fatalf("%d pairs of seats traded, the exported fills have %d", len(r.Between), len(want))
	}
	sum := map[string]float64{}
	for _, b := range r.Between {
		w := want[[2]string{b.Seat, b.Other}]
		if w == nil || w.Contracts != b.Contracts || math.Abs(w.Dollars-b.Dollars) > 1e-6 {
			t.Errorf("%+v, the exported fills have %+v", b, w)
		}
		sum[b.Seat] += b.Dollars
		sum[b.Other] -= b.Dollars
	}
	for i, s := range r.Seats {
		if math.Abs(s.FromSeats.Mean-sum[s.Name]/float64(len(r.Seeds))) > 2e-6 || math.Abs(s.ProfitOwn.Mean+s.FromSeats.Mean-s.Profit.Mean) > 2e-6 {
			t.Errorf("seat %s: profit %v, own %v, from seats %v, want %v from seats", s.Name, s.Profit.Mean, s.ProfitOwn.Mean, s.FromSeats.Mean, sum[s.Name]/float64(len(r.Seeds)))
		}
		if got := stats.FigureOf(r.results[i].Profits).Mean; got != s.ProfitOwn.Mean {
			t.Errorf("seat %s: the tests are about a mean of %v, want its own profit %v", s.Name, got, s.ProfitOwn.Mean)
		}
	}
	if p := r.Paired[0]; len(r.Paired) != 10 || math.Abs(p.Profit.Mean-(r.Seats[0].ProfitOwn.Mean-r.Seats[1].ProfitOwn.Mean)) > 2e-6 {
		t.Errorf("%d pairs, the first %+v: want each two of five seats, by their own profits", len(r.Paired), p)
	}
}

// addFills adds the fills between seats of an exported seed, whose rounds must be settled: the row of a maker that
// is a seat follows that of the taker if the taker is one.
func addFills(t *testing.T, dir string, pairs map[[2]string]*Between) {
	t.Helper()
	names := []string{"hold", "random", "mid", "fair", "maker"}
	winner := map[[2]string]string{}
	for _, r := range table(t, filepath.Join(dir, "rounds.csv")) {
		winner[[2]string{r["market_id"], r["generation"]}] = r["winner"]
	}
	var before map[string]string
	for _, r := range table(t, filepath.Join(dir, "fills.csv")) {
		if before != nil && before["seq"] == r["seq"] && before["role"] == "taker" && r["role"] == "maker" {
			price, qty := number(t, before["tick_yes"])/10_000, number(t, before["qty"])
			if before["outcome"] == "no" {
				price = 1 - price
			}
			won := -price
			if winner[[2]string{r["market_id"], r["generation"]}] == before["outcome"] {
				won++
			}
			if before["side"] == "sell" {
				won = -won
			}
			taker, maker := before["seat"], r["seat"]
			if slices.Index(names, taker) > slices.Index(names, maker) {
				taker, maker, won = maker, taker, -won
			}
			key := [2]string{taker, maker}
			if pairs[key] == nil {
				pairs[key] = &Between{}
			}
			pairs[key].Contracts += int64(qty)
			pairs[key].Dollars += won * qty
		}
		before = r
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// table reads a CSV file, row by row.
func table(t *testing.T, path string) (rows []map[string]string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, fields := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = fields[i]
		}
		rows = append(rows, row)
	}
	return rows
}
