package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestFiguresAgreeWithPython compares intervals, tests and calibrations with an implementation in Python, which
// integrates the density of Student's t itself.
func TestFiguresAgreeWithPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	program, err := os.ReadFile("testdata/stats.py") // read here: the go command does not see what a child reads
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{
		"skill": "seed,seat,profit,swing\n" + lines(30, "%d,a,%d,3", func(i int) (int, int) { return i, 2 + i*i%11 }) + lines(30, "%d,b,%d,5", func(i int) (int, int) { return i, i*7%13 - 6 }),
		"few":   "seed,seat,profit\n" + lines(7, "%d,a,%d", func(i int) (int, int) { return i, i * i % 5 }),
		"skew":  "seed,seat,profit,swing,run\n" + lines(25, "%d,a,%d,1,x", func(i int) (int, int) { return i, map[bool]int{true: -30}[i == 7] + 9 }),
		"p":     "seed,seat,p,outcome,market\n" + forecastLines(400),
	} {
		cmd := exec.Command(python, "-c", string(program))
		cmd.Stdin = strings.NewReader(file)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var want map[string]map[string]any
		if err := json.Unmarshal(out, &want); err != nil {
			t.Fatal(err)
		}
		runs, err := ReadCSV(strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		for i := range runs.Runs[0].Seats {
			s := &runs.Runs[0].Seats[i]
			b, _ := json.Marshal(s)
			var have map[string]any
			_ = json.Unmarshal(b, &have)
			for k, w := range want[s.Name] {
				if !agree(have[k], w) {
					t.Errorf("%s, seat %s: %s is %v, Python has %v", name, s.Name, k, have[k], w)
				}
			}
		}
	}
}

func lines(n int, format string, f func(int) (int, int)) string {
	var b strings.Builder
	for i := range n {
		x, y := f(i + 1)
		fmt.Fprintf(&b, format+"\n", x, y)
	}
	return b.String()
}

func forecastLines(n int) string {
	var b strings.Builder
	for i := range n {
		p := float64(i*37%101) / 100
		fmt.Fprintf(&b, "%d,a,%g,%d,%g\n", i%9, p, (i*i+i/3)%7/4, float64(i*53%101)/100)
	}
	return b.String()
}

// agree reports whether two JSON values agree to 2e-6.
func agree(a, b any) bool {
	switch x := a.(type) {
	case float64:
		y, ok := b.(float64)
		return ok && math.Abs(x-y) <= 2e-6
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, agree)
	case map[string]any:
		y, ok := b.(map[string]any)
		for k := range x {
			ok = ok && agree(x[k], y[k])
		}
		return ok && len(x) == len(y)
	}
	return reflect.DeepEqual(a, b)
}

// TestVerdicts tests each verdict, and which holds first.
func TestVerdicts(t *testing.T) {
	profits := func(n int, f func(i int) float64) (out []float64) {
		for i := range n {
			out = append(out, f(i))
		}
		return out
	}
	always := func(x float64) func(int) float64 { return func(int) float64 { return x } }
	edge := func(i int) float64 { return 10 + float64(i%5) }
	loss := func(i int) float64 { return -edge(i) }
	rare := func(i int) float64 { // wins 5 of 6 times by far less than it loses once, and is far above 0
		if i == 3 {
			return -20
		}
		return 10 + float64(i%2)
	}
	for name, x := range map[string]struct {
		seats   []Result
		lacks   bool
		verdict string
		more    int
	}{
		"profit":                     {seats: []Result{{Profits: profits(30, edge), Swing: 5}}, verdict: Profit},
		"loss":                       {seats: []Result{{Profits: profits(30, loss), Swing: 5}}, verdict: Loss},
		"no evidence":                {seats: []Result{{Profits: profits(30, func(i int) float64 { return float64(i%2)*2 - 1 })}}, verdict: NoEvidence},
		"the largest bet counts":     {seats: []Result{{Profits: profits(30, edge), Swing: 5000}}, verdict: NoEvidence},
		"a seed is not enough":       {seats: []Result{{Profits: profits(1, edge)}}, verdict: TooFew, more: 19},
		"nineteen are not enough":    {seats: []Result{{Profits: profits(19, edge)}}, verdict: TooFew, more: 1},
		"never trades":               {seats: []Result{{Profits: profits(2, always(0))}}, verdict: Flat},
		"the same in every seed":     {seats: []Result{{Profits: profits(30, always(3)), Swing: 1}}, verdict: Flat},
		"lacks seeds":                {seats: []Result{{Profits: profits(30, edge)}}, lacks: true, verdict: Incomplete},
		"incomplete before failed":   {seats: []Result{{Profits: profits(30, edge), Out: Failed}}, lacks: true, verdict: Incomplete},
		"failed before flat":         {seats: []Result{{Profits: profits(30, always(0)), Out: Failed}}, verdict: Failed},
		"mixed agents":               {seats: []Result{{Profits: profits(30, edge), Out: MixedAgents}}, verdict: MixedAgents},
		"a skew against the verdict": {seats: []Result{{Profits: profits(24, rare), Swing: 20}}, verdict: TooFew, more: 516 - 24},
	} {
		j := Judge(x.seats, !x.lacks)[0]
		if j.Verdict != x.verdict || j.More != x.more {
			t.Errorf("%s: %q and %d more, want %q and %d", name, j.Verdict, j.More, x.verdict, x.more)
		}
		if out := x.seats[0].Out != ""; out && j.P != nil {
			t.Errorf("%s: a seat that is out has p %v", name, *j.P)
		}
	}
}

