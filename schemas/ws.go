package schemas

import (
	"bytes"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The messages of `GET /v1/ws` (docs/rules/events.md#messages). A command is
// {id, cmd, params}. The venue sends {id, type, msg} or {type, sid, seq, prev_seq, msg}.

// WSChannels lists the channels of the event lane (docs/rules/events.md#channels).
var WSChannels = []string{"orderbook_delta", "orderbook_snapshot", "trades", "oracle", "rounds", "user"}

// WSSubscribe is the params of subscribe. Without market_ids the subscription covers all
// markets, including those that open later.
type WSSubscribe struct {
	Channels  []string `json:"channels" nullable:"false" minItems:"1" maxItems:"64" enum:"orderbook_delta,orderbook_snapshot,trades,oracle,rounds,user" fault:"unknown_channel"`
	MarketIDs []Int    `json:"market_ids,omitempty" nullable:"false" maxItems:"64" minimum:"1" maximum:"4294967295" fault:"unknown_market" doc:"Default all"`
	SinceSeq  *U64     `json:"since_seq,omitempty" pattern:"^[0-9]+$" doc:"user only: the last seq seen"`
	MinSeq    U64      `json:"min_seq,omitzero" pattern:"^[0-9]+$" doc:"Wait for this seq"`
}

// Check allows since_seq only with the channel user, the only one that can be resumed.
func (s *WSSubscribe) Check() *Fault {
	if s.SinceSeq != nil && !slices.Contains(s.Channels, "user") {
		return schemaViolation("since_seq", "only with the channel user")
	}
	return nil
}

// WSUnsubscribe is the params of unsubscribe.
type WSUnsubscribe struct {
	Sids []Int `json:"sids" nullable:"false" minItems:"1" maxItems:"64" minimum:"1" fault:"unknown_sid"`
}

// WSUpdate is the params of update_subscription.
type WSUpdate struct {
	Sid       Int    `json:"sid" minimum:"1" fault:"unknown_sid"`
	Action    string `json:"action" enum:"get_snapshot,add_markets,delete_markets" fault:"unsupported_action"`
	MarketIDs []Int  `json:"market_ids,omitempty" nullable:"false" maxItems:"64" minimum:"1" maximum:"4294967295" fault:"unknown_market"`
	MinSeq    U64    `json:"min_seq,omitzero" pattern:"^[0-9]+$" doc:"get_snapshot only: wait for this seq"`
}

// Check requires market_ids for the actions add_markets and delete_markets, and allows min_seq only
// for get_snapshot.
func (u *WSUpdate) Check() *Fault {
	if u.MinSeq != 0 && u.Action != "get_snapshot" {
		return schemaViolation("min_seq", "only with the action get_snapshot")
	}
	if (u.Action == "add_markets" || u.Action == "delete_markets") && len(u.MarketIDs) == 0 {
		return schemaViolation("market_ids", "at least one")
	}
	return nil
}

// WSCancelOnDisconnect is the params of cancel_on_disconnect (docs/rules/orders.md#cancel-on-disconnect).
type WSCancelOnDisconnect struct {
	Enabled bool `json:"enabled"`
	GroupID Int  `json:"group_id,omitzero" minimum:"0" maximum:"4294967295" doc:"Orders of this group; 0: all"`
}

// WSBound is the response to cancel_on_disconnect.
type WSBound struct {
	Enabled bool   `json:"enabled"`
	GroupID uint32 `json:"group_id"`
	Seq     U64    `json:"seq" pattern:"^[0-9]+$"`
}

// WSAnswer is the response to a command, or draining. ID is omitted if the command's id could not be
// read, and of draining.
type WSAnswer struct {
	ID   Int    `json:"id,omitzero"`
	Type string `json:"type" enum:"subscribed,unsubscribed,ok,error,draining"`
	Msg  any    `json:"msg"`
}

// WSSubscribed is the response to subscribe, one per channel. Resumed is set for user.
type WSSubscribed struct {
	Channel string `json:"channel" enum:"orderbook_delta,orderbook_snapshot,trades,oracle,rounds,user"`
	Sid     int64  `json:"sid" minimum:"1" doc:"Names the subscription on this connection"`
	Resumed *bool  `json:"resumed,omitempty" doc:"user only: whether what came after since_seq follows, instead of a snapshot"`
}

// WSUnsubscribed is the response to unsubscribe.
type WSUnsubscribed struct {
	Sids []int64 `json:"sids" nullable:"false"`
}

// WSUpdated is the response to update_subscription: the markets of the subscription
// after the change. None means all.
type WSUpdated struct {
	Sid       int64    `json:"sid"`
	MarketIDs []uint32 `json:"market_ids" nullable:"false" doc:"None: all markets"`
}

// WSSubscriptions is the response to list_subscriptions.
type WSSubscriptions struct {
	Subscriptions []WSSubscription `json:"subscriptions" nullable:"false"`
}

// WSSubscription is one subscription of a connection. No market_ids means all.
type WSSubscription struct {
	Channel   string   `json:"channel" enum:"orderbook_delta,orderbook_snapshot,trades,oracle,rounds,user"`
	Sid       int64    `json:"sid"`
	MarketIDs []uint32 `json:"market_ids" nullable:"false" doc:"None: all markets"`
}

// WSDraining is the msg of draining.
type WSDraining struct {
	CloseTs U64 `json:"close_ts" pattern:"^[0-9]+$" doc:"When the connection is closed, ns"`
}

// WSData is one message of a subscription. Seq is the seq of the command that caused it,
// or the as_of_seq of a snapshot. PrevSeq is the seq of the previous message of the
// subscription, per market for books; it is 0 for the first.
type WSData[Msg any] struct {
	Type    string `json:"type"`
	Sid     int64  `json:"sid" doc:"The subscription"`
	Seq     U64    `json:"seq" pattern:"^[0-9]+$" doc:"Stream seq of the command that caused it, or that a snapshot is as of"`
	PrevSeq U64    `json:"prev_seq" pattern:"^[0-9]+$" doc:"seq of the message before it on this sid (of books: and market); 0 for the first"`
	Msg     Msg    `json:"msg"`
}

// WSBook is the msg of orderbook_snapshot: the bids for each outcome, best first.
type WSBook struct {
	MarketID    uint32   `json:"market_id"`
	Generation  uint32   `json:"generation"`
	RoundNumber U64      `json:"round_number" pattern:"^[0-9]+$"`
	TickSize    TickSize `json:"tick_size"`
	Yes         []Level  `json:"yes" nullable:"false" doc:"[tick, qty] bids for YES, best first"`
	No          []Level  `json:"no" nullable:"false" doc:"[tick, qty] bids for NO, best first"`
	Ts          U64      `json:"ts" pattern:"^[0-9]+$" doc:"ns; stamp of the command with the message's seq"`
}

// WSBookDelta is the msg of orderbook_delta: the changes of one command in one book.
type WSBookDelta struct {
	MarketID   uint32     `json:"market_id"`
	Generation uint32     `json:"generation"`
	Changes    []WSChange `json:"changes" nullable:"false"`
	Ts         U64        `json:"ts" pattern:"^[0-9]+$" doc:"ns; stamp of the command with the message's seq"`
}

// WSChange is the change of one level: Qty is the new total, Delta the signed change.
type WSChange struct {
	Outcome string `json:"outcome" enum:"yes,no"`
	Tick    int64  `json:"tick" minimum:"1" maximum:"9999" doc:"In the outcome's own pips"`
	Delta   int64  `json:"delta"`
	Qty     int64  `json:"qty"`
}

// WSOracle is the msg of oracle: an index tick of any feed.
type WSOracle struct {
	Feed             uint8 `json:"feed" doc:"Its number; GET /v1/series names it"`
	Price            U64   `json:"price" pattern:"^[0-9]+$" doc:"At 1e8"`
	Ts               U64   `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
	FreshSourceCount uint8 `json:"fresh_source_count"`
}

// WSUserSnapshot is the msg of user_snapshot: the account as of a seq.
type WSUserSnapshot struct {
	AsOfSeq   U64             `json:"as_of_seq" pattern:"^[0-9]+$"`
	Cash      U64             `json:"cash" pattern:"^[0-9]+$" doc:"Free cash, pips"`
	Reserved  U64             `json:"reserved" pattern:"^[0-9]+$" doc:"Held by resting buys, pips"`
	Positions []Position      `json:"positions" nullable:"false"`
	Orders    []Order         `json:"orders" nullable:"false" doc:"Resting orders, newest first"`
	Deadman   Deadman         `json:"deadman"`
	Groups    []GroupRow      `json:"groups" nullable:"false" doc:"Those with a bound, by id"`
	Approvals []AgentApproval `json:"approvals" nullable:"false" doc:"Orders that wait: of the account, or of the owner's agents; newest first"`
}

// WSCommand is a command of a client. ID is 0 if it could not be read. Params is nil if
// the command has none.
type WSCommand struct {
	ID     Int
	Cmd    string
	Params []byte
}

// WSListSubscriptions are the params of the command list_subscriptions: none.
type WSListSubscriptions struct{}

// DecodeWSCommand decodes a command. With a fault it still returns the id, if the id
// could be read, so that the error can name it (docs/rules/events.md#commands).
func DecodeWSCommand(raw []byte) (WSCommand, *Fault) {
	if f := checkObject(raw); f != nil {
		return WSCommand{}, f
	}
	var c WSCommand
	var out faultSet
	named := false
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	mustRead(dec)
	for dec.PeekKind() != '}' {
		name := mustRead(dec).String()
		value, err := dec.ReadValue()
		if err != nil {
			panic(err) // the whole value was found valid before
		}
		named = named || name == "cmd"
		out.add(c.decodeMember(name, value))
	}
	if c.ID == 0 && out.schema == nil {
		out.add(schemaViolation("id", "required: an integer from 1 to 2147483647"))
	}
	if !named && out.schema == nil {
		out.add(schemaViolation("cmd", "required: a string"))
	}
	return c, out.first()
}

func (c *WSCommand) decodeMember(name string, value jsontext.Value) *Fault {
	switch name {
	case "id":
		var id Int
		if id.parse(value) != nil || id < 1 || id > math.MaxInt32 {
			return newFault("schema_violation", "id", Shown(value), "an integer from 1 to 2147483647")
		}
		c.ID = id
	case "cmd":
		if value.Kind() != '"' || json.Unmarshal(value, &c.Cmd) != nil {
			return newFault("schema_violation", "cmd", Shown(value), "a string")
		}
	case "params":
		if value.Kind() != '{' {
			return newFault("schema_violation", "params", Shown(value), "an object")
		}
		c.Params = bytes.Clone(value)
	default:
		return newFault("unknown_field", shownName(name), Shown(value), "no such field")
	}
	return nil
}
