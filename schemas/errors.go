package schemas

import (
	"maps"
	"strconv"

	"duplex/core"
)

// Origins of errors (docs/rules/errors.md#origins).
const (
	OriginCore    = "core"
	OriginPort    = "port"
	OriginGateway = "gateway"
)

// Retry is the rule for repeating a request after an error (docs/rules/errors.md#retry).
type Retry string

const (
	// Never means that the same request fails again unless something changes.
	Never Retry = "never"
	// Safe means that the request was not executed and may be sent again later.
	Safe Retry = "safe"
	// Unknown means that the request may have been executed. Look up the outcome first,
	// or repeat the request if it is idempotent.
	Unknown Retry = "unknown"
)

// ErrorInfo describes one error code. It holds on every lane.
type ErrorInfo struct {
	Code   string `json:"code"`
	Num    *int   `json:"num"` // only codes of the shared registry have one
	Origin string `json:"origin"`
	HTTP   int    `json:"http"`
	WS     int    `json:"ws,omitzero"` // wscode; 0 where the socket has none of its own
	Retry  Retry  `json:"retry"`
	Means  string `json:"means"`
	Next   string `json:"next"` // what the caller can do
}

// ErrorTable lists every error with its number, origin, HTTP status, wscode, retry rule,
// meaning and next step (docs/rules/errors.md#registry).
var ErrorTable = []ErrorInfo{
	// Rejections by the core. A rejected placement uses up its client_order_id, except
	// with duplicate_client_order_id.
	registry(256, "unknown_market", 404, Never, "No market with this id ever opened.", "List markets with status=trading and use a market_id from there."),
	registry(257, "insufficient_balance", 403, Never, "Free cash does not cover what this would reserve, fees included.", "Lower qty or tick, set max_cost, or cancel resting buys; then use a new client_order_id."),
	registry(258, "insufficient_position", 403, Never, "Fewer free contracts held than this needs. There is no short selling.", "Lower qty, cancel resting sells, or buy the opposite outcome instead."),
	registry(259, "duplicate_client_order_id", 409, Never, "This client_order_id was used before. The first order is unchanged.", "Look it up by client_order_id; for another order use a new id."),
	registry(260, "bad_price_tick", 400, Never, "The tick is off the grid or outside 1–9999 pips. Cents (1–99) are never scaled.", "Use a tick of the market's tick_size; 47 cents is 4700."),
	registry(261, "bad_qty", 400, Never, "qty is not within 1–1000000 shares.", "Use a whole number of shares from 1 to 1000000."),
	registry(262, "per_market_limit", 403, Never, "Holding, resting buys and this order together pass the limit per market and outcome.", "Lower qty, or cancel resting buys in this market."),
	registry(263, "market_not_trading", 409, Never, "The market's round is not trading.", "Pick a market whose status is trading."),
	registry(264, "market_paused", 409, Never, "The market is paused: no placements, cancels work.", "Wait until paused is false; then use a new client_order_id."),
	registry(265, "unknown_order", 404, Never, "No live order of yours has this id.", "Read the order: it may be filled, canceled or expired."),
	registry(266, "invalid_decrease", 400, Never, "A decrease must lower what remains, not below zero.", "Read remaining_qty and use reduce_to."),
	registry(267, "client_order_id_required", 400, Never, "client_order_id is absent or 0.", "Give every order a client_order_id of its own, from 1."),
	registry(268, "reduce_only_violation", 403, Never, "A reduce_only order would go beyond what is held.", "Lower qty to what is held, or leave reduce_only out."),
	registry(269, "user_suspended", 403, Never, "The account is suspended: cancels and reads work, placements do not.", "Ask the operator."),
	registry(270, "open_order_limit", 403, Never, "Too many open orders in this market.", "Cancel some first; then use a new client_order_id."),
	registry(271, "bad_expiry", 400, Never, "expiry_ts of a gtt order is not in the future.", "Give ns since the Unix epoch, later than the venue's clock."),
	registry(272, "mandate_violation", 403, Never, "The account's mandate does not allow this order.", "Lower the order until it is within the bound of details.rule; read the account for the headroom."),
	registry(273, "stale_generation", 409, Never, "The market slot is in another generation than the order names.", "Read the round of this market_id again."),
	registry(274, "group_tripped", 403, Never, "The group of the order has tripped: its fills reached its bound.", "Look at the fills; then reset the group, and use a new client_order_id."),
	registry(275, "too_late", 400, Never, "The order reached the book after its not_after_ts.", "Nothing was placed. Use a new client_order_id, and a later not_after_ts or none."),
	registry(276, "crossed_quote", 400, Never, "The bid of the quote is not below its ask.", "Nothing changed. Quote again with two new client_order_ids, and the bid below the ask."),
	registry(277, "approval_limit", 403, Never, "20 orders of the agent wait for its owner.", "Cancel one that waits, or wait for a decision; then use a new client_order_id."),

	// The gate: faults of the request itself.
	gateway("unauthorized", 401, 0, Never, "Signature, key or timestamp missing or wrong.", "Sign timestamp, method, target and body as sent, within 5 s of the venue's clock."),
	gateway("missing_scope", 403, 8, Never, "The key lacks the scope this needs, or the operator the role.", "Use a key with the scope; account limits show what a key has."),
	gateway("self_approval", 403, 0, Never, "The approval is of the operator's own request, or the operator was added after it.", "Have another operator of the role decide it."),
	gateway("forbidden_origin", 403, 0, Never, "The Origin is neither the host nor a configured one, or the Host is not a name of the venue.", "Have the operator allow this origin or host."),
	gateway("not_found", 404, 0, Never, "No such route.", "Check the path; none ever redirects."),
	gateway("method_not_allowed", 405, 0, Never, "The route does not take this method.", "Use a method of the route."),
	gateway("body_too_large", 413, 0, Never, "The body is over 64 KiB.", "Send less at once."),
	gateway("unsupported_media_type", 415, 0, Never, "The body is not application/json, or is encoded.", "Send application/json without a Content-Encoding."),
	gateway("unexpected_body", 400, 0, Never, "This route takes no body.", "Send the request without a body."),
	gateway("malformed_json", 400, 1, Never, "The body is not one JSON object, or repeats a name.", "Send one valid JSON object and nothing after it."),
	gateway("unknown_field", 400, 2, Never, "A field or parameter is unknown or repeated.", "Leave it out; names are case-sensitive."),
	gateway("invalid_timeout", 400, 2, Never, "timeout_ms is out of range.", "Use a timeout_ms within the range."),
	gateway("schema_violation", 400, 2, Never, "A field has a wrong type, range or value, or is missing.", "Correct the named field."),
	gateway("bad_cursor", 400, 0, Never, "The cursor is not of this list, account and filters.", "Start again without a cursor."),
	gateway("bad_client_withdrawal_id", 400, 0, Never, "client_withdrawal_id is not 1–64 of A–Z a–z 0–9 - _.", "Use another id."),
	gateway("bad_amount", 400, 0, Never, "The amount is 0, or a deposit is over 10000000000000 pips.", "Use an amount above 0 and, for a deposit, up to 10000000000000 pips ($1 billion)."),
	gateway("bad_destination", 400, 0, Never, "The funding port does not accept this destination.", "Correct the destination."),

	// The gate: objects that do not exist, or exist already.
	gateway("round_not_found", 404, 0, Never, "This market never opened, or its round is no longer kept.", "List rounds."),
	gateway("unknown_group", 404, 0, Never, "The group_id is not from 1 to 4294967295, or the group has no bound to reset.", "List your groups."),
	gateway("group_limit_reached", 403, 0, Never, "The account has 200 groups with a bound, a dead-man switch or a connection.", "Delete the bound of one, or disarm its switch."),
	gateway("unknown_agent", 404, 0, Never, "No agent of yours has this id.", "List your agents."),
	gateway("unknown_withdrawal", 404, 0, Never, "No withdrawal of yours has this id.", "List withdrawals."),
	gateway("unknown_user", 404, 0, Never, "No account has this id.", "List users."),
	gateway("unknown_approval", 404, 0, Never, "No approval has this id, or it has expired.", "List approvals."),
	gateway("unknown_key", 404, 0, Never, "No key has this id.", "List keys."),
	gateway("duplicate_client_withdrawal_id", 409, 0, Never, "This client_withdrawal_id was used with other fields.", "List withdrawals; use a new id for another withdrawal."),
	gateway("duplicate_agent_name", 409, 0, Never, "The owner has used this name for an agent before.", "Use another name."),
	gateway("duplicate_client_transfer_id", 409, 0, Never, "This client_transfer_id was used with other fields.", "Use a new id for another transfer."),
	gateway("duplicate_client_request_id", 409, 0, Never, "This client_request_id was used before. The first request stands.", "Read the order or the position. Use a new id for another request."),
	gateway("stale_mandate", 409, 0, Never, "if_rev is not the rev of the present mandate.", "Read the mandate again and set it with its rev."),
	gateway("agent_limit", 403, 0, Never, "The owner has 32 open agents, or 1000 in all.", "Close an agent."),
	gateway("too_many_keys", 403, 0, Never, "The account has as many live keys as it may have.", "Revoke a key that is not used any more."),
	gateway("bad_mandate", 400, 0, Never, "A field of the mandate is unknown, ill-typed, out of range, or an expiry that is not in the future.", "Correct the mandate."),
	gateway("duplicate_deposit_id", 409, 0, Never, "This deposit_id was used with other fields.", "Use a new id for another deposit."),
	gateway("duplicate_operator_name", 409, 0, Never, "An operator has this name.", "Use another name, or revoke that operator first."),
	gateway("invalid_transition", 409, 0, Never, "The round, withdrawal, approval or account is not in a state that allows this action.", "Read it again."),

	// The gate: load and time.
	gateway("rate_limited", 429, 9, Safe, "The key's token bucket is empty.", "Wait retry_after_ms, then send the same request again."),
	gateway("too_many_connections", 429, 0, Safe, "Too many connections on this key.", "Close one first."),
	gateway("shed", 503, 0, Safe, "The venue is overloaded. The command was not executed.", "Send the same request again after a moment."),
	gateway("draining", 503, 0, Safe, "The venue is stopping or starting. The command was not executed.", "Send the same request again when the venue is back."),
	gateway("node_behind", 503, 0, Safe, "This node does not know the present state of the venue.", "Send the same request again, to another node if there is one."),
	gateway("read_only_node", 421, 0, Safe, "This node is a follower and takes no writes. The request was not executed.", "Send the same request to a member: details.member_url, if present."),
	gateway("history_behind", 503, 0, Safe, "The mirror does not have these older rows yet, or does not answer.", "Wait retry_after_ms, then send the same request again."),
	gateway("sequencing_timeout", 504, 0, Unknown, "The outcome was not known in time; the command may have been executed.", "Look it up by client_order_id, or send the same client_order_id again."),
	gateway("internal", 500, 0, Unknown, "The venue failed.", "Check whether it was executed before sending it again."),

	// The funding port.
	port("funding_unavailable", 503, Safe, "The funding port does not answer. The request was not executed.", "Send the same request again later."),
	port("withdrawal_refused", 403, Never, "The funding port refuses this withdrawal.", "Ask the operator."),
}

