package main

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/schemas"
)

// longEnough runs a benchmark for longer and longer, until its result is whole: how much
// happens in a time, and whether each kind of request comes up at all, depends on the
// machine and on chance.
func longEnough(t *testing.T, args []string, whole func(out string) bool) (out, errs string) {
	t.Helper()
	for d := 250 * time.Millisecond; ; d *= 3 {
		code, out, errs := runCommand(append(slices.Clone(args), "--duration", d.String())...)
		if code != 0 {
			t.Fatalf("%s: exit %d\n%s%s", args, code, out, errs)
		}
		if whole(out) || d > 15*time.Second {
			return out, errs
		}
	}
}

func TestBench(t *testing.T) {
	p := loadedVenue.of(t)
	p.devFile()
	p.market(trades)
	var r benchResult
	out, errs := longEnough(t, []string{"bench", "--conns", "2", "--json"}, func(out string) bool {
		r = benchResult{}
		if err := json.Unmarshal([]byte(out), &r); err != nil || r.Frames == nil {
			t.Fatalf("%v: %s", err, out)
		}
		f := r.Frames
		return r.Orders > 0 && min(f.Idle.Book.Count, f.Idle.User.Count, f.Half.Book.Count, f.Half.User.Count) > 0
	})
	if !regexp.MustCompile(`^(idle: \d+s of \S+, \d+ orders\n)+(load: \d+s of \S+, \d+ orders\n)+(half load: \d+s of \S+, \d+ orders timed\n)+$`).MatchString(errs) {
		t.Errorf("it says %q", errs)
	}
	if r.Conns != 2 || r.Accounts != 2 || r.Batch != 1 || r.Seconds < .25 || r.Orders == 0 || r.PerSecond == 0 || r.P50 == 0 || r.P99 < r.P50 || r.Frames == nil || r.Frames.Half.PerSecond == 0 || r.Frames.Idle.PerSecond != 0 {
		t.Fatal(out)
	}
	for _, f := range []frameLatency{r.Frames.Idle.Book, r.Frames.Idle.User, r.Frames.Half.Book, r.Frames.Half.User} {
		if f.Count == 0 || f.P99 < f.P50 {
			t.Errorf("%+v", f)
		}
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"bench --conns 2 --batch 3", 0, "frame after answer, idle: orderbook_delta p50 "},
		{"bench --conns 2 --no-frames --json", 0, `"p999_us":`},
		{"bench --conns 2 --mix taker", 0, "take "},
		{"bench --conns 2 --mix read --rate 200", 0, ", open loop, 200 requests/s asked"},
		{"bench --mix nothing", 2, "--mix"},
		{"bench --rate 5", 2, "--rate"},
		{"bench --mix read --rate=-1", 2, "--rate"},
		{"bench --mix read --rate NaN", 2, "--rate"},
		{"bench --mix read --rate Inf", 2, "--rate"},
		{"bench --conns 0", 2, "--conns"},
		{"bench --batch 21", 2, "--batch"},
		{"bench --duration 0s", 2, "--duration"},
		{"bench --readers 1", 2, "--readers: they go with --mix"},
		{"bench --mix full --readers=-1", 2, "--readers"},
		{"bench --mix read --conns 2 --readers 41", 2, "--readers: 0 to 40"},
	} {
		if c.code == 0 {
			out, _ := longEnough(t, strings.Fields(c.args), func(out string) bool { return strings.Contains(out, c.want) })
			if !strings.Contains(out, c.want) || strings.Contains(c.args, "no-frames") && strings.Contains(out, "frames") {
				t.Errorf("%s:\n%s", c.args, out)
			}
			continue
		}
		code, out, errs := runCommand(strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: exit %d\n%s%s", c.args, code, out, errs)
		}
	}
}

// What may be below 0 has the percentiles that sorting gives, to three digits.
func TestSignedHistogram(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 5))
	for _, mean := range []int64{-100_000, -20, 0, 20, 100_000} {
		l := newSignedHistogram()
		var all []int64
		for range 1 + rnd.IntN(2000) {
			us := mean + rnd.Int64N(60_000) - 30_000
			all = append(all, us)
			if err := l.record(time.Duration(us) * time.Microsecond); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(all)
		for _, q := range []float64{0.001, .25, .5, .75, .99, 1} {
			i := max(0, int(q*float64(len(all))+0.9999999)-1)
			want, got := all[i], l.quantile(q)
			if off := max(want-got, got-want); off > 1+max(want, -want)/1000 {
				t.Errorf("around %d, %d of them: %v is %d, not %d", mean, len(all), q, got, want)
			}
		}
	}
	if err := newSignedHistogram().record(time.Hour); err == nil {
		t.Error("an hour was counted as a minute")
	}
}

