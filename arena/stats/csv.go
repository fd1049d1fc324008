package stats

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Runs are results from anywhere, run by run.
type Runs struct {
	Runs []Run `json:"runs"`
}

// Run is one run: its seats are tested together.
type Run struct {
	Run    string   `json:"run"`             // "" in a file without the column
	Seeds  int      `json:"seeds"`           // how many
	Seats  []Seat   `json:"seats"`           // in the order of the file
	Paired []Paired `json:"paired,omitzero"` // absent for forecasts
}

// Seat has the figures of its profits or those of its forecasts, by the columns of the file.
type Seat struct {
	Name string `json:"name"`
	*Profits
	*Forecasts
}

// Profits are the figures of a seat's profits.
type Profits struct {
	Profit Figure `json:"profit"`
	Judgement
}

// Forecasts are the figures of a seat's forecasts.
type Forecasts struct {
	Calibration *Calibration `json:"calibration"`
	Skill       *Skill       `json:"skill"` // null without a column market
}

// ReadCSV reads results and judges them. The columns are seed, seat and profit, or seed, seat, p and outcome;
// run, swing and market are optional, and others are ignored. Errors name the line or the column.
func ReadCSV(r io.Reader) (*Runs, error) {
	rows := csv.NewReader(r)
	rows.TrimLeadingSpace = true
	header, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("no line with the names of the columns: %w", err)
	}
	t := &table{column: map[string]int{}}
	for i, name := range header {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if _, twice := t.column[name]; twice {
			return nil, fmt.Errorf("column %s is there twice", name)
		}
		t.column[name] = i
	}
	_, profit := t.column["profit"]
	wanted := []string{"seed", "seat", "profit"}
	if !profit {
		wanted = []string{"seed", "seat", "p", "outcome"}
	}
	for _, name := range wanted {
		if _, ok := t.column[name]; !ok {
			return nil, fmt.Errorf("no column %s: the columns are seed, seat and profit, or seed, seat, p and outcome", name)
		}
	}
	for {
		t.fields, err = rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			t.line, _ = rows.FieldPos(0)
			err = t.add(profit)
		}
		if err != nil {
			return nil, err // of encoding/csv, it names the line, too
		}
	}
	if len(t.runs.keys) == 0 {
		return nil, errors.New("no line with a result")
	}
	return t.judge(profit)
}

// table is a file while it is read.
type table struct {
	column map[string]int
	fields []string
	line   int
	runs   ordered[string, *runRows]
}

// ordered is a map that keeps the order in which its keys came.
type ordered[K comparable, V any] struct {
	keys   []K
	values map[K]V
}

// get returns the value of a key, which it makes if there is none.
func (o *ordered[K, V]) get(key K, make func() V) V {
	v, ok := o.values[key]
	if !ok {
		if o.values == nil {
			o.values = map[K]V{}
		}
		v = make()
		o.keys, o.values[key] = append(o.keys, key), v
	}
	return v
}

// runRows are the lines of one run.
type runRows struct {
	seeds ordered[uint64, bool]
	seats ordered[string, *seatRows]
}

// seatRows are the lines of one seat.
type seatRows struct {
	profit    map[uint64]float64
	swing     float64
	forecasts map[uint64][]Forecast
}

// text returns a cell; "" without its column.
func (t *table) text(name string) string {
	if i, ok := t.column[name]; ok {
		return strings.TrimSpace(t.fields[i])
	}
	return ""
}

// mostDollars bounds an amount: the squares of larger ones lose the smaller ones.
const mostDollars = 1e12

// number returns a cell that must be a number from low to high.
func (t *table) number(name string, low, high float64) (float64, error) {
	x, err := strconv.ParseFloat(t.text(name), 64)
	if err != nil || !(x >= low && x <= high) {
		return 0, fmt.Errorf("line %d: %s %q is not a number%s", t.line, name, t.text(name), map[float64]string{1: " from 0 to 1", mostDollars: " of at most 1e12 dollars"}[high])
	}
	return x, nil
}

// add adds a line.
func (t *table) add(profit bool) error {
	seed, err := strconv.ParseUint(t.text("seed"), 10, 64)
	if err != nil {
		return fmt.Errorf("line %d: seed %q is not a whole number", t.line, t.text("seed"))
	}
	if t.text("seat") == "" {
		return fmt.Errorf("line %d: no name of a seat", t.line)
	}
	r := t.runs.get(t.text("run"), func() *runRows { return &runRows{} })
	s := r.seats.get(t.text("seat"), func() *seatRows {
		return &seatRows{profit: map[uint64]float64{}, forecasts: map[uint64][]Forecast{}}
	})
	r.seeds.get(seed, func() bool { return true })
	if !profit {
		return t.addForecast(s, seed)
	}
	if _, twice := s.profit[seed]; twice {
		return fmt.Errorf("line %d: seat %s has seed %d twice", t.line, t.text("seat"), seed)
	}
	if s.profit[seed], err = t.number("profit", -mostDollars, mostDollars); err != nil {
		return err
	}
	if t.text("swing") != "" {
		swing, err := t.number("swing", 0, mostDollars)
		if err != nil {
			return err
		}
		s.swing = max(s.swing, swing)
	}
	return nil
}

func (t *table) addForecast(s *seatRows, seed uint64) (err error) {
	f := Forecast{Market: math.NaN()}
	if f.P, err = t.number("p", 0, 1); err != nil {
		return err
	}
	outcome, err := t.number("outcome", 0, 1)
	if err != nil || outcome != 0 && outcome != 1 {
		return fmt.Errorf("line %d: outcome %q is not 0 or 1", t.line, t.text("outcome"))
	}
	f.Yes = outcome == 1
	if t.text("market") != "" {
		if f.Market, err = t.number("market", 0, 1); err != nil {
			return err
		}
	}
	s.forecasts[seed] = append(s.forecasts[seed], f)
	return nil
}

// judge judges the runs that were read.
func (t *table) judge(profit bool) (*Runs, error) {
	out := &Runs{}
	for _, name := range t.runs.keys {
		r := t.runs.values[name]
		run := Run{Run: name, Seeds: len(r.seeds.keys)}
		if !profit {
			for _, seat := range r.seats.keys {
				run.Seats = append(run.Seats, Seat{Name: seat, Forecasts: r.seats.values[seat].figures(r.seeds.keys)})
			}
			out.Runs = append(out.Runs, run)
			continue
		}
		results, err := r.results()
		if err != nil {
			return nil, err
		}
		for i, j := range Judge(results, true) {
			run.Seats = append(run.Seats, Seat{Name: results[i].Name, Profits: &Profits{FigureOf(results[i].Profits), j}})
		}
		run.Paired = Pair(results)
		out.Runs = append(out.Runs, run)
	}
	return out, nil
}

// results returns the profits of each seat in the order of the seeds, which every seat must have.
func (r *runRows) results() (list []Result, err error) {
	for _, name := range r.seats.keys {
		s := r.seats.values[name]
		x := Result{Name: name, Swing: s.swing}
		for _, seed := range r.seeds.keys {
			p, ok := s.profit[seed]
			if !ok {
				return nil, fmt.Errorf("seat %s has no seed %d, which another seat of its run has", name, seed)
			}
			x.Profits = append(x.Profits, p)
		}
		list = append(list, x)
	}
	return list, nil
}

func (s *seatRows) figures(seeds []uint64) *Forecasts {
	var all []Forecast
	var by [][]Forecast
	for _, seed := range seeds {
		all, by = append(all, s.forecasts[seed]...), append(by, s.forecasts[seed])
	}
	return &Forecasts{Calibrate(all), SkillOf(by)}
}
