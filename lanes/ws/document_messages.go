package ws

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"duplex/schemas"
)

// told is a message as the document tells of it. Its msg, or params, is of a type
// of schemas, the one that the lane decodes or encodes.
type told struct {
	name  string
	title string
	doc   string
	typ   string // of an answer or of data; "" for a command
	event string // of the channel user
	of    reflect.Type
}

// commands lists what a client may say, with the messages that answer it.
var commands = []struct {
	told
	answers []string
}{
	{told{name: "subscribe", title: "Subscribe", doc: "Adds a subscription for each channel, or none. Without market_ids it has all markets, also those that open later. since_seq resumes the channel user.", of: reflect.TypeFor[schemas.WSSubscribe]()}, []string{"subscribed", "error"}},
	{told{name: "unsubscribe", title: "Unsubscribe", doc: "Ends subscriptions: all of the sids, or none.", of: reflect.TypeFor[schemas.WSUnsubscribe]()}, []string{"unsubscribed", "error"}},
	{told{name: "update_subscription", title: "Change a subscription", doc: "get_snapshot sends the state anew, in sequence with the rest; add_markets and delete_markets change which markets it has.", of: reflect.TypeFor[schemas.WSUpdate]()}, []string{"subscription_updated", "error"}},
	{told{name: "list_subscriptions", title: "List subscriptions", doc: "Tells what this connection reads. It has no params.", of: reflect.TypeFor[schemas.None]()}, []string{"subscriptions", "error"}},
}

// answers lists what a command is answered with.
var answers = []told{
	{name: "subscribed", title: "Subscribed", doc: "One per channel, each followed by its first data.", typ: "subscribed", of: reflect.TypeFor[schemas.WSSubscribed]()},
	{name: "unsubscribed", title: "Unsubscribed", doc: "Nothing more comes on these sids.", typ: "unsubscribed", of: reflect.TypeFor[schemas.WSUnsubscribed]()},
	{name: "subscription_updated", title: "Subscription changed", doc: "The markets it has now. After get_snapshot the snapshots follow.", typ: "ok", of: reflect.TypeFor[schemas.WSUpdated]()},
	{name: "subscriptions", title: "Subscriptions", doc: "What this connection reads.", typ: "ok", of: reflect.TypeFor[schemas.WSSubscriptions]()},
	{name: "error", title: "Error", doc: "A command that was refused; it changed nothing, and the connection stays open. id is left out when it could not be read.", typ: "error", of: reflect.TypeFor[schemas.WSError]()},
}

// data lists what comes on subscriptions.
var data = []told{
	{name: "orderbook_snapshot", title: "Order book", doc: "All levels of one market. What follows of this market builds on it.", typ: "orderbook_snapshot", of: reflect.TypeFor[schemas.WSBook]()},
	{name: "orderbook_delta", title: "Order book change", doc: "What one command changed in one market. If prev_seq is not the seq of the last message of this sid and market, one was missed: ask get_snapshot.", typ: "orderbook_delta", of: reflect.TypeFor[schemas.WSBookDelta]()},
	{name: "trade", title: "Trade", doc: "A public trade. It names no account.", typ: "trade", of: reflect.TypeFor[schemas.Trade]()},
	{name: "oracle", title: "Index tick", doc: "The index price of a feed. All feeds come interleaved.", typ: "oracle", of: reflect.TypeFor[schemas.WSOracle]()},
	{name: "round", title: "Round", doc: "A round after a transition: opened, frozen, proposed, settled or void, or paused.", typ: "round", of: reflect.TypeFor[schemas.Round]()},
	{name: "user_snapshot", title: "Account", doc: "The account as of a seq: cash, positions, resting orders, dead-man switch. The events after it follow.", typ: "user_snapshot", of: reflect.TypeFor[schemas.WSUserSnapshot]()},
	{name: "user_order", title: "Order event", doc: "The whole order after any change: accepted, filled, decreased, canceled, expired, rejected. A cancel-all is one event per order.", typ: "user", event: "order", of: reflect.TypeFor[schemas.OrderEvent]()},
	{name: "user_fill", title: "Fill event", doc: "One of the account's fills, in either role.", typ: "user", event: "fill", of: reflect.TypeFor[schemas.FillEvent]()},
	{name: "user_balance", title: "Balance event", doc: "Cash and reservations after a change of them.", typ: "user", event: "balance", of: reflect.TypeFor[schemas.BalanceEvent]()},
	{name: "user_position", title: "Position event", doc: "A holding after a change; zeros when it is gone.", typ: "user", event: "position", of: reflect.TypeFor[schemas.PositionEvent]()},
	{name: "user_settlement", title: "Settlement event", doc: "What a finished round paid.", typ: "user", event: "settlement", of: reflect.TypeFor[schemas.SettlementEvent]()},
	{name: "user_deposit", title: "Deposit event", doc: "Money that came in.", typ: "user", event: "deposit", of: reflect.TypeFor[schemas.DepositEvent]()},
	{name: "user_withdrawal", title: "Withdrawal event", doc: "A withdrawal after a change: pending, completed, rejected.", typ: "user", event: "withdrawal", of: reflect.TypeFor[schemas.WithdrawalEvent]()},
	{name: "user_deadman", title: "Dead-man switch event", doc: "The switch was armed, disarmed or fired.", typ: "user", event: "deadman", of: reflect.TypeFor[schemas.DeadmanEvent]()},
	{name: "user_key_revoked", title: "Key revoked event", doc: "A key of the account opens nothing any more. Its own connections close with 4401 instead.", typ: "user", event: "key_revoked", of: reflect.TypeFor[schemas.KeyRevokedEvent]()},
}