// A frame is found also when it came before it was looked for; one that others
// passed is missing, and the end of the reader is an error.
func TestFrameWatcher(t *testing.T) {
	l := &frameWatcher{ended: make(chan error, 1), notify: make(chan struct{}, 1)}
	now := time.Now()
	for i, seq := range []schemas.U64{4, 5, 5, 7} {
		l.record(seq, now.Add(time.Duration(i)*time.Millisecond))
	}
	of, out := newSignedHistogram(), &frameLatency{}
	at := func(seq schemas.U64) error {
		return l.measure(context.Background(), seq, now.Add(4*time.Millisecond), of, out)
	}
	for _, seq := range []schemas.U64{5, 6, 7} {
		if err := at(seq); err != nil {
			t.Fatal(err)
		}
	}
	if out.sum(of); *out != (frameLatency{Count: 2, Missing: 1, P50: of.quantile(.5), P99: -1000}) || of.quantile(.5) > -2990 {
		t.Errorf("%+v", out)
	}
	l.ended <- errors.New("gone")
	if err := at(9); err == nil {
		t.Error("nobody reads and yet it goes on")
	}
}

// Each mix is served, and what it cannot do is told by its code. What readers are told
// has no gap, and of each command's frames it is known when they came.
func TestMixes(t *testing.T) {
	p := loadedVenue.of(t)
	p.devFile()
	for name, acts := range mixes {
		p.market(trades)
		args := []string{"bench", "--mix", name, "--conns", "4", "--json"}
		if name == "taker" {
			args = append(args, "--readers", "2")
		}
		var r mixReport
		out, _ := longEnough(t, args, func(out string) bool {
			r = mixReport{}
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("%s: %v: %s", name, err, out)
			}
			return (name == "read" || r.Commands.Count > 0) && (name == "cancel" || r.Reads.Count > 0) && heardAll(r.Readers)
		})
		if r.Mix != name || r.TargetRate != 0 || r.Conns != 4 || r.Accounts != 4 || r.Rounds < 1 || r.Series < 1 || r.Seconds < .25 {
			t.Errorf("%s: %s", name, out)
		}
		if x := r.All; len(r.Operations) == 0 || len(r.Operations) > len(acts) || x.Count == 0 || x.PerSecond == 0 || x.P50 == 0 || x.Max < x.P999 || r.Commands.Count+r.Reads.Count != x.Count {
			t.Errorf("%s: %s", name, out)
		}
		if (name == "read") != (r.Commands.Count == 0) || (name == "cancel") != (r.Reads.Count == 0) {
			t.Errorf("%s: %d commands, %d reads", name, r.Commands.Count, r.Reads.Count)
		}
		sums := map[bool]int64{}
		for _, x := range r.Operations {
			sums[x.Command] += x.Count
			for code := range x.Failed {
				if code != "unknown_order" && code != "invalid_decrease" && code != "open_order_limit" && code != "market_not_trading" {
					t.Errorf("%s: %s was refused with %s", name, x.Name, code)
				}
			}
		}
		if sums[true] != r.Commands.Count || sums[false] != r.Reads.Count {
			t.Errorf("%s: %v, but %d and %d", name, sums, r.Commands.Count, r.Reads.Count)
		}
		switch name {
		case "full":
			toReaders(t, r.Readers, fullReaders, out)
		case "taker":
			toReaders(t, r.Readers, 2, out)
		default:
			if r.Readers != nil {
				t.Errorf("%s: %s", name, out)
			}
		}
	}
}