// TestFamilies tests that seats that are out of the tests do not make those of others harder, and that the
// corrected p rises with the number of seats.
func TestFamilies(t *testing.T) {
	seat := func(name string, shift float64) Result {
		r := Result{Name: name}
		for i := range 20 {
			r.Profits = append(r.Profits, shift+float64(i*7%11-5))
		}
		return r
	}
	one := Judge([]Result{seat("a", 2)}, true)[0]
	failed := seat("b", 2)
	failed.Out = Failed
	if beside := Judge([]Result{seat("a", 2), failed}, true)[0]; *beside.Corrected != *one.Corrected {
		t.Errorf("beside a seat that failed: p_corrected %v, alone %v", *beside.Corrected, *one.Corrected)
	}
	two := Judge([]Result{seat("a", 2), seat("b", 0.1)}, true)
	if math.Abs(*two[0].Corrected-2**one.Corrected) > 2e-6 || *two[1].Corrected < *two[0].Corrected {
		t.Errorf("of two seats: p_corrected %v and %v, alone %v", *two[0].Corrected, *two[1].Corrected, *one.Corrected)
	}
	if pairs := Pair([]Result{seat("a", 2), failed, seat("c", 0)}); len(pairs) != 1 || pairs[0].Seat != "a" || pairs[0].Other != "c" || pairs[0].Profit.Mean != 2 || pairs[0].P != nil || pairs[0].Order != 0.5 {
		t.Errorf("pairs %+v, want a and c alone, with equal differences", pairs)
	}
}

// TestCalibration tests the cases for which the calibration was wrong when it was a mean over seeds: a perfect
// forecaster is near 0, and whoever always says half is judged by the share of YES.
func TestCalibration(t *testing.T) {
	var perfect, half []Forecast
	for i := range 10_000 {
		p := float64(i%10)/10 + 0.05
		yes := float64(i/10%1000)/1000 < p
		perfect, half = append(perfect, Forecast{p, 0.5, yes}), append(half, Forecast{0.5, 0.5, i%2 == 0})
	}
	if c := Calibrate(perfect); c.ECE > 0.001 || c.Error > 0.001 || c.N != 10_000 || math.Abs(c.Reliability-c.Resolution+c.Uncertainty-c.Brier) > 0.001 {
		t.Errorf("a perfect forecaster: %+v", c)
	}
	if c := Calibrate(half); c.ECE != 0 || c.Brier != 0.25 || c.Bins[5].N != 10_000 || c.Bins[4].P != nil {
		t.Errorf("always half: %+v", c)
	}
	if Calibrate(nil) != nil || SkillOf([][]Forecast{nil, nil}) != nil {
		t.Error("figures without forecasts")
	}
	if c := Calibrate([]Forecast{{P: 1, Yes: true}}); c.Brier != 0 || c.Uncertainty != 0 || c.Bins[9].N != 1 {
		t.Errorf("one forecast: %+v", c)
	}
	if s := SkillOf([][]Forecast{{{0.9, 0.5, true}}, {{0.1, 0.5, true}}}); s.Mean != Round((0.25-0.01+0.25-0.81)/2) || s.P == nil {
		t.Errorf("skill %+v", s)
	}
}

