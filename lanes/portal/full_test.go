package portal

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"duplex/schemas"
	"duplex/tools"
)

// The long guide names every route with its fields and codes, every type, tool,
// message and error, all from where the lanes have them.
func TestFull(t *testing.T) {
	events, err := os.ReadFile("../ws/testdata/asyncapi.json")
	if err != nil {
		t.Fatal(err)
	}
	v := start(t, func(o *Options) {
		o.AsyncAPI, o.Tools, o.MCP = events, []*tools.Facts{&tools.PlaceOrder.Facts, &tools.GetVenue.Facts}, o.API+"/v1/mcp"
	})
	_, _, full := v.ask("", "GET", "/llms-full.txt", "")
	wants := []string{
		"- REST: " + v.URL, "\n### POST /v1/portfolio/orders\n", "\nBody: PlaceOrder, such as {", "\nAnswer: 201 Outcome\n",
		"\n- min_seq (query): u64 string, optional", "\n- tick: integer 1 to 9999, optional. ", `- side: "buy" or "sell"`, "\n### Outcome\n", "- fills: list of OutcomeFill\n", "Answer: 200 {results: list of Canceled or ErrorBody}",
		"\n- place_order (trade, writes, POST /v1/portfolio/orders): ", "\n- get_venue (read, reads", "\n### orderbook_delta\n", `"type":"user_snapshot"`, `{"id":1,"cmd":"subscribe",`, "\n- 6 unknown_sid (never): ",
	}
	for _, m := range schemas.Faults {
		wants = append(wants, " "+m.Code, ", "+m.Origin+", retry "+string(m.Retry)+": "+m.Means+" "+m.Next+"\n")
	}
	for _, want := range wants {
		if !strings.Contains(full, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, wrong := range []string{"<no value>", "%!", "0x", "&#"} {
		if strings.Contains(full, wrong) {
			t.Errorf("%q is in it", wrong)
		}
	}
}

// The worked signature is one of the vectors that other languages check theirs with.
func TestWorkedSignature(t *testing.T) {
	raw, err := os.ReadFile("../../schemas/vectors/signing.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Secret, Timestamp, Method, Target, Body, Signature string }
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	v := worked()
	for _, want := range vectors {
		if want.Secret == v.Secret && want.Timestamp == v.Timestamp && want.Target == v.Target && want.Body == v.Body {
			if want.Signature != v.Signature {
				t.Errorf("%s, the vector has %s", v.Signature, want.Signature)
			}
			return
		}
	}
	t.Error("no such vector")
}
