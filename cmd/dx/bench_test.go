package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/cmd/dx/load"
	"duplex/core"
	"duplex/schemas"
)

// heldUp matches the error of a run that a slow machine or a paused market ended before its time. A
// request that a slow machine holds up for 5 s is unauthorized (docs/rules/accounts.md#replay-window).
var heldUp = regexp.MustCompile(`(?m)^dx: 0 requests were accepted$|no market trades|"code":"(market_paused|market_not_trading|sequencing_timeout|shed|unauthorized)"`)

// longEnough runs a benchmark again with longer durations until its output is complete. How
// long it takes until every kind of request has occurred depends on the machine and on
// chance.
func longEnough(t *testing.T, p *process, args []string, whole func(out string) bool) (out, errs string) {
	t.Helper()
	for n, d := 0, 250*time.Millisecond; ; n, d = n+1, min(3*d, 20*time.Second) {
		p.marketFor(2*time.Minute, trades) // a run may take a minute and a half
		code, out, errs := runCommand(append(slices.Clone(args), "--duration", d.String())...)
		if code == 1 && heldUp.MatchString(errs) && n < 6 {
			continue
		}
		if code != 0 {
			t.Fatalf("%s: exit %d\n%s%s", args, code, out, errs)
		}
		if whole(out) || n >= 4 {
			return out, errs
		}
	}
}

// rejectedWith returns the operations that were rejected with another code than the expected ones, each with
// the code. Every market may be paused.
func rejectedWith(all []*load.RequestReport, expected ...string) (other []string) {
	for _, x := range all {
		for code := range x.Failed {
			if code != "market_paused" && code != "market_not_trading" && !slices.Contains(expected, code) {
				other = append(other, x.Name+": "+code)
			}
		}
	}
	return other
}

