package schemas

// WSFault is a refusal of a command: its wscode and name (contract ws, Commands),
// what it means and what to do about it.
type WSFault struct {
	Code  int    `json:"code"`
	Name  string `json:"name"`
	Retry Retry  `json:"retry"`
	Means string `json:"means"`
	Next  string `json:"next"`
}

// WSFaults is the table of wscodes. What REST has a code of its own for stands in
// Faults with its wscode; unknown_field and schema_violation are both bad_params.
var WSFaults = []WSFault{
	{1, "malformed_json", Never, "The message is not one JSON object, or repeats a name.", "Send one valid JSON object and nothing after it."},
	{2, "bad_params", Never, "A member is missing, unknown, or of a wrong type or range.", "Mend the command; names are case-sensitive."},
	{3, "unknown_command", Never, "No such command.", "Use subscribe, unsubscribe, update_subscription or list_subscriptions."},
	{4, "unknown_channel", Never, "No such channel; ticker is not one.", "Use one of the six channels."},
	{5, "already_subscribed", Never, "The connection reads some of this channel and these markets already.", "Use update_subscription on the sid that does; list_subscriptions names it."},
	{6, "unknown_sid", Never, "No subscription of this connection has this sid.", "Call list_subscriptions."},
	{7, "unknown_market", Never, "A market never opened, or is not of this subscription.", "Subscribe without market_ids to have all, also those that open later."},
	{8, "missing_scope", Never, "The key lacks the scope read.", "Use a key with the scope."},
	{9, "rate_limited", Safe, "The key's read tokens are used up.", "Wait retry_after_ms, then send the same again."},
	{10, "unsupported_action", Never, "The channel or subscription does not take this action.", "Trades have no snapshot; all markets cannot be widened or narrowed, nor the last one deleted."},
	{12, "too_many_subscriptions", Never, "The connection would have more than 64 subscriptions.", "Unsubscribe some, or open another connection."},
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
