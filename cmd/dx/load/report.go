package load

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"duplex/cmd/dx/cli"
)

// latencyRecorder records the responses to all requests of a mix. It is safe for concurrent
// use.
type latencyRecorder struct {
	mu       sync.Mutex
	by       map[string]*RequestReport // by name of the operation
	commands timingSample              // of the accepted commands
}

// RequestReport is the result of one kind of request. Latencies are in microseconds and of
// accepted requests. They count from when a request was sent, in an open loop from when it
// was due.
type RequestReport struct {
	Name      string         `json:"operation"`
	Command   bool           `json:"command"`
	Count     int64          `json:"count"`
	PerSecond float64        `json:"per_s"`
	Failed    map[string]int `json:"failed,omitempty"` // rejected requests by error code
	P50       int64          `json:"p50_us"`
	P99       int64          `json:"p99_us"`
	P999      int64          `json:"p999_us"`
	Max       int64          `json:"max_us"`
	times     *hdrhistogram.Histogram
}

func newLatencyRecorder(operations []mixOperation) *latencyRecorder {
	s := &latencyRecorder{by: map[string]*RequestReport{}}
	for _, a := range operations {
		s.by[a.name] = newRequestReport(a.name)
		s.by[a.name].Command = a.command
	}
	return s
}

func newRequestReport(name string) *RequestReport {
	return &RequestReport{Name: name, Failed: map[string]int{}, times: newHistogram()}
}

// add records one response: a rejection with a code, or with code "" a success.
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

func (t *RequestReport) merge(x *RequestReport) {
	t.times.Merge(x.times)
	for code, n := range x.Failed {
		t.Failed[code] += n
	}
}

func (t *RequestReport) sum(d time.Duration) {
	t.Count, t.PerSecond = t.times.TotalCount(), float64(t.times.TotalCount())/d.Seconds()
	t.P50, t.P99, t.P999, t.Max = t.times.ValueAtQuantile(50), t.times.ValueAtQuantile(99), t.times.ValueAtQuantile(99.9), t.times.Max()
}

// MixReport is the result of a mix.
type MixReport struct {
	Mix        string           `json:"mix"`
	TargetRate float64          `json:"target_per_s"` // 0 in a closed loop
	Conns      int              `json:"connections"`
	Accounts   int              `json:"accounts"`
	Rounds     int              `json:"rounds"` // rounds that traded during the run
	Series     int              `json:"series"` // series of these rounds
	Seconds    float64          `json:"seconds"`
	Operations []*RequestReport `json:"operations"`
	Commands   *RequestReport   `json:"commands"` // accepted requests that became commands in the journal
	Reads      *RequestReport   `json:"reads"`
	All        *RequestReport   `json:"all"`
	Readers    *ReaderReport    `json:"readers,omitempty"`
}

// ReaderReport counts what the readers of the event lane received.
type ReaderReport struct {
	Conns     int            `json:"connections"`
	Count     int64          `json:"frames"`
	PerSecond float64        `json:"frames_per_s"`
	Gaps      int64          `json:"gaps"`   // frames whose prev_seq was not the last seq
	Closes    map[int]int    `json:"closes"` // closed connections by code; 1006 means without a close frame
	Frames    []*FrameReport `json:"by_type"`
}