// registry returns a code of the shared registry. The event lane places no orders, so
// only one of these codes has a wscode.
func registry(num int, code string, http int, retry Retry, means, next string) ErrorInfo {
	m := ErrorInfo{Code: code, Num: &num, Origin: OriginCore, HTTP: http, Retry: retry, Means: means, Next: next}
	if code == "unknown_market" {
		m.WS = 7
	}
	return m
}

func gateway(code string, http, ws int, retry Retry, means, next string) ErrorInfo {
	return ErrorInfo{Code: code, Origin: OriginGateway, HTTP: http, WS: ws, Retry: retry, Means: means, Next: next}
}

func port(code string, http int, retry Retry, means, next string) ErrorInfo {
	return ErrorInfo{Code: code, Origin: OriginPort, HTTP: http, Retry: retry, Means: means, Next: next}
}

var byCode = maps.Collect(func(yield func(string, ErrorInfo) bool) {
	for _, m := range ErrorTable {
		if !yield(m.Code, m) {
			return
		}
	}
})

// ErrorInfoOf looks up a code. A code that is not in the table counts as internal.
func ErrorInfoOf(code string) ErrorInfo {
	if m, ok := byCode[code]; ok {
		return m
	}
	return byCode["internal"]
}

// IsErrorCode reports whether code is in the table.
func IsErrorCode(code string) bool { _, ok := byCode[code]; return ok }

