package load

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"
)

// The latency of a frame counts from when its command was sent and from its response. A
// frame that no command of the run caused is not timed.
func TestSummarizeReaders(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	commands := []timing{{7, ms(10), ms(14)}, {9, ms(30), ms(31)}, {9, ms(20), ms(24)}, {7, ms(14), ms(15)}} // with two exact repeats
	readers := []*frameReader{
		{rows: map[string]*frameCounts{"trade": {count: 3, gaps: 1, arrivals: timingSample{all: []timing{{seq: 7, received: ms(13)}, {seq: 8, received: ms(15)}}}}}, closes: map[int]int{4408: 1}},
		{rows: map[string]*frameCounts{"trade": {count: 2, arrivals: timingSample{all: []timing{{seq: 9, received: ms(29)}}}}, "oracle": {count: 4, gaps: 2}}, closes: map[int]int{4408: 1, 1006: 2}},
	}
	r, err := summarizeReaders(readers, commands, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if r.Conns != 2 || r.Count != 9 || r.PerSecond != 4.5 || r.Gaps != 3 {
		t.Errorf("2 readers with 9 frames in 2 s and 3 gaps are reported as %+v", r)
	}
	if want := map[int]int{4408: 2, 1006: 2}; !maps.Equal(r.Closes, want) {
		t.Errorf("the closes are %v, want %v", r.Closes, want)
	}
	if len(r.Frames) != 2 {
		t.Fatalf("the frames are %+v, want those of two types", r.Frames)
	}
	near := func(got, want int64) bool { return max(got-want, want-got) <= 1+max(want, -want)/1000 }
	oracle, trade := r.Frames[0], r.Frames[1]
	if oracle.Type != "oracle" || oracle.Count != 4 || oracle.PerSecond != 2 {
		t.Errorf("the first type is %+v, want 4 frames of the oracle in 2 s", oracle)
	}
	if oracle.Gaps != 2 || oracle.Timed != 0 {
		t.Errorf("the frames of the oracle are %+v, want 2 gaps and none timed", oracle)
	}
	if trade.Count != 5 || trade.Gaps != 1 || trade.Timed != 2 {
		t.Errorf("the trades are %+v, want 5 with 1 gap, of which 2 are timed", trade)
	}
	for figure, x := range map[string][2]int64{
		"p50": {trade.P50, 3000}, "p99": {trade.P99, 9000}, "max": {trade.Max, 9000}, "p50 after the answer": {trade.AnswerP50, -1000}, "p99 after the answer": {trade.AnswerP99, 5000},
	} {
		if !near(x[0], x[1]) {
			t.Errorf("the %s of the trades is %d us, want %d", figure, x[0], x[1])
		}
	}
	var out strings.Builder
	if err := r.print(&out); err != nil || !strings.Contains(out.String(), "readers: 2; closes by code: 1006 2, 4408 2\n") {
		t.Errorf("the readers are printed as %[2]s, %[1]v, want their number and closes", err, &out)
	}
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"closes":{"1006":2,"4408":2}`) || !strings.Contains(string(b), `"after_answer_p50_us":-1000`) {
		t.Errorf("the report is %s, %v, want its closes and the p50 after the answer", b, err)
	}
	late := []*frameReader{{rows: map[string]*frameCounts{"trade": {arrivals: timingSample{all: []timing{{seq: 7, received: 100 * time.Hour}}}}}}}
	if _, err := summarizeReaders(late, commands, time.Second); err == nil {
		t.Error("100 hours were counted as a day")
	}
}