// FrameReport is the result of one type of frame. Timed counts the frames that a command of
// this run caused, the first of each seq at each reader. Their latencies count from when
// the command was sent (in an open loop: was due), and from when its response arrived,
// negative if the frame arrived first.
type FrameReport struct {
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

// report returns the results of all connections after a duration.
func (c *mixRun) report(d time.Duration) (*MixReport, error) {
	r := &MixReport{
		Conns: len(c.clients), Rounds: len(c.board.rounds), Series: len(c.board.series), Seconds: d.Seconds(),
		Commands: newRequestReport("commands"), Reads: newRequestReport("reads"), All: newRequestReport("all"),
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
	for _, t := range []*RequestReport{r.Commands, r.Reads, r.All} {
		t.sum(d)
	}
	if len(c.readers) == 0 {
		return r, nil
	}
	var err error
	r.Readers, err = summarizeReaders(c.readers, c.recorder.commands.all, d)
	return r, err
}

// summarizeReaders returns what the readers received, with latencies from the commands that
// caused it.
func summarizeReaders(readers []*frameReader, commands []timing, d time.Duration) (*ReaderReport, error) {
	caused := make(map[uint64]timing, len(commands))
	for _, m := range commands {
		if first, repeated := caused[m.seq]; !repeated || m.sent < first.sent { // an exact repeat gets the first response again and causes no frame
			caused[m.seq] = m
		}
	}
	r, by := &ReaderReport{Conns: len(readers), Closes: map[int]int{}}, map[string]*FrameReport{}
	for _, t := range readers {
		for code, n := range t.closes {
			r.Closes[code] += n
		}
		for typ, x := range t.rows {
			f := by[typ]
			if f == nil {
				f = &FrameReport{Type: typ, times: newHistogram(), afterAnswer: newSignedHistogram()}
				by[typ] = f
			}
			if err := f.add(x, caused); err != nil {
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

// add adds the counts of one reader.
func (f *FrameReport) add(x *frameCounts, caused map[uint64]timing) error {
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

func (f *FrameReport) sum(d time.Duration) {
	f.PerSecond = float64(f.Count) / d.Seconds()
	if f.Timed = f.times.TotalCount(); f.Timed == 0 {
		return
	}
	f.P50, f.P99, f.P999, f.Max = f.times.ValueAtQuantile(50), f.times.ValueAtQuantile(99), f.times.ValueAtQuantile(99.9), f.times.Max()
	f.AnswerP50, f.AnswerP99 = f.afterAnswer.quantile(.5), f.afterAnswer.quantile(.99)
}

// Print implements Report.
func (r *MixReport) Print(out io.Writer) error {
	w := cli.NewTable(">operation", ">count", ">per s", ">p50 µs", ">p99 µs", ">p99.9 µs", ">max µs", ">rejected")
	for _, t := range slices.Concat(r.Operations, []*RequestReport{r.Commands, r.Reads, r.All}) {
		w.Row(t.Name, fmt.Sprint(t.Count), fmt.Sprintf("%.0f", t.PerSecond), fmt.Sprint(t.P50), fmt.Sprint(t.P99), fmt.Sprint(t.P999), fmt.Sprint(t.Max), formatCounts(t.Failed))
	}
	if err := w.Print(out, ""); err != nil {
		return err
	}
	if r.Readers != nil {
		if err := r.Readers.print(out); err != nil {
			return err
		}
	}
	loop := "closed loop"
	if r.TargetRate > 0 {
		loop = fmt.Sprintf("open loop, a target of %.0f requests/s", r.TargetRate)
	}
	_, err := fmt.Fprintf(out, "\n%.0f commands/s beside %.0f reads/s: %d connections of %d accounts, %d series, %d rounds, %.1f s, %s\n",
		r.Commands.PerSecond, r.Reads.PerSecond, r.Conns, r.Accounts, r.Series, r.Rounds, r.Seconds, loop)
	return err
}

func (r *ReaderReport) print(out io.Writer) error {
	fmt.Fprintln(out)
	t := cli.NewTable(">frame", ">count", ">per s", ">p50 µs", ">p99 µs", ">p99.9 µs", ">max µs", ">timed", ">after answer p50 µs", ">p99 µs", ">gaps")
	for _, f := range r.Frames {
		if f.Timed == 0 {
			t.Row(f.Type, fmt.Sprint(f.Count), fmt.Sprintf("%.0f", f.PerSecond), "", "", "", "", "0", "", "", fmt.Sprint(f.Gaps))
			continue
		}
		t.Row(f.Type, fmt.Sprint(f.Count), fmt.Sprintf("%.0f", f.PerSecond), fmt.Sprint(f.P50), fmt.Sprint(f.P99), fmt.Sprint(f.P999), fmt.Sprint(f.Max), fmt.Sprint(f.Timed), fmt.Sprint(f.AnswerP50), fmt.Sprint(f.AnswerP99), fmt.Sprint(f.Gaps))
	}
	t.Row("all", fmt.Sprint(r.Count), fmt.Sprintf("%.0f", r.PerSecond), "", "", "", "", "", "", "", fmt.Sprint(r.Gaps))
	if err := t.Print(out, ""); err != nil {
		return err
	}
	closes := formatCounts(r.Closes)
	if closes == "" {
		closes = "none"
	}
	_, err := fmt.Fprintf(out, "readers: %d; closes by code: %s\n", r.Conns, closes)
	return err
}

// formatCounts lists counts as `name n, name n`.
func formatCounts[K int | string](of map[K]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(of)) {
		out = append(out, fmt.Sprintf("%v %d", k, of[k]))
	}
	return strings.Join(out, ", ")
}
