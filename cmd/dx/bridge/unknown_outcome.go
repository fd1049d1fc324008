package bridge

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/client"
	"duplex/internal/address"
	"duplex/schemas"
)

// foreignResponse is a response that is not the venue's, such as a load balancer's.
type foreignResponse struct {
	status int
	text   []byte
}

func (f *foreignResponse) Error() string {
	return fmt.Sprintf("status %d, not a response of the venue: %.80q", f.status, f.text)
}

// mayHaveExecuted reports whether a request that returned err may have been executed.
func mayHaveExecuted(err error) bool {
	if f, ok := errors.AsType[*foreignResponse](err); ok && f.status >= 300 && f.status < 500 {
		return false
	}
	return client.MayBeDone(err)
}

// Commands are the command lines that errors name, with the flags by which they find the venue and the key of the bridge.
type Commands struct {
	Doctor string // dx mcp doctor
	NewKey string // dx agent key NAME
}

// noAnswerResponse returns the response of a request that the venue did not answer. For a
// tool it is a result that names the next call, and for a write says whether it may have
// been executed.
func (x Commands) noAnswerResponse(m *message, writes bool, err error) []byte {
	switch {
	case !writes && m.method == "tools/call":
		return x.unreadResponse(m, err)
	case !writes:
		return errorResponse(m.id, http.StatusServiceUnavailable, "no response from the venue: "+address.RedactError(err), mustEncode(schemas.ErrorOf("draining")))
	case mayHaveExecuted(err):
		return unknownOutcomeResponse(m, err)
	default:
		return x.notExecutedResponse(m, err)
	}
}

// unreadResponse returns the result of a read that the venue did not answer. Next is the
// same read.
func (x Commands) unreadResponse(m *message, err error) []byte {
	r := schemas.ToolErrorOf(schemas.ErrorOf("draining"))
	r.Hint = "No response from the venue: " + address.RedactError(err) + ". Nothing was changed. Send the same call again; " + x.Doctor + " shows what fails."
	if r.Next = sameCall(m); isForeign(err) {
		r.Hint, r.Retryable, r.Next = notVenue(err), false, nil
	}
	return toolErrorResponse(m, &r)
}

func isForeign(err error) bool {
	var f *foreignResponse
	return errors.As(err, &f)
}

// notVenue is the hint for a foreign response.
func notVenue(err error) string {
	return "The response is not the venue's: " + address.RedactError(err) + ". Point the bridge (DX_URL) at a venue."
}

// sameCall returns the call of m as the next one.
func sameCall(m *message) *schemas.NextCall {
	arguments := map[string]any{}
	for name, v := range object(m.params["arguments"]) {
		arguments[name] = v
	}
	return &schemas.NextCall{Tool: m.tool(), Arguments: arguments}
}

// notExecutedResponse returns the result of a write that did not reach the venue.
func (x Commands) notExecutedResponse(m *message, err error) []byte {
	r := schemas.ToolErrorOf(schemas.ErrorOf("draining"))
	r.Hint = "The venue was not reached: " + address.RedactError(err) + ". This was not done. Send the same call again when the venue is back; " + x.Doctor + " shows what fails."
	if r.Next = sameCall(m); isForeign(err) {
		r.Hint, r.Retryable, r.Next = notVenue(err)+" This was not done.", false, nil
	}
	return toolErrorResponse(m, &r)
}

// rejectedResult returns the result of a write that the venue rejected before it decoded the
// call, or failed to execute. Its outcome is not_done or unknown, by the error's retry
// rule. It is nil for an error of the request itself, such as an unknown tool or a wrong
// key.
func rejectedResult(m *message, e schemas.Error) []byte {
	r := schemas.ToolErrorOf(e)
	switch e.Retry() {
	case schemas.Never:
		return nil
	case schemas.Unknown:
		r.Next = lookupCall(m)
	}
	return toolErrorResponse(m, &r)
}

// venueError returns the venue's error from the error member of a response. In JSON-RPC it
// is the data of the error; in REST it is the error itself, and rest is true.
func venueError(failed jsontext.Value) (e schemas.Error, rest, ok bool) {
	members := object(failed)
	_, rest = text(members["code"])
	if !rest {
		failed = members["data"]
	}
	if failed.Kind() != '{' || json.Unmarshal(failed, &e) != nil {
		return e, rest, false
	}
	return e, rest, schemas.IsErrorCode(e.Code)
}

// unknownOutcomeResponse returns the result of a write whose response was lost: the outcome
// is unknown, and Next is a call that shows it (docs/rules/agents.md#bridge).
func unknownOutcomeResponse(m *message, err error) []byte {
	r := schemas.ToolErrorOf(schemas.ErrorOf("sequencing_timeout"))
	r.Next = lookupCall(m)
	next := "Call " + r.Next.Tool + " first: it shows whether this was done."
	if r.Next.Tool == m.tool() {
		next = "Send the same call again: it does no harm twice."
	}
	if m.tool() == "place_order" || m.tool() == "place_orders" {
		next += " An order that is not there may wait for your owner: list_approvals shows those."
	}
	r.Hint = "The response was lost: " + address.RedactError(err) + ". The outcome is unknown, and nothing was sent again. " + next
	return toolErrorResponse(m, &r)
}

// lookupTools maps a write to the read that shows its outcome, and to the argument of the
// write that the read needs.
var lookupTools = map[string]struct{ tool, by string }{
	"place_order":        {"list_orders", "client_order_id"},
	"replace_order":      {"list_orders", "client_order_id"},
	"cancel_order":       {"list_orders", "order_id"},
	"decrease_order":     {"list_orders", "order_id"},
	"redeem_pairs":       {"list_positions", "market_id"},
	"request_withdrawal": {"list_withdrawals", ""},
}

const lookupLimit = 20

// lookupCall returns the call that finds the outcome of a write. That of a tool of the toolset core is in it,
// too. The toolset has no list of forecasts, and of the same forecast twice the last one counts.
func lookupCall(m *message) *schemas.NextCall {
	tool, arguments := m.tool(), object(m.params["arguments"])
	if tool == "submit_forecast" {
		return sameCall(m)
	}
	at, known := lookupTools[tool]
	if _, named := arguments[at.by]; tool == "cancel_order" && !named {
		at.by = "client_order_id"
	}
	if v := arguments[at.by]; v.Kind() == '"' || v.Kind() == '0' {
		return &schemas.NextCall{Tool: at.tool, Arguments: map[string]any{at.by: v}}
	}
	if known && at.by == "" {
		return &schemas.NextCall{Tool: at.tool, Arguments: map[string]any{"limit": lookupLimit}}
	}
	return &schemas.NextCall{Tool: "list_orders", Arguments: map[string]any{"limit": lookupLimit}}
}
