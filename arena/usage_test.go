package arena

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

func init() {
	testAgents["costly"] = func(a agent) {
		for _, body := range []string{
			`{"model":"small","prompt_tokens":1200,"completion_tokens":80,"cost":"0.25"}`, `{"model":"small","prompt_tokens":800,"completion_tokens":20,"cost":"0.000001"}`,
			`{"model":"large \u202e","prompt_tokens":1,"completion_tokens":0,"cost":"2"}`,
			`{"model":"large","prompt_tokens":1,"completion_tokens":0,"cost":"2"}`,
		} {
			status, answer, ok := a.again("POST", "/v1/arena/usage", body)
			if !ok || status != 200 && !strings.Contains(body, "202e") || status == 200 && string(answer) != "{}" {
				fmt.Println(status, string(answer))
				os.Exit(3)
			}
		}
		for _, bad := range []string{
			`{}`, `{"model":"","prompt_tokens":1,"completion_tokens":1,"cost":"1"}`, `{"model":"m","prompt_tokens":-1,"completion_tokens":1,"cost":"1"}`,
			`{"model":"m","prompt_tokens":1,"completion_tokens":1,"cost":1}`, `{"model":"m","prompt_tokens":1,"completion_tokens":1,"cost":"-1"}`, `{"model":"m","prompt_tokens":1,"completion_tokens":1,"cost":"1e3"}`,
			`{"model":"m","prompt_tokens":1.5,"completion_tokens":1,"cost":"1"}`, `{"model":"m","prompt_tokens":1,"completion_tokens":1,"cost":"1","more":1}`,
		} {
			if status, answer, ok := a.again("POST", "/v1/arena/usage", bad); !ok || status != 400 {
				fmt.Println(status, string(answer), bad)
				os.Exit(4)
			}
		}
		advanceAgent(a)
	}
}

// TestUsage tests that a report has what an agent says of its models, summed over seeds, and the profit after it, and that
// bad reports are errors.
func TestUsage(t *testing.T) {
	if testing.Short() {
		t.Skip("whole runs")
	}
	t.Parallel()
	dir := t.TempDir()
	r := mustRun(t, testConfig(t, func(c *Config) { c.Seats = c.Seats[:1] }, withAgent("costly"), func(c *Config) { c.Rounds = 1 }), Options{Dir: dir})
	hold, costly := r.Seats[0], r.Seats[1]
	if len(hold.Usage.Models) > 0 || hold.AfterCost != hold.Profit {
		t.Errorf("a seat without a model: %+v, %+v", hold.Usage, hold.AfterCost)
	}
	want := map[string]ModelUsage{"small": {4000, 200, 0.500002}, "large": {2, 0, 4}}
	if !reflect.DeepEqual(costly.Usage.Models, want) || costly.AfterCost.Mean != -2.250001 || costly.Profit.Mean != 0 {
		t.Errorf("the models are %+v, the profit is %v, after them %v", costly.Usage.Models, costly.Profit.Mean, costly.AfterCost.Mean)
	}
	var table strings.Builder
	if err := r.Table(&table); err != nil || !strings.Contains(table.String(), "after cost") || !strings.Contains(table.String(), "−$2.25") {
		t.Errorf("%v\n%s", err, &table)
	}
	page, err := r.page("x")
	if err != nil || !strings.Contains(string(page), `<td class="text">large</td><td>2</td><td>0</td><td>$4.00</td>`) {
		t.Errorf("%v: the page lacks the models", err)
	}
	if n, err := Verify(dir, nil); err != nil || n != 2 {
		t.Error(n, err)
	}
}

// TestBytesRead tests that an answer counts once, as the text that a model reads.
func TestBytesRead(t *testing.T) {
	const result = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}}`
	stream, err := json.Marshal("event: message\ndata: {\"method\":\"notifications/message\"}\n\nevent: message\ndata: " + result + "\n\n")
	if err != nil {
		t.Fatal(err)
	}
	call := mcpBody("get_market", "{}")
	for name, x := range map[string]struct {
		row  callRow
		want int
	}{
		"a tool":              {callRow{Target: "/v1/mcp", Body: call, Answer: []byte(result), Bytes: len(result)}, 7},
		"a tool, as a stream": {callRow{Target: "/v1/mcp", Body: call, Answer: stream, Bytes: 999}, 7},
		"an error":            {callRow{Target: "/v1/mcp", Body: call, Answer: []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602}}`), Bytes: 48}, 0},
		"the tools":           {callRow{Target: "/v1/mcp", Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), Answer: []byte(`"cut off"`), Bytes: 40_000}, 40_000},
		"the begin":           {callRow{Target: "/v1/mcp", Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`), Answer: []byte(result), Bytes: 9}, 0},
		"REST":                {callRow{Target: "/v1/markets", Answer: []byte(`{"markets":[]}`), Bytes: 14}, 0},
		"a baseline":          {callRow{Tool: "place_order", Answer: []byte(`{}`), Bytes: 2}, 2},
		"no answer":           {callRow{Target: "/v1/mcp", Body: call}, 0},
	} {
		if got := x.row.bytesRead(); got != x.want {
			t.Errorf("%s: %d bytes, want %d", name, got, x.want)
		}
	}
}
