package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// latencyRecorder are what became of all requests of a mix.
type latencyRecorder struct {
	mu       sync.Mutex
	by       map[string]*latencySummary
	commands timingSample // when each was sent, or due, and answered
}

// latencySummary is what became of one kind of request. Latencies are in microseconds: in a
// closed loop from when it was sent, in an open one from when it was due, so that a
// stall counts for all whom it made late.
type latencySummary struct {
	Name      string         `json:"operation"`
	Command   bool           `json:"command"`
	Count     int64          `json:"count"`
	PerSecond float64        `json:"per_s"`
	Failed    map[string]int `json:"failed,omitempty"` // by code
	P50       int64          `json:"p50_us"`
	P99       int64          `json:"p99_us"`
	P999      int64          `json:"p999_us"`
	Max       int64          `json:"max_us"`
	times     *hdrhistogram.Histogram
}

func newLatencyRecorder(acts []mixOperation) *latencyRecorder {
	s := &latencyRecorder{by: map[string]*latencySummary{}}
	for _, a := range acts {
		s.by[a.name] = newLatencySummary(a.name)
		s.by[a.name].Command = a.command
	}
	return s
}

func newLatencySummary(name string) *latencySummary {
	return &latencySummary{Name: name, Failed: map[string]int{}, times: newHistogram()}
}

// add counts one answer: refused with a code, or done.
func (s *latencyRecorder) add(name, code string, at timing) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.by[name]
	if code != "" {
		t.Failed[code]++
		return nil
	}
	if at.seq != 0 {
		s.commands.add(at)
	}
	return t.times.RecordValue((at.received - at.sent).Microseconds())
}

func (t *latencySummary) merge(x *latencySummary) {
	t.times.Merge(x.times)
	for code, n := range x.Failed {
		t.Failed[code] += n
	}
}

func (t *latencySummary) sum(d time.Duration) {
	t.Count, t.PerSecond = t.times.TotalCount(), float64(t.times.TotalCount())/d.Seconds()
	t.P50, t.P99, t.P999, t.Max = t.times.ValueAtQuantile(50), t.times.ValueAtQuantile(99), t.times.ValueAtQuantile(99.9), t.times.Max()
}

// mixReport is what a mix did. Commands are what went through the log and was done.
type mixReport struct {
	Mix        string            `json:"mix"`
	TargetRate float64           `json:"asked_per_s"` // 0: a closed loop
	Conns      int               `json:"connections"`
	Accounts   int               `json:"accounts"`
	Rounds     int               `json:"rounds"` // that traded meanwhile
	Series     int               `json:"series"` // theirs
	Seconds    float64           `json:"seconds"`
	Operations []*latencySummary `json:"operations"`
	Commands   *latencySummary   `json:"commands"`
	Reads      *latencySummary   `json:"reads"`
	All        *latencySummary   `json:"all"`
	Readers    *readerReport     `json:"readers,omitempty"`
}

// readerReport is what came to the readers of the event lane.
type readerReport struct {
	Conns     int             `json:"connections"`
	Count     int64           `json:"frames"`
	PerSecond float64         `json:"frames_per_s"`
	Gaps      int64           `json:"gaps"`
	Closes    map[int]int     `json:"closes"` // by code; 1006 is a connection that broke
	Frames    []*frameSummary `json:"by_type"`
}

// frameSummary is what came of one type of frame. Timed are those that a command of this
// process caused, the first of each seq at each reader: from when the command was
// sent, or due, and from when its answer was in hand, which may be after the frame.
type frameSummary struct {
	Type        string  `json:"type"`
	Count       int64   `json:"count"`
	PerSecond   float64 `json:"per_s"`
	Gaps        int64   `json:"gaps"`
	Timed       int64   `json:"timed"`
	P50         int64   `json:"p50_us"`
	P99         int64   `json:"p99_us"`
	P999        int64   `json:"p999_us"`
	Max         int64   `json:"max_us"`
	AnswerP50   int64   `json:"after_answer_p50_us"`
	AnswerP99   int64   `json:"after_answer_p99_us"`
	times       *hdrhistogram.Histogram
	afterAnswer *signedHistogram
}

// result sums up what all connections saw in a time.
func (c *mixRun) result(d time.Duration) (*mixReport, error) {
	r := &mixReport{
		Conns: len(c.clients), Rounds: len(c.board.rounds), Series: len(c.board.series), Seconds: d.Seconds(),
		Commands: newLatencySummary("commands"), Reads: newLatencySummary("reads"), All: newLatencySummary("all"),
	}
	r.Commands.Command = true
	for _, name := range slices.Sorted(maps.Keys(c.recorder.by)) {
		t := c.recorder.by[name]
		t.sum(d)
		r.Operations = append(r.Operations, t)
		r.All.merge(t)
		if t.Command {
			r.Commands.merge(t)
		} else {
			r.Reads.merge(t)
		}
	}
	for _, t := range []*latencySummary{r.Commands, r.Reads, r.All} {
		t.sum(d)
	}
	if len(c.readers) == 0 {
		return r, nil
	}
	var err error
	r.Readers, err = summarizeReaders(c.readers, c.recorder.commands.all, d)
	return r, err
}

