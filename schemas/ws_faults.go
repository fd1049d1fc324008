package schemas

// WSFault is a refusal of a command: its wscode and name (contract ws, Commands).
type WSFault struct {
	Code int    `json:"code"`
	Name string `json:"name"`
}

// WSFaults is the table of wscodes. What REST has a code of its own for stands in
// Faults with its wscode; unknown_field and schema_violation are both bad_params.
var WSFaults = []WSFault{
	{1, "malformed_json"}, {2, "bad_params"}, {3, "unknown_command"}, {4, "unknown_channel"}, {5, "already_subscribed"}, {6, "unknown_sid"},
	{7, "unknown_market"}, {8, "missing_scope"}, {9, "rate_limited"}, {10, "unsupported_action"}, {12, "too_many_subscriptions"},
}

// WSError is the msg of an error.
type WSError struct {
	Code         int    `json:"code"`
	Name         string `json:"name"`
	RetryAfterMs *U64   `json:"retry_after_ms,omitempty" pattern:"^[0-9]+$" doc:"Of rate_limited"`
}

// WSErrorOf is the error of a code, be it a wscode's name or a code of Faults.
func WSErrorOf(code string) WSError {
	for _, f := range WSFaults {
		if f.Name == code {
			return WSError{Code: f.Code, Name: f.Name}
		}
	}
	return WSError{Code: 2, Name: "bad_params"}
}

// WSErrorFrom puts an error of the door on the socket.
func WSErrorFrom(e Error) WSError {
	out := WSErrorOf(e.Code)
	if ms, ok := e.RetryAfterMs(); ok {
		out.RetryAfterMs = Of(U64(ms))
	}
	return out
}