// Codes returns every code, in the order of the table.
func Codes() []string {
	out := make([]string, len(ErrorTable))
	for i, m := range ErrorTable {
		out[i] = m.Code
	}
	return out
}

// Error is the `error` member of every response that is not 2xx
// (docs/rules/errors.md#error-body).
type Error struct {
	Code    string   `json:"code" values:"ErrorCode" example:"bad_qty"`
	Num     *int     `json:"num" doc:"Reject code of the shared registry"`
	Origin  string   `json:"origin" enum:"core,port,gateway"`
	Message string   `json:"message" doc:"The code; 'rate limited' for rate_limited"`
	Details *Details `json:"details" nullable:"true" doc:"retry_after_ms for rate_limited and history_behind, the bound for mandate_violation, else null"`
	Field   string   `json:"field,omitzero" doc:"What the code is about, such as orders[2].qty or a parameter by its name"`
	Hint    string   `json:"hint,omitzero" doc:"For people: what is legal there, or what to do next"`
}

// With returns the error with the field and the hint of a fault (docs/rules/errors.md#error-body).
func (e Error) With(f *Fault) Error {
	e.Field, e.Hint = f.Field, f.hint()
	return e
}

// About returns the error with the general hint of its code, and the member of a request that the code is about
// (docs/rules/errors.md#error-body). in is the decoded request, a pointer, or nil. What the same request may cure
// later has none, and unauthorized tells nothing.
func (e Error) About(in any) Error {
	m := ErrorInfoOf(e.Code)
	if m.Retry != Never || e.Code == "unauthorized" {
		return e
	}
	e.Hint = m.hint()
	if names := FaultyFields[e.Code]; names != nil && in != nil {
		e.Field = sentField(in, names)
	}
	return e
}