// carried lists the channels with their messages.
var carried = []struct {
	channel
	title, doc string
	messages   []string
}{
	{deltas, "Order books, every change", "First a snapshot per market, then one delta per command and market. A slot's new generation starts with a new snapshot. A reader that falls behind gets a fresh snapshot instead of what was queued.", []string{"orderbook_snapshot", "orderbook_delta"}},
	{snapshots, "Order books, whole", "A whole book per market, at most every 100 ms and only when it changed.", []string{"orderbook_snapshot"}},
	{trades, "Trades", "Every public trade. Never thinned.", []string{"trade"}},
	{oracle, "Index prices", "Every index tick of every feed. market_ids do not apply. A reader that falls behind gets the latest of each feed.", []string{"oracle"}},
	{rounds, "Rounds", "The round of a market on every transition. A reader that falls behind gets the latest of each market.", []string{"round"}},
	{user, "The account", "A snapshot, then every event of the key's account. since_seq replays what came after it, once and in order: the newest 4096 events are kept, over restarts too; older gives resumed false and a snapshot. Never thinned.", []string{
		"user_snapshot", "user_order", "user_fill", "user_balance", "user_position", "user_settlement", "user_deposit", "user_withdrawal", "user_deadman", "user_key_revoked",
	}},
}

// drawer draws the schemas of messages. What is sent to the venue is closed, what
// it sends is open: a client ignores members it does not know.
type drawer struct{ in, out huma.Registry }

func newDrawer() drawer {
	made := func() huma.Registry { return huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer) }
	return drawer{made(), made()}
}

// command draws {id, cmd, params} (schemas.WSCommand). Params may be left out where
// none are required.
func (d drawer) command(c *told) *huma.Schema {
	params := d.in.Schema(c.of, true, c.of.Name())
	s := &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"id", "cmd"},
		Properties: map[string]*huma.Schema{"id": commandID(), "cmd": only(c.name), "params": params},
	}
	if len(d.in.SchemaFromRef(params.Ref).Required) > 0 {
		s.Required = append(s.Required, "params")
	}
	return s
}

func commandID() *huma.Schema {
	low, high := 1.0, float64(1<<31-1)
	return &huma.Schema{Type: huma.TypeInteger, Minimum: &low, Maximum: &high, Description: "The client's own; the answer repeats it"}
}

// answer draws schemas.WSAnswer.
func (d drawer) answer(a *told) *huma.Schema {
	s := d.whole(reflect.TypeFor[schemas.WSAnswer](), a)
	s.Properties["id"] = commandID()
	if s.Required = []string{"type", "msg"}; a.typ != "error" {
		s.Required = append(s.Required, "id")
	}
	return s
}

// message draws schemas.WSData.
func (d drawer) message(m *told) *huma.Schema {
	s := d.whole(reflect.TypeFor[schemas.WSData[any]](), m)
	if m.event != "" {
		d.out.SchemaFromRef(s.Properties["msg"].Ref).Properties["event"] = only(m.event)
	}
	return s
}

// whole draws an envelope around a message's own type.
func (d drawer) whole(envelope reflect.Type, m *told) *huma.Schema {
	s := huma.SchemaFromType(d.out, envelope)
	s.AdditionalProperties = nil
	s.Properties["type"], s.Properties["msg"] = only(m.typ), d.out.Schema(m.of, true, m.of.Name())
	return s
}

// settle puts right what huma makes of Go's types: unsigned numbers of 32 bits do
// not fit int32, and a list is never null on this wire.
func settle(s *huma.Schema) {
	if s.Format == "int32" {
		s.Format = "int64"
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
	}
	if s.Items != nil {
		settle(s.Items)
	}
	for _, p := range s.Properties {
		settle(p)
	}
}

// only is the schema of one word.
func only(word string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Extensions: map[string]any{"const": word}}
}

// components are the schemas that messages refer to.
func (d drawer) components() map[string]*huma.Schema {
	out := d.in.Map()
	for name, s := range d.out.Map() {
		if out[name] != nil {
			panic("ws: " + name + " is both sent and received")
		}
		s.AdditionalProperties = nil
		settle(s)
		out[name] = s
	}
	codes, names := []any{}, []any{}
	for _, f := range schemas.WSFaults {
		codes, names = append(codes, f.Code), append(names, f.Name)
	}
	failed := out["WSError"].Properties
	failed["code"].Enum, failed["name"].Enum = codes, names
	return out
}