func TestBench(t *testing.T) {
	p := loadedVenue.of(t)
	p.devFile()
	var r load.PlacementReport
	out, errs := longEnough(t, p, []string{"bench", "--conns", "2", "--json"}, func(out string) bool {
		r = load.PlacementReport{}
		if err := json.Unmarshal([]byte(out), &r); err != nil || r.Frames == nil {
			t.Fatalf("dx bench --json: %v: %s, want a report with frames", err, out)
		}
		f := r.Frames
		return r.Orders > 0 && min(f.Idle.Book.Count, f.Idle.User.Count, f.HalfLoad.Book.Count, f.HalfLoad.User.Count) > 0
	})
	if !regexp.MustCompile(`^(idle: \d+s of \S+, \d+ orders\n)+(load: \d+s of \S+, \d+ orders\n)+(half load: \d+s of \S+, \d+ orders timed\n)+$`).MatchString(errs) {
		t.Errorf("progress %q", errs)
	}
	if r.Conns != 2 || r.Accounts != 2 || r.Batch != 1 {
		t.Fatalf("%d connections, %d accounts, batches of %d, want 2, 2 and 1: %s", r.Conns, r.Accounts, r.Batch, out)
	}
	if r.Seconds <= 0 || r.Orders == 0 || r.PerSecond == 0 {
		t.Fatalf("%d orders in %v s, %v a second, want some: %s", r.Orders, r.Seconds, r.PerSecond, out)
	}
	if r.P50 == 0 || r.P99 < r.P50 {
		t.Fatalf("p50 %v and p99 %v of a placement: %s", r.P50, r.P99, out)
	}
	if r.Frames == nil || r.Frames.HalfLoad.PerSecond == 0 || r.Frames.Idle.PerSecond != 0 {
		t.Fatalf("want frames, and orders at half load alone: %s", out)
	}
	for _, f := range []load.FrameLatency{r.Frames.Idle.Book, r.Frames.Idle.User, r.Frames.HalfLoad.Book, r.Frames.HalfLoad.User} {
		if f.Count == 0 || f.P99 < f.P50 {
			t.Errorf("latency of frames: %+v, want a count and a p99 that is not below the p50", f)
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
		{"bench --conns 2 --mix read --rate 200", 0, ", open loop, a target of 200 requests/s"},
		{"bench --mix nothing", 2, "--mix"},
		{"bench --rate 5", 2, "--rate"},
		{"bench --mix read --rate=-1", 2, "--rate"},
		{"bench --mix read --rate NaN", 2, "--rate"},
		{"bench --mix read --rate Inf", 2, "--rate"},
		{"bench --conns 0", 2, "--conns"},
		{"bench --batch 21", 2, "--batch"},
		{"bench --duration 0s", 2, "--duration"},
		{"bench --readers 1", 2, "--readers: requires --mix"},
		{"bench --mix full --readers=-1", 2, "--readers"},
		{"bench --mix read --conns 2 --readers 41", 2, "--readers: must be 0 to 40"},
	} {
		if c.code == 0 {
			out, _ := longEnough(t, p, strings.Fields(c.args), func(out string) bool { return strings.Contains(out, c.want) })
			if !strings.Contains(out, c.want) || strings.Contains(c.args, "no-frames") && strings.Contains(out, "frames") {
				t.Errorf("dx %s:\n%s\nwant %q, and no frames with --no-frames", c.args, out, c.want)
			}
			continue
		}
		code, out, errs := runCommand(strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: exit %d\n%s%s", c.args, code, out, errs)
		}
	}
}

// Every mix gets responses, and only the expected error codes. Readers see no gap and time
// the frames of every channel.
func TestMixes(t *testing.T) {
	p := loadedVenue.of(t)
	p.devFile()
	for _, name := range load.Mixes() {
		args := []string{"bench", "--mix", name, "--conns", "4", "--json"}
		if name == "taker" {
			args = append(args, "--readers", "2")
		}
		var r load.MixReport
		out, _ := longEnough(t, p, args, func(out string) bool {
			r = load.MixReport{}
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("dx bench --mix %s: %v: %s", name, err, out)
			}
			return len(rejectedWith(r.Operations, "unknown_order", "invalid_decrease", "open_order_limit")) == 0 && (name == "read" || r.Commands.Count > 0) && (name == "cancel" || r.Reads.Count > 0) && heardAll(r.Readers)
		})
		if r.Mix != name || r.TargetRate != 0 {
			t.Errorf("dx bench --mix %s: mix %s at a rate of %v, want this mix without a rate", name, r.Mix, r.TargetRate)
		}
		if r.Conns != 4 || r.Accounts != 4 || r.Rounds < 1 || r.Series < 1 {
			t.Errorf("dx bench --mix %s: %d connections, %d accounts, %d rounds, %d series, want 4, 4, one or more of each", name, r.Conns, r.Accounts, r.Rounds, r.Series)
		}
		if r.Seconds < .25 {
			t.Errorf("dx bench --mix %s: %v s, want a quarter of a second or more", name, r.Seconds)
		}
		x := r.All
		if len(r.Operations) == 0 || x.Count == 0 || x.PerSecond == 0 {
			t.Errorf("dx bench --mix %s has no operations: %s", name, out)
		}
		if x.P50 == 0 || x.Max < x.P999 {
			t.Errorf("dx bench --mix %s: p50 %v, p999 %v, max %v", name, x.P50, x.P999, x.Max)
		}
		if n := r.Commands.Count + r.Reads.Count; n != x.Count {
			t.Errorf("dx bench --mix %s: commands and reads are %d, all %d", name, n, x.Count)
		}
		if (name == "read") != (r.Commands.Count == 0) || (name == "cancel") != (r.Reads.Count == 0) {
			t.Errorf("%s: %d commands, %d reads", name, r.Commands.Count, r.Reads.Count)
		}
		sums := map[bool]int64{}
		for _, x := range r.Operations {
			sums[x.Command] += x.Count
		}
		if bad := rejectedWith(r.Operations, "unknown_order", "invalid_decrease", "open_order_limit"); len(bad) > 0 {
			t.Errorf("dx bench --mix %s: rejected: %s", name, bad)
		}
		if sums[true] != r.Commands.Count || sums[false] != r.Reads.Count {
			t.Errorf("%s: %v, but %d and %d", name, sums, r.Commands.Count, r.Reads.Count)
		}
		switch name {
		case "full":
			toReaders(t, r.Readers, load.FullReaders, out)
		case "taker":
			toReaders(t, r.Readers, 2, out)
		default:
			if r.Readers != nil {
				t.Errorf("dx bench --mix %s reports readers, which it does not have: %s", name, out)
			}
		}
	}
}