// FaultyFields are the members of a request that a code is about. Of several the first that was sent counts.
var FaultyFields = map[string][]string{
	"unknown_market":                 {"market_id"},
	"market_not_trading":             {"market_id"},
	"market_paused":                  {"market_id"},
	"round_not_found":                {"market_id", "round_number"},
	"stale_generation":               {"generation"},
	"unknown_order":                  {"order_id", "client_order_id"},
	"duplicate_client_order_id":      {"client_order_id"},
	"invalid_decrease":               {"reduce_to", "reduce_by"},
	"crossed_quote":                  {"tick"},
	"insufficient_position":          {"qty"},
	"insufficient_balance":           {"qty", "amount"},
	"reduce_only_violation":          {"qty"},
	"per_market_limit":               {"qty"},
	"open_order_limit":               {"market_id"},
	"bad_qty":                        {"qty"},
	"bad_expiry":                     {"expiry_ts", "expires_in_ms"},
	"too_late":                       {"not_after_ts"},
	"group_tripped":                  {"group_id"},
	"unknown_group":                  {"group_id"},
	"group_limit_reached":            {"group_id"},
	"bad_cursor":                     {"cursor"},
	"duplicate_client_withdrawal_id": {"client_withdrawal_id"},
	"bad_destination":                {"destination"},
	"withdrawal_refused":             {"destination"},
	"invalid_timeout":                {"timeout_ms"},
	"unknown_agent":                  {"agent_id"},
	"unknown_withdrawal":             {"withdrawal_id"},
	"unknown_user":                   {"user_id"},
	"unknown_approval":               {"approval_id"},
	"unknown_key":                    {"api_key"},
	"duplicate_agent_name":           {"name"},
	"duplicate_client_transfer_id":   {"client_transfer_id"},
	"duplicate_client_request_id":    {"client_request_id"},
	"stale_mandate":                  {"if_rev"},
	"duplicate_deposit_id":           {"deposit_id"},
	"duplicate_operator_name":        {"name"},
}

