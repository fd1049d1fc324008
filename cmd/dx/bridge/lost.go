package bridge

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/client"
	"duplex/schemas"
)

// foreign is an answer that is not the venue's: of a load balancer, say.
type foreign struct {
	status int
	text   []byte
}

func (f *foreign) Error() string {
	return fmt.Sprintf("status %d, and no answer of the venue: %.80q", f.status, f.text)
}

// mayBeDone tells whether a request that ended in err may have been done.
func mayBeDone(err error) bool {
	var f *foreign
	if errors.As(err, &f) && f.status >= 300 && f.status < 500 {
		return false
	}
	return client.MayBeDone(err)
}

// unanswered answers for the venue, which did not. Only of a write it matters whether
// it was done all the same.
func unanswered(m *message, writes bool, err error) []byte {
	if writes && mayBeDone(err) {
		return lost(m, err)
	}
	return failed(m.id, http.StatusServiceUnavailable, "no answer of the venue: "+err.Error(), schemas.ErrorOf("draining"))
}

// lost is the result of a write whose answer did not come (contract mcp): it may have
// been done, and there is a tool that tells.
func lost(m *message, err error) []byte {
	r := schemas.RefusalOf(schemas.ErrorOf("sequencing_timeout"))
	r.Next = lookup(m.tool(), object(m.params["arguments"]))
	r.Hint = "The answer was lost: " + err.Error() + ". The outcome is unknown, and nothing was sent again. Call " + r.Next.Tool + " first: it tells whether this was done."
	return refusal(m, &r)
}

// lookups tell which read shows what became of a write, and the argument of the
// write that finds it.
var lookups = map[string]struct{ tool, by string }{
	"place_order":        {"list_orders", "client_order_id"},
	"cancel_order":       {"get_order", "order_id"},
	"decrease_order":     {"get_order", "order_id"},
	"redeem_pairs":       {"list_positions", "market_id"},
	"request_withdrawal": {"list_withdrawals", ""},
}

const someRows = 20

func lookup(tool string, arguments map[string]jsontext.Value) *schemas.Call {
	at, known := lookups[tool]
	if v := arguments[at.by]; v.Kind() == '"' || v.Kind() == '0' {
		return &schemas.Call{Tool: at.tool, Arguments: map[string]any{at.by: v}}
	}
	if known && at.by == "" {
		return &schemas.Call{Tool: at.tool, Arguments: map[string]any{"limit": someRows}}
	}
	return &schemas.Call{Tool: "list_orders", Arguments: map[string]any{"limit": someRows}}
}
