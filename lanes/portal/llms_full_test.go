package portal

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"duplex/schemas"
	"duplex/tools"
)

// TestFull checks that the long guide has routes with fields and codes, types, tools,
// messages and errors.
func TestFull(t *testing.T) {
	t.Parallel()
	events, err := os.ReadFile("../ws/testdata/asyncapi.json")
	if err != nil {
		t.Fatal(err)
	}
	v := newTestPortal(t, func(o *Options) {
		o.AsyncAPI, o.Tools, o.MCP = func() []byte { return events }, []*tools.Spec{&tools.PlaceOrder.Spec, &tools.GetVenue.Spec}, o.API+"/v1/mcp"
	})
	_, _, full := v.request("", "GET", "/llms-full.txt", "")
	wants := []string{
		"- REST: " + v.URL, "\n### POST /v1/portfolio/orders\n", "\nBody: PlaceOrder, such as {", "\nAnswer: 201 Outcome, or 202 Waiting\n",
		"\n- min_seq (query): u64 string, optional", "\n- tick: integer 1 to 9999, optional. ", `- side: "buy" or "sell"`, "\n### Outcome\n", "- fills: list of OutcomeFill\n", "Answer: 200 CancelResults\n", "Answer: 200 list of PlaceResult\n", "### PlaceResult\n\nOutcome or Waiting or ErrorBody\n",
		`- winner: "yes" or "no" or null. `, "- live: LiveRound or null. ", "- details: Details. ", "### Details\n\nmap to string or null\n", `- status (query): list of "trading" or "frozen" or "proposed"`, "- code: ErrorCode\n",
		"\n- place_order (trade, writes, POST /v1/portfolio/orders): ", "\n- get_venue (read, reads", "\n### orderbook_delta\n", `"type":"user_snapshot"`, `{"id":1,"cmd":"subscribe",`, "\n- 6 unknown_sid (never): ",
	}
	for _, m := range schemas.ErrorTable {
		wants = append(wants, " "+m.Code, ", "+m.Origin+", retry "+string(m.Retry)+": "+m.Means+" "+m.Next+"\n")
	}
	for _, want := range wants {
		if !strings.Contains(full, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, wrong := range []string{"<no value>", "%!", "0x", "&#"} {
		if strings.Contains(full, wrong) {
			t.Errorf("the guide contains %q", wrong)
		}
	}
}

// TestWorkedSignature checks that the worked example is one of the signature test vectors.
func TestWorkedSignature(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../schemas/vectors/signing.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Secret, Timestamp, Method, Target, Body, Signature string }
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	v := newSignatureExample()
	for _, want := range vectors {
		if want.Secret == v.Secret && want.Timestamp == v.Timestamp && want.Target == v.Target && want.Body == v.Body {
			if want.Signature != v.Signature {
				t.Errorf("signature %s, want %s", v.Signature, want.Signature)
			}
			return
		}
	}
	t.Error("the worked example is not among the vectors")
}