// Bare returns the error without a field and a hint, which tools have beside it.
func (e Error) Bare() Error {
	e.Field, e.Hint = "", ""
	return e
}

// Details holds retry_after_ms for rate_limited and history_behind, and the bound of a mandate for
// mandate_violation. It is null for all other errors.
type Details map[string]string

// ErrorBody is the body of an error response.
type ErrorBody struct {
	Error Error `json:"error"`
}

// ErrorOf returns the wire error of a code. An unknown code becomes internal.
func ErrorOf(code string) Error {
	m := ErrorInfoOf(code)
	return Error{Code: m.Code, Num: m.Num, Origin: m.Origin, Message: m.Code}
}

// RejectError returns the wire error of a rejection by the core. Only rejections of the
// shared registry have a number.
func RejectError(r core.Reject) Error { return ErrorOf(r.String()) }

// RateLimited returns the error of an empty bucket. retryAfterMs is the time until the
// bucket has enough tokens (docs/rules/limits.md#retry-after).
func RateLimited(retryAfterMs int64) Error {
	e := ErrorOf("rate_limited")
	e.Message = "rate limited"
	e.Details = &Details{"retry_after_ms": strconv.FormatInt(retryAfterMs, 10)}
	return e
}

// HistoryBehind returns the error of a page that needs rows which the mirror does not have yet.
// retryAfterMs is the time after which it is likely to have them.
func HistoryBehind(retryAfterMs int64) Error {
	e := ErrorOf("history_behind")
	e.Details = &Details{"retry_after_ms": strconv.FormatInt(retryAfterMs, 10)}
	return e
}