// summarizeReaders sums up what readers saw, and when they saw what the commands did.
func summarizeReaders(taps []*frameReader, commands []timing, d time.Duration) (*readerReport, error) {
	caused := make(map[uint64]timing, len(commands))
	for _, m := range commands {
		if first, repeated := caused[m.seq]; !repeated || m.sent < first.sent { // an exact repeat is answered as the first, and causes nothing
			caused[m.seq] = m
		}
	}
	r, by := &readerReport{Conns: len(taps), Closes: map[int]int{}}, map[string]*frameSummary{}
	for _, t := range taps {
		for code, n := range t.closes {
			r.Closes[code] += n
		}
		for typ, x := range t.rows {
			f := by[typ]
			if f == nil {
				f = &frameSummary{Type: typ, times: newHistogram(), afterAnswer: newSignedHistogram()}
				by[typ] = f
			}
			if err := f.take(x, caused); err != nil {
				return nil, err
			}
			r.Count, r.Gaps = r.Count+x.count, r.Gaps+x.gaps
		}
	}
	r.PerSecond = float64(r.Count) / d.Seconds()
	for _, typ := range slices.Sorted(maps.Keys(by)) {
		by[typ].sum(d)
		r.Frames = append(r.Frames, by[typ])
	}
	return r, nil
}

func (f *frameSummary) take(x *frameCounts, caused map[uint64]timing) error {
	f.Count, f.Gaps = f.Count+x.count, f.Gaps+x.gaps
	for _, m := range x.arrivals.all {
		by, ours := caused[m.seq]
		if !ours {
			continue
		}
		if err := f.times.RecordValue((m.received - by.sent).Microseconds()); err != nil {
			return err
		}
		if err := f.afterAnswer.record(m.received - by.received); err != nil {
			return err
		}
	}
	return nil
}

func (f *frameSummary) sum(d time.Duration) {
	f.PerSecond = float64(f.Count) / d.Seconds()
	if f.Timed = f.times.TotalCount(); f.Timed == 0 {
		return
	}
	f.P50, f.P99, f.P999, f.Max = f.times.ValueAtQuantile(50), f.times.ValueAtQuantile(99), f.times.ValueAtQuantile(99.9), f.times.Max()
	f.AnswerP50, f.AnswerP99 = f.afterAnswer.quantile(.5), f.afterAnswer.quantile(.99)
}

func (r *mixReport) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "operation\tcount\tper s\tp50 µs\tp99 µs\tp99.9 µs\tmax µs\trefused\t")
	for _, t := range slices.Concat(r.Operations, []*latencySummary{r.Commands, r.Reads, r.All}) {
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%d\t%d\t%d\t%d\t%s\t\n", t.Name, t.Count, t.PerSecond, t.P50, t.P99, t.P999, t.Max, formatCounts(t.Failed))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Readers != nil {
		if err := r.Readers.print(out); err != nil {
			return err
		}
	}
	loop := "closed loop"
	if r.TargetRate > 0 {
		loop = fmt.Sprintf("open loop, %.0f requests/s asked", r.TargetRate)
	}
	_, err := fmt.Fprintf(out, "\n%.0f commands/s beside %.0f reads/s: %d connections of %d accounts, %d series, %d rounds, %.1f s, %s\n",
		r.Commands.PerSecond, r.Reads.PerSecond, r.Conns, r.Accounts, r.Series, r.Rounds, r.Seconds, loop)
	return err
}

func (r *readerReport) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nframe\tcount\tper s\tp50 µs\tp99 µs\tp99.9 µs\tmax µs\ttimed\tafter answer p50 µs\tp99 µs\tgaps\t")
	for _, f := range r.Frames {
		if f.Timed == 0 {
			fmt.Fprintf(w, "%s\t%d\t%.0f\t\t\t\t\t0\t\t\t%d\t\n", f.Type, f.Count, f.PerSecond, f.Gaps)
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", f.Type, f.Count, f.PerSecond, f.P50, f.P99, f.P999, f.Max, f.Timed, f.AnswerP50, f.AnswerP99, f.Gaps)
	}
	fmt.Fprintf(w, "all\t%d\t%.0f\t\t\t\t\t\t\t\t%d\t\n", r.Count, r.PerSecond, r.Gaps)
	if err := w.Flush(); err != nil {
		return err
	}
	closes := formatCounts(r.Closes)
	if closes == "" {
		closes = "none"
	}
	_, err := fmt.Fprintf(out, "readers: %d; closes by code: %s\n", r.Conns, closes)
	return err
}

// formatCounts lists what was counted, as `name n, name n`.
func formatCounts[K int | string](of map[K]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(of)) {
		out = append(out, fmt.Sprintf("%v %d", k, of[k]))
	}
	return strings.Join(out, ", ")
}

// newHistogram counts durations in microseconds, up to a minute, to three digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, time.Minute.Microseconds(), 3)
}

// signedHistogram counts durations that may be negative: a histogram has none below 0, so there
// is one for each sign.
type signedHistogram struct{ before, after *hdrhistogram.Histogram }

func newSignedHistogram() *signedHistogram { return &signedHistogram{newHistogram(), newHistogram()} }

func (l *signedHistogram) record(d time.Duration) error {
	if d < 0 {
		return l.before.RecordValue((-d).Microseconds())
	}
	return l.after.RecordValue(d.Microseconds())
}

func (l *signedHistogram) count() int64 { return l.before.TotalCount() + l.after.TotalCount() }

// quantile gives the lag, in microseconds, that a share q of all does not pass. What is
// deepest below 0 is the greatest of the histogram before.
func (l *signedHistogram) quantile(q float64) int64 {
	below := l.before.TotalCount()
	rank := max(1, int64(math.Ceil(q*float64(l.count()))))
	if rank <= below {
		return -l.before.ValueAtQuantile(100 * float64(below-rank+1) / float64(below))
	}
	return l.after.ValueAtQuantile(100 * float64(rank-below) / float64(l.after.TotalCount()))
}
