package schemas

import "github.com/go-json-experiment/json/jsontext"

// ToolError is the structured content of a tool result with isError: the venue's error
// and hints for the next call (docs/rules/agents.md#errors). In the result of a batch it
// is the element of a rejected item.
type ToolError struct {
	Error        Error          `json:"error"`
	Hint         string         `json:"hint"`
	Field        string         `json:"field,omitzero"`
	Got          jsontext.Value `json:"got,omitzero" doc:"The value as it was sent"`
	Limit        string         `json:"limit,omitzero"`
	Retryable    bool           `json:"retryable" doc:"The same call may be sent again"`
	RetryAfterMs *U64           `json:"retry_after_ms,omitempty" pattern:"^[0-9]+$"`
	Outcome      string         `json:"outcome" enum:"done,not_done,unknown" doc:"done: an earlier call of the same did it"`
	Replayed     bool           `json:"replayed,omitzero" doc:"The same order was placed before: order is that one"`
	Order        *Order         `json:"order,omitempty" doc:"The first order of a client_order_id that was used before"`
	Differs      []string       `json:"differs,omitempty" doc:"Fields in which that order differs"`
	Next         *NextCall      `json:"next,omitempty"`
	Market       *MarketNow     `json:"market,omitempty" doc:"The slot of a placement, as it is now"`
}

// MarketNow is what a slot trades now. Prices are pips of YES, 0 when there is none.
type MarketNow struct {
	MarketID      uint32  `json:"market_id"`
	Generation    uint32  `json:"generation"`
	Series        string  `json:"series"`
	RoundNumber   U64     `json:"round_number"`
	StrikeDecimal Decimal `json:"strike_decimal"`
	SecsToClose   int64   `json:"secs_to_close"`
	YesBid        int64   `json:"yes_bid"`
	YesAsk        int64   `json:"yes_ask"`
}

// The outcomes of a call that is answered with an error. That of a replayed call is done, because an
// earlier call of the same was executed.
const (
	Done           = "done"
	NotDone        = "not_done"
	OutcomeUnknown = "unknown"
)

// NextCall names a tool to call next.
type NextCall struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
}

// ToolErrorOf returns the tool error of e, with the general hint of its code.
func ToolErrorOf(e Error) ToolError {
	m := ErrorInfoOf(e.Code)
	r := ToolError{Error: e, Hint: m.hint(), Retryable: m.Retry == Safe, Outcome: NotDone}
	if m.Retry == Unknown {
		r.Outcome = OutcomeUnknown
	}
	if ms, ok := e.RetryAfterMs(); ok {
		r.RetryAfterMs = Ptr(U64(ms))
	}
	return r
}

// GeneralHint returns the hint of a code: its meaning and next step.
func GeneralHint(code string) string { m := ErrorInfoOf(code); return m.hint() }

func (m *ErrorInfo) hint() string { return m.Means + " " + m.Next }

// ToolErrorOfFault returns the tool error of a fault, with its field, value and limit.
func ToolErrorOfFault(f *Fault) ToolError {
	r := ToolErrorOf(ErrorOf(f.Code))
	r.Field, r.Limit = f.Field, f.Limit
	if f.Got != "" {
		r.Got = jsontext.Value(f.Got)
	}
	r.Hint = f.hint()
	return r
}

// hint says what is wrong, and what holds for all errors of the code.
func (f *Fault) hint() string {
	switch {
	case f.Instead != "":
		return "No field " + f.Message() + "."
	case f.Limit != "":
		return f.Message() + ". " + GeneralHint(f.Code)
	}
	return GeneralHint(f.Code)
}
