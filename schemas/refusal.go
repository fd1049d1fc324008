package schemas

// Refusal is the structured content of a tool result with isError (contract mcp,
// Tools): the venue's error, and what teaches the caller to do better.
type Refusal struct {
	Error        Error  `json:"error"`
	Hint         string `json:"hint"`
	Field        string `json:"field,omitzero"`
	Got          string `json:"got,omitzero"`
	Limit        string `json:"limit,omitzero"`
	Retryable    bool   `json:"retryable" doc:"The same call may be sent again"`
	RetryAfterMs *U64   `json:"retry_after_ms,omitempty" pattern:"^[0-9]+$"`
	Outcome      string `json:"outcome" enum:"not_done,unknown"`
	Next         *Call  `json:"next,omitempty"`
}

// Call names a tool to call next.
type Call struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
}

// RefusalOf tells an error the way the table does.
func RefusalOf(e Error) Refusal {
	m := MeaningOf(e.Code)
	r := Refusal{Error: e, Hint: m.Means + " " + m.Next, Retryable: m.Retry == Safe, Outcome: "not_done"}
	if m.Retry == Unknown {
		r.Outcome = "unknown"
	}
	if ms, ok := e.RetryAfterMs(); ok {
		r.RetryAfterMs = Of(U64(ms))
	}
	return r
}

// RefusalOfFault adds what decoding found.
func RefusalOfFault(f *Fault) Refusal {
	r := RefusalOf(ErrorOf(f.Code))
	r.Field, r.Got, r.Limit = f.Field, f.Got, f.Limit
	if f.Message != "" {
		r.Hint = f.Message + ". " + r.Hint
	}
	return r
}
