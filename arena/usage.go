package arena

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"duplex/arena/stats"
	"duplex/lanes/mcp"
	"duplex/schemas"
	"duplex/tools"
)

// Usage is what a seat says that its models took in all seeds.
type Usage struct {
	Models map[string]ModelUsage `json:"models"` // by name
}

// ModelUsage is what a seat says that one model took.
type ModelUsage struct {
	PromptTokens     int64   `json:"prompt_tokens"`
	CompletionTokens int64   `json:"completion_tokens"`
	Cost             float64 `json:"cost"` // dollars
}

func (u ModelUsage) plus(x ModelUsage) ModelUsage {
	return ModelUsage{u.PromptTokens + x.PromptTokens, u.CompletionTokens + x.CompletionTokens, u.Cost + x.Cost}
}

// HasUsage reports whether a seat has said what its models took.
func (r *Report) HasUsage() bool {
	return slices.ContainsFunc(r.Seats, func(s SeatReport) bool { return len(s.Usage.Models) > 0 })
}

// OwnAfterCost is the mean profit without what the seat won from others, less what its models cost, in dollars.
func (s *SeatReport) OwnAfterCost() float64 { return s.AfterCost.Mean - s.FromSeats.Mean }

// usageOf adds what a seat said in each seed, in their order.
func usageOf(of []*seatFigures) Usage {
	out := Usage{Models: map[string]ModelUsage{}}
	for _, s := range of {
		for name, x := range s.Models {
			out.Models[name] = out.Models[name].plus(x)
		}
	}
	for name, x := range out.Models {
		x.Cost = stats.Round(x.Cost)
		out.Models[name] = x
	}
	return out
}

// modelCost is what the models of a seed cost, in dollars. It is added by name, so that the sum is the same everywhere.
func (s *seatFigures) modelCost() (sum float64) {
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		sum += s.Models[name].Cost
	}
	return sum
}

// addUsage counts a call that reports what a model took. An agent whose report had no answer sends it again.
func (s *seatFigures) addUsage(r *callRow) {
	path, _, _ := strings.Cut(r.Target, "?")
	if path != tools.ReportUsage.Path || r.Status != 200 || r.Fault == lostAnswer {
		return
	}
	var in schemas.ModelUsage
	if json.Unmarshal(r.Body, &in) != nil {
		return // the venue has accepted it, so the trajectory was changed
	}
	cost, err := strconv.ParseFloat(in.Cost, 64)
	if err != nil {
		return
	}
	if s.Models == nil {
		s.Models = map[string]ModelUsage{}
	}
	name := schemas.ForTerminal(in.Model)
	s.Models[name] = s.Models[name].plus(ModelUsage{int64(in.PromptTokens), int64(in.CompletionTokens), cost})
}

// bytesPerToken is how many bytes of what a model reads count as one token.
const bytesPerToken = 4

// bytesRead is how many bytes a model reads of an answer: the text of a tool's result, which the answer has a second
// time as structured content, and a list of tools.
func (r *callRow) bytesRead() (n int) {
	if r.Tool != "" { // of a baseline, whose answer is the result
		return r.Bytes
	}
	path, _, _ := strings.Cut(r.Target, "?")
	var m struct{ Method string }
	if path != mcp.Path || json.Unmarshal(r.Body, &m) != nil {
		return 0
	}
	switch m.Method {
	case "tools/list":
		return r.Bytes
	case "tools/call":
		var out struct {
			Result struct {
				Content []struct{ Text string }
			}
		}
		if json.Unmarshal(messageIn(r.Answer), &out) != nil {
			return 0
		}
		for _, c := range out.Result.Content {
			n += len(c.Text)
		}
	}
	return n
}

// messageIn returns the last message of an answer that is a stream of events, else the answer.
func messageIn(answer json.RawMessage) json.RawMessage {
	var stream string
	if json.Unmarshal(answer, &stream) != nil {
		return answer
	}
	last := answer
	for line := range strings.Lines(stream) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			last = json.RawMessage(strings.TrimSpace(data))
		}
	}
	return last
}

// readTrajectory counts the calls of a seat.
func (s *seatFigures) readTrajectory(path string) error {
	bytes, thought := 0, int64(0)
	for r, err := range rowsIn(path) {
		if err != nil {
			return err
		}
		if r.Method == "" {
			continue // a fault of the venue
		}
		s.Calls++
		bytes += r.bytesRead()
		s.addUsage(&r)
		thought += r.Thought
		if code := errorCode(&r); code != "" && !r.Ended {
			s.Rejections[code]++
		}
	}
	s.Tokens, s.ThinkingMs = bytes/bytesPerToken, float64(thought)/1000
	return nil
}
