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
	if r.Conns != 2 || r.Count != 9 || r.PerSecond != 4.5 || r.Gaps != 3 || !maps.Equal(r.Closes, map[int]int{4408: 2, 1006: 2}) || len(r.Frames) != 2 {
		t.Errorf("%+v", r)
	}
	near := func(got, want int64) bool { return max(got-want, want-got) <= 1+max(want, -want)/1000 }
	oracle, trade := r.Frames[0], r.Frames[1]
	if oracle.Type != "oracle" || oracle.Count != 4 || oracle.PerSecond != 2 || oracle.Gaps != 2 || oracle.Timed != 0 {
		t.Errorf("%+v", oracle)
	}
	if trade.Count != 5 || trade.Gaps != 1 || trade.Timed != 2 || !near(trade.P50, 3000) || !near(trade.P99, 9000) || !near(trade.Max, 9000) || !near(trade.AnswerP50, -1000) || !near(trade.AnswerP99, 5000) {
		t.Errorf("%+v", trade)
	}
	var out strings.Builder
	if err := r.print(&out); err != nil || !strings.Contains(out.String(), "readers: 2; closes by code: 1006 2, 4408 2\n") {
		t.Errorf("%v\n%s", err, &out)
	}
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"closes":{"1006":2,"4408":2}`) || !strings.Contains(string(b), `"after_answer_p50_us":-1000`) {
		t.Errorf("%s, %v", b, err)
	}
	late := []*frameReader{{rows: map[string]*frameCounts{"trade": {arrivals: timingSample{all: []timing{{seq: 7, received: 100 * time.Hour}}}}}}}
	if _, err := summarizeReaders(late, commands, time.Second); err == nil {
		t.Error("100 hours were counted as a day")
	}
}