// MandateError returns the error of a placement that a mandate rejected
// (docs/rules/agent-accounts.md#rejections).
func MandateError(v *core.Violation) Error {
	e := RejectError(core.MandateViolation)
	d := Details{"rule": v.Rule.String(), "rev": decimal(uint64(v.Rev))}
	switch v.Rule {
	case core.RuleHalted, core.RuleExpires, core.RuleCategories, core.RuleReduceOnly:
	case core.RulePriceCollar:
		d["limit"], d["asked"] = decimal(v.Limit), decimal(v.Asked)
	default:
		d["limit"], d["used"], d["asked"], d["headroom"] = decimal(v.Limit), decimal(v.Used), decimal(v.Asked), decimal(v.Headroom())
	}
	if v.ResetsTs != 0 {
		d["resets_ts"] = decimal(uint64(v.ResetsTs))
	}
	e.Details = &d
	return e
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// RetryAfterMs returns the wait that a rate_limited or history_behind error names. It reports
// false for any other error.
func (e Error) RetryAfterMs() (int64, bool) {
	if e.Details == nil {
		return 0, false
	}
	n, err := strconv.ParseInt((*e.Details)["retry_after_ms"], 10, 64)
	return n, err == nil
}

// HTTP returns the HTTP status of the error.
func (e Error) HTTP() int { return ErrorInfoOf(e.Code).HTTP }

// Retry returns the retry rule of the error.
func (e Error) Retry() Retry { return ErrorInfoOf(e.Code).Retry }

// WSErrorInfo describes one error of the event lane: its wscode, name, meaning and next
// step (docs/rules/events.md#wscodes).
type WSErrorInfo struct {
	Code  int    `json:"code"`
	Name  string `json:"name"`
	Retry Retry  `json:"retry"`
	Means string `json:"means"`
	Next  string `json:"next"`
}

// WSErrorTable lists the wscodes. A code that REST has too is in ErrorTable with its
// wscode. unknown_field and schema_violation are both bad_params.
var WSErrorTable = []WSErrorInfo{
	{1, "malformed_json", Never, "The message is not one JSON object, or repeats a name.", "Send one valid JSON object and nothing after it."},
	{2, "bad_params", Never, "A member is missing, unknown, or of a wrong type or range.", "Correct the command; names are case-sensitive."},
	{3, "unknown_command", Never, "No such command.", "Use subscribe, unsubscribe, update_subscription, list_subscriptions or cancel_on_disconnect."},
	{4, "unknown_channel", Never, "No such channel; ticker is not one.", "Use one of the six channels."},
	{5, "already_subscribed", Never, "Another subscription of this connection covers this channel and some of these markets.", "Use update_subscription on its sid; list_subscriptions shows it."},
	{6, "unknown_sid", Never, "No subscription of this connection has this sid.", "Call list_subscriptions."},
	{7, "unknown_market", Never, "A market never opened, or is not in this subscription.", "Subscribe without market_ids for all markets, including those that open later."},
	{8, "missing_scope", Never, "The key lacks the scope read, or trade for cancel_on_disconnect.", "Use a key with the scope."},
	{9, "rate_limited", Safe, "The key's read tokens, or for cancel_on_disconnect its cancel tokens, are used up.", "Wait retry_after_ms, then send the same command again."},
	{10, "unsupported_action", Never, "The channel or subscription does not take this action.", "Trades have no snapshot. A subscription to all markets cannot change, and the last market of one cannot be deleted."},
	{12, "too_many_subscriptions", Never, "The connection would have more than 64 subscriptions.", "Unsubscribe some, or open another connection."},
	{13, "sequencing_timeout", Safe, "min_seq was not applied, or cancel_on_disconnect not answered, in time.", "Send the same command again."},
	{14, "shed", Safe, "The venue is too busy or is stopping; cancel_on_disconnect changed nothing.", "Send the same command again, after draining on a new connection."},
	{15, "read_only_node", Never, "This node takes no commands.", "Connect to another node for cancel_on_disconnect."},
	{16, "group_limit_reached", Never, "200 groups of the account have a bound, a dead-man switch or a connection.", "Delete a group's bound or release one."},
}

// WSError is the msg of an error.
type WSError struct {
	Code         int    `json:"code"`
	Name         string `json:"name"`
	RetryAfterMs *U64   `json:"retry_after_ms,omitempty" pattern:"^[0-9]+$" doc:"Of rate_limited"`
}

// WSErrorOf returns the error of the event lane for a code, which is the name of a
// wscode or a code of ErrorTable. An unknown code becomes bad_params.
func WSErrorOf(code string) WSError {
	for _, f := range WSErrorTable {
		if f.Name == code {
			return WSError{Code: f.Code, Name: f.Name}
		}
	}
	return WSError{Code: 2, Name: "bad_params"}
}

// WSErrorOfREST converts an error of the gate to one of the event lane.
func WSErrorOfREST(e Error) WSError {
	out := WSErrorOf(e.Code)
	if ms, ok := e.RetryAfterMs(); ok {
		out.RetryAfterMs = Ptr(U64(ms))
	}
	return out
}