// A mix prints a row for each operation and for each type of frame.
func TestMixIsPrinted(t *testing.T) {
	p := loadedVenue.of(t)
	p.devFile()
	rows := []string{"tool place_order", "commands", "reads", "orderbook_delta", "trade", "user"}
	missing := func(out string) (list []string) {
		for _, row := range rows {
			if !regexp.MustCompile(`(?m)^ *` + regexp.QuoteMeta(row) + ` +[0-9]`).MatchString(out) {
				list = append(list, row)
			}
		}
		return list
	}
	out, _ := longEnough(t, p, []string{"bench", "--mix", "full", "--conns", "3", "--readers", "1"}, func(out string) bool { return len(missing(out)) == 0 })
	for _, row := range missing(out) {
		t.Errorf("no row %q:\n%s", row, out)
	}
	for _, want := range []string{"after answer p50 µs", "readers: 1; closes by code: none\n", " commands/s beside "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
}

// heardAll reports whether the readers, if there are any, have timed frames of every channel.
func heardAll(r *load.ReaderReport) bool {
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

func toReaders(t *testing.T, r *load.ReaderReport, conns int, out string) {
	t.Helper()
	if r == nil || r.Conns != conns || r.Count == 0 || r.PerSecond == 0 {
		t.Fatalf("want frames to %d readers: %s", conns, out)
	}
	if r.Gaps != 0 || len(r.Closes) > 0 {
		t.Fatalf("the readers have %d gaps and the closes %v: %s", r.Gaps, r.Closes, out)
	}
	by, sum := map[string]*load.FrameReport{}, int64(0)
	for _, f := range r.Frames {
		by[f.Type], sum = f, sum+f.Count
	}
	for _, typ := range []string{"orderbook_delta", "trade", "user"} {
		f := by[typ]
		if f == nil {
			t.Errorf("no %s frames: %s", typ, out)
			continue
		}
		if f.Timed == 0 || f.Timed > f.Count {
			t.Errorf("%d of %d %s frames are timed", f.Timed, f.Count, typ)
		}
		if f.P50 == 0 || !slices.IsSorted([]int64{f.P50, f.P99, f.P999, f.Max}) || f.AnswerP99 < f.AnswerP50 {
			t.Errorf("%s frames: %+v, want ordered percentiles", typ, f)
		}
		if f.AnswerP50 >= f.P50 {
			t.Errorf("%s frames: %d us after the answer, %d us after the command, want less", typ, f.AnswerP50, f.P50)
		}
	}
	if sum != r.Count || by["orderbook_snapshot"] != nil && by["orderbook_snapshot"].Timed > 0 {
		t.Error(out)
	}
}

// The full mix uses fifty keys in all nine series. It starts when the rounds of 60 s have
// opened.
func TestLongFullMixOfNineSeries(t *testing.T) {
	if !long() {
		t.Skip("waits for a minute to begin: DX_LONG=1 go test ./cmd/dx -run TestLong")
	}
	p := loadedVenue.of(t)
	p.devFile()
	var l schemas.MarketList
	if !within(2*time.Minute, func() bool {
		p.must(p.account("reader"), "GET", "/v1/markets?status=trading", "", &l)
		return len(l.Markets) == core.SeriesCount
	}) {
		t.Fatalf("%d markets trade", len(l.Markets))
	}
	code, out, errs := runCommand("bench", "--mix", "full", "--conns", "50", "--duration", "3s", "--json")
	var r load.MixReport
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if r.Series != core.SeriesCount || r.Accounts != 50 || r.Commands.PerSecond == 0 {
		t.Error(out)
	}
	toReaders(t, r.Readers, load.FullReaders, out)
}