// What a mix is printed as: a row for each operation and for each kind of frame, however
// wide their columns are.
func TestMixIsPrinted(t *testing.T) {
	p := loadedVenue.of(t)
	p.devFile()
	p.market(trades)
	rows := []string{"tool place_order", "commands", "reads", "orderbook_delta", "trade", "user"}
	missing := func(out string) (list []string) {
		for _, row := range rows {
			if !regexp.MustCompile(`(?m)^ *` + regexp.QuoteMeta(row) + ` +[0-9]`).MatchString(out) {
				list = append(list, row)
			}
		}
		return list
	}
	out, _ := longEnough(t, []string{"bench", "--mix", "full", "--conns", "3", "--readers", "1"}, func(out string) bool { return len(missing(out)) == 0 })
	for _, row := range missing(out) {
		t.Errorf("no row %q:\n%s", row, out)
	}
	for _, want := range []string{"after answer p50 µs", "readers: 1; closes by code: none\n", " commands/s beside "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
}

// heardAll tells whether readers, where there are any, have heard of each kind of event
// that a command of the run has caused.
func heardAll(r *readerReport) bool {
	if r == nil {
		return true
	}
	timed := 0
	for _, f := range r.Frames {
		if f.Timed > 0 {
			timed++
		}
	}
	return timed >= 3 // books, trades and accounts
}

func toReaders(t *testing.T, r *readerReport, conns int, out string) {
	t.Helper()
	if r == nil || r.Conns != conns || r.Count == 0 || r.PerSecond == 0 || r.Gaps != 0 || len(r.Closes) > 0 {
		t.Fatal(out)
	}
	by, sum := map[string]*frameSummary{}, int64(0)
	for _, f := range r.Frames {
		by[f.Type], sum = f, sum+f.Count
	}
	for _, typ := range []string{"orderbook_delta", "trade", "user"} {
		f := by[typ]
		if f == nil || f.Timed == 0 || f.Timed > f.Count || f.P50 == 0 || f.P99 < f.P50 || f.P999 < f.P99 || f.Max < f.P999 || f.AnswerP99 < f.AnswerP50 || f.AnswerP50 >= f.P50 {
			t.Errorf("%s: %+v", typ, f)
		}
	}
	if sum != r.Count || by["orderbook_snapshot"] != nil && by["orderbook_snapshot"].Timed > 0 {
		t.Error(out)
	}
}

// The full mix has fifty keys in all nine series, once those of a minute have begun.
func TestLongFullMixOfNineSeries(t *testing.T) {
	if !long() {
		t.Skip("waits for a minute to begin: DX_LONG=1 go test ./cmd/dx -run TestLong")
	}
	p := loadedVenue.of(t)
	p.devFile()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		var l schemas.MarketList
		p.must(p.account("reader"), "GET", "/v1/markets?status=trading", "", &l)
		if len(l.Markets) == core.SeriesCount {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d markets trade", len(l.Markets))
		}
	}
	code, out, errs := runCommand("bench", "--mix", "full", "--conns", "50", "--duration", "3s", "--json")
	var r mixReport
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if r.Series != core.SeriesCount || r.Accounts != 50 || r.Commands.PerSecond < 100 {
		t.Error(out)
	}
	toReaders(t, r.Readers, fullReaders, out)
}

// In an open loop what is late counts from when it was due: a server that stalls once
// shows in everybody whom it made wait.
func TestOpenLoop(t *testing.T) { synctest.Test(t, testOpenLoop) }

func testOpenLoop(t *testing.T) {
	b := &benchCmd{Conns: 2, Rate: 100}
	begun := time.Now()
	for conn, want := range [][]time.Duration{{0, 20 * time.Millisecond, 40 * time.Millisecond}, {10 * time.Millisecond, 30 * time.Millisecond, 50 * time.Millisecond}} {
		due := b.schedule(conn, begun)
		for n, w := range want {
			if got := due(n).Sub(begun); got != w {
				t.Errorf("request %d of connection %d is due after %v, not %v", n, conn, got, w)
			}
		}
	}
	served := 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	acts := []mixOperation{{"x", 1, func(*mixClient) (int, []byte, error) {
		switch served++; served {
		case 1:
			time.Sleep(100 * time.Millisecond) // the stall that is measured
		case 8:
			cancel()
		}
		return 200, nil, nil
	}, false}}
	m := newMixClient(nil, nil, nil, acts, newLatencyRecorder(acts), 1)
	var done atomic.Int64
	if err := m.loop(ctx, begun, func(n int) time.Time { return begun.Add(time.Duration(n) * 10 * time.Millisecond) }, &done); err != nil || done.Load() != 8 {
		t.Fatal(err, done.Load())
	}
	late, times := 0, m.recorder.by["x"].times
	for _, bar := range times.Distribution() {
		if bar.From >= 45_000 {
			late += int(bar.Count)
		}
	}
	if late < 5 {
		t.Errorf("%d requests were late by half the stall, of %d", late, times.TotalCount())
	}
}