// TestBadFiles tests that a file with an error is refused with its line or column.
func TestBadFiles(t *testing.T) {
	for _, x := range []struct{ file, want string }{
		{"", "no line with the names"},
		{"seed,seat\n1,a\n", "no column p"},
		{"seat,profit\na,1\n", "no column seed"},
		{"seed,seat,profit,profit\n1,a,1,1\n", "column profit is there twice"},
		{"seed,seat,profit\n", "no line with a result"},
		{"seed,seat,profit\n1,a,1\n2,a,x\n", `line 3: profit "x" is not a number`},
		{"seed,seat,profit\n1,a,NaN\n", "line 2: profit"},
		{"seed,seat,profit\n1,a,Inf\n", "line 2: profit"},
		{"seed,seat,profit\n1,a,1e308\n", "line 2: profit \"1e308\" is not a number of at most 1e12"},
		{"seed,seat,profit\n-1,a,1\n", "line 2: seed"},
		{"seed,seat,profit\n1,,1\n", "line 2: no name of a seat"},
		{"seed,seat,profit\n1,a,1\n1,a,2\n", "line 3: seat a has seed 1 twice"},
		{"seed,seat,profit\n1,a,1\n2,a,1\n2,b,1\n", "seat b has no seed 1"},
		{"seed,seat,profit\n1,a\n", "line 2"},
		{"seed,seat,profit,swing\n1,a,1,-2\n", "line 2: swing"},
		{"seed,seat,p,outcome\n1,a,60,1\n", `line 2: p "60" is not a number from 0 to 1`},
		{"seed,seat,p,outcome\n1,a,0.6,0.5\n", "line 2: outcome"},
		{"seed,seat,p,outcome,market\n1,a,0.6,1,2\n", "line 2: market"},
	} {
		if _, err := ReadCSV(strings.NewReader(x.file)); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: %v, want %q", x.file, err, x.want)
		}
	}
	runs, err := ReadCSV(strings.NewReader("run,seed,seat,profit\ny,1,a,1\nx,7,b,2\ny,2,a,4\n"))
	if b, _ := json.Marshal(runs); !strings.Contains(string(b), `"paired":[]`) {
		t.Errorf("runs of one seat are %s, want an empty list of pairs", b)
	}
	if err != nil || len(runs.Runs) != 2 || runs.Runs[0].Run != "y" || runs.Runs[0].Seeds != 2 || runs.Runs[1].Seats[0].Name != "b" {
		t.Errorf("%+v, %v, want the runs y and x", runs, err)
	}
}

// TestWelch tests the comparison of two seats with other seeds against a published example and the cases where there
// is nothing to test.
func TestWelch(t *testing.T) {
	a := Result{Name: "a", Seeds: []uint64{1}, Profits: []float64{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4}}
	b := Result{Name: "b", Seeds: []uint64{2}, Profits: []float64{27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4}}
	p := Pair([]Result{a, b})[0]
	if p.Profit.Mean != Round(Mean(a.Profits)-Mean(b.Profits)) || math.Abs(*p.P-0.021) > 0.0005 || *p.Tail != *p.P || *p.Corrected != *p.P || p.Order != Round(1-*p.P/2) {
		t.Errorf("%+v with p %v, tail %v, corrected %v, want p 0.021", p, *p.P, *p.Tail, *p.Corrected)
	}
	if p.Profit.High == nil || *p.Profit.High >= 0 || math.Abs(*p.Profit.Low+*p.Profit.High-2*p.Profit.Mean) > 3e-6 {
		t.Errorf("the interval is %+v, want one below 0 around the mean", p.Profit)
	}
	a.Swing = 1
	if p := Pair([]Result{a, b})[0]; *p.Tail <= *p.P || *p.Tail == 1 {
		t.Errorf("with one more seed that wins a dollar, p is %v, want more than %v", *p.Tail, *p.P)
	}
	a.Swing = 1000
	if p := Pair([]Result{a, b})[0]; *p.Tail != 1 || *p.Corrected != 1 {
		t.Errorf("with one more seed that turns the sign, p is %v and corrected %v, want 1", *p.Tail, *p.Corrected)
	}
	flat := Result{Name: "flat", Seeds: []uint64{3}, Profits: []float64{1, 1, 1}}
	if p := Pair([]Result{flat, {Name: "other", Seeds: []uint64{4}, Profits: []float64{2, 2}}})[0]; p.P != nil || p.Profit.Low != nil || p.Order != 0.5 || p.Profit.Mean != -1 {
		t.Errorf("two seats without variation: %+v, want no test", p)
	}
	five := []float64{2, 2, 2, 2, 2}
	if p := Pair([]Result{{Seeds: []uint64{5}, Profits: five}, {Seeds: []uint64{6}, Profits: five}})[0]; p.Profit.Low == nil || *p.Profit.Low != 0 || *p.Profit.High != 0 {
		t.Errorf("five seeds without variation: %+v, want an interval of no width", p.Profit)
	}
	if p := Pair([]Result{flat, a})[0]; p.P == nil || p.Profit.Low != nil {
		t.Errorf("three seeds: %+v, want a test without an interval", p)
	}
}
