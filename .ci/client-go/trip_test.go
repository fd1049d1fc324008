package clientgo

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestTrip runs the session in each revision. DX is the path of dx, whose `dx mcp` is the bridge;
// DX_DEV_FILE and DX_AS select the venue and the account.
func TestTrip(t *testing.T) {
	dx := os.Getenv("DX")
	if dx == "" {
		t.Fatal("DX must be the path of dx; .ci/clients sets it")
	}
	for asked, revision := range map[string]string{"": "2026-07-28", "2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18"} {
		t.Run(revision, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			bridge := exec.Command(dx, "mcp", "--output-schemas")
			bridge.Stderr = os.Stderr
			s, err := mcp.NewClient(&mcp.Implementation{Name: "official-client", Version: "1"}, nil).
				Connect(ctx, &mcp.CommandTransport{Command: bridge}, &mcp.ClientSessionOptions{ProtocolVersion: asked})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.InitializeResult().ProtocolVersion; got != revision {
				t.Errorf("negotiated revision %s, want %s", got, revision)
			}
			d := &session{T: t, ctx: ctx, client: s, answers: map[string]*jsonschema.Resolved{}}
			d.trip()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// session is a session under test, with the schema of each tool's answer.
type session struct {
	*testing.T
	ctx     context.Context
	client  *mcp.ClientSession
	answers map[string]*jsonschema.Resolved
}

func (d *session) trip() {
	reads := d.list()
	market, generation := d.longest()
	order := map[string]any{"market_id": market, "generation": generation, "side": "buy", "outcome": "yes", "qty": 1, "tick": 100, "post_only": true}
	order["client_order_id"] = fresh()
	placed := d.call("place_order", order)
	if placed["status"] != "resting" {
		d.Fatalf("placed: %v", placed)
	}
	order["client_order_id"] = fresh()
	given := map[string]any{"market_id": market, "order_id": placed["order_id"], "after_seq": "0"}
	for name, required := range reads {
		arguments := order
		if name != "preview_order" {
			arguments = map[string]any{}
			for _, member := range required {
				if given[member] == nil {
					d.Fatalf("%s requires %s, which this test does not provide", name, member)
				}
				arguments[member] = given[member]
			}
		}
		d.call(name, arguments)
	}
	one := map[string]any{"order_id": placed["order_id"]}
	d.call("cancel_order", one)
	if got := d.call("get_order", one)["status"]; got != "canceled" {
		d.Errorf("status after the cancel: %v", got)
	}
}

// list stores the output schema of each tool and returns the read-only tools with their required
// arguments.
func (d *session) list() map[string][]string {
	reads := map[string][]string{}
	for tool, err := range d.client.Tools(d.ctx, nil) {
		if err != nil {
			d.Fatal(err)
		}
		var input, output jsonschema.Schema
		d.as(tool.InputSchema, &input)
		d.as(tool.OutputSchema, &output)
		if d.answers[tool.Name], err = output.Resolve(nil); err != nil {
			d.Fatalf("%s: %v", tool.Name, err)
		}
		if tool.Annotations.ReadOnlyHint {
			reads[tool.Name] = input.Required
		}
	}
	if len(d.answers) < 20 || len(reads) < 10 {
		d.Fatalf("%d tools, %d of them reads", len(d.answers), len(reads))
	}
	return reads
}

// call calls a tool and checks that the answer is no error and matches the tool's schema.
func (d *session) call(tool string, arguments map[string]any) map[string]any {
	d.Helper()
	r, err := d.client.CallTool(d.ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		d.Fatalf("%s: %v", tool, err)
	}
	out, ok := r.StructuredContent.(map[string]any)
	if !ok || r.IsError {
		d.Fatalf("%s %v: %v", tool, arguments, r.StructuredContent)
	}
	if err := d.answers[tool].Validate(out); err != nil {
		d.Errorf("%s: %v", tool, err)
	}
	return out
}

// longest returns the market that closes last, and the generation of its round. If all of them close within a minute, it waits for the
// next round.
func (d *session) longest() (market, generation any) {
	for {
		now := number(d.call("get_venue", map[string]any{})["time"].(map[string]any)["server_time"])
		list := d.call("list_markets", map[string]any{"status": "trading"})
		last := now + int64(time.Minute)
		for _, m := range list["markets"].([]any) {
			if m := m.(map[string]any); number(m["close_ts"]) > last {
				market, generation, last = m["market_id"], m["generation"], number(m["close_ts"])
			}
		}
		if market != nil {
			return market, generation
		}
		d.call("wait_for_event", map[string]any{"after_seq": list["as_of_seq"], "kinds": []string{"round"}})
	}
}

func number(v any) int64 {
	n, _ := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	return n
}

// fresh returns a new client_order_id.
func fresh() string { return fmt.Sprint(time.Now().UnixNano() + rand.Int64N(1_000_000)) }

func (d *session) as(from, to any) {
	d.Helper()
	b, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		d.Fatal(err)
	}
}
