package ws

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"duplex/lanes/schemadoc"
	"duplex/schemas"
)

// messageDoc describes one message. The msg or params of the message has the type in
// package schemas that the lane encodes or decodes.
type messageDoc struct {
	name    string
	title   string
	doc     string
	typ     string // the member type of an answer or event; "" for a command
	event   string // the member event, on the channel user only
	msgType reflect.Type
}

// commands lists the client's commands, each with its possible answers.
var commands = []struct {
	messageDoc
	answers []string
}{
	{messageDoc{name: "subscribe", title: "Subscribe", doc: "Adds one subscription per channel; if one fails, none is added. Without market_ids a subscription covers all markets, including those that open later. since_seq resumes the channel user.", msgType: reflect.TypeFor[schemas.WSSubscribe]()}, []string{"subscribed", "error"}},
	{messageDoc{name: "unsubscribe", title: "Unsubscribe", doc: "Ends the subscriptions with these sids; if one sid is unknown, none is ended.", msgType: reflect.TypeFor[schemas.WSUnsubscribe]()}, []string{"unsubscribed", "error"}},
	{messageDoc{name: "update_subscription", title: "Change a subscription", doc: "get_snapshot sends the current state, in sequence with the other messages. add_markets and delete_markets change the markets of the subscription.", msgType: reflect.TypeFor[schemas.WSUpdate]()}, []string{"subscription_updated", "error"}},
	{messageDoc{name: "list_subscriptions", title: "List subscriptions", doc: "Lists this connection's subscriptions. It has no params.", msgType: reflect.TypeFor[schemas.WSListSubscriptions]()}, []string{"subscriptions", "error"}},
	{messageDoc{name: "cancel_on_disconnect", title: "Cancel on disconnect", doc: "Binds the account's orders, or those of a group, to this connection: when it ends, however that is, they are canceled with the reason disconnect. The newest connection has them. enabled false releases them. Needs the scope trade; costs a cancel token.", msgType: reflect.TypeFor[schemas.WSCancelOnDisconnect]()}, []string{"bound", "error"}},
}

// answers lists the answers to commands.
var answers = []messageDoc{
	{name: "subscribed", title: "Subscribed", doc: "One per channel, each followed by the channel's first data.", typ: "subscribed", msgType: reflect.TypeFor[schemas.WSSubscribed]()},
	{name: "unsubscribed", title: "Unsubscribed", doc: "No further messages are sent on these sids.", typ: "unsubscribed", msgType: reflect.TypeFor[schemas.WSUnsubscribed]()},
	{name: "subscription_updated", title: "Subscription changed", doc: "The markets that the subscription now covers. After get_snapshot, the snapshots follow.", typ: "ok", msgType: reflect.TypeFor[schemas.WSUpdated]()},
	{name: "subscriptions", title: "Subscriptions", doc: "This connection's subscriptions.", typ: "ok", msgType: reflect.TypeFor[schemas.WSSubscriptions]()},
	{name: "bound", title: "Bound", doc: "What is bound to this connection as of the seq.", typ: "ok", msgType: reflect.TypeFor[schemas.WSBound]()},
	{name: "draining", title: "Draining", doc: "Not an answer: the venue stops, and closes this connection at close_ts with 1012. Reads go on until then; commands of the account are rejected. Connect to another node.", typ: "draining", msgType: reflect.TypeFor[schemas.WSDraining]()},
	{name: "error", title: "Error", doc: "The command was rejected and changed nothing. The connection stays open. id is omitted if it could not be read.", typ: "error", msgType: reflect.TypeFor[schemas.WSError]()},
}

// data lists the messages of subscriptions.
var data = []messageDoc{
	{name: "orderbook_snapshot", title: "Order book", doc: "All levels of one market. Later deltas of this market apply to it.", typ: "orderbook_snapshot", msgType: reflect.TypeFor[schemas.WSBook]()},
	{name: "orderbook_delta", title: "Order book change", doc: "The changes of one command in one market. If prev_seq is not the seq of the last message on this sid and market, you missed a message: send get_snapshot.", typ: "orderbook_delta", msgType: reflect.TypeFor[schemas.WSBookDelta]()},
	{name: "trade", title: "Trade", doc: "A public trade. It names no account.", typ: "trade", msgType: reflect.TypeFor[schemas.Trade]()},
	{name: "oracle", title: "Index tick", doc: "The index price of a feed. The ticks of all feeds are interleaved.", typ: "oracle", msgType: reflect.TypeFor[schemas.WSOracle]()},
	{name: "round", title: "Round", doc: "A round after a transition: opened, frozen, proposed, settled or void, or paused.", typ: "round", msgType: reflect.TypeFor[schemas.Round]()},
	{name: "user_snapshot", title: "Account", doc: "The account as of a seq: cash, positions, resting orders, dead-man switch, groups. Later events follow.", typ: "user_snapshot", msgType: reflect.TypeFor[schemas.WSUserSnapshot]()},
	{name: "user_order", title: "Order event", doc: "The whole order after any change: accepted, filled, decreased, canceled, expired, rejected. A cancel-all is one event per order.", typ: "user", event: "order", msgType: reflect.TypeFor[schemas.OrderEvent]()},
	{name: "user_fill", title: "Fill event", doc: "One of the account's fills, in either role.", typ: "user", event: "fill", msgType: reflect.TypeFor[schemas.FillEvent]()},
	{name: "user_balance", title: "Balance event", doc: "Cash and reservations after a change of them.", typ: "user", event: "balance", msgType: reflect.TypeFor[schemas.BalanceEvent]()},
	{name: "user_position", title: "Position event", doc: "A position after a change; zeros once it is closed.", typ: "user", event: "position", msgType: reflect.TypeFor[schemas.PositionEvent]()},
	{name: "user_settlement", title: "Settlement event", doc: "What a finished round paid.", typ: "user", event: "settlement", msgType: reflect.TypeFor[schemas.SettlementEvent]()},
	{name: "user_deposit", title: "Deposit event", doc: "A deposit was credited.", typ: "user", event: "deposit", msgType: reflect.TypeFor[schemas.DepositEvent]()},
	{name: "user_withdrawal", title: "Withdrawal event", doc: "A withdrawal after a change: pending, completed, rejected.", typ: "user", event: "withdrawal", msgType: reflect.TypeFor[schemas.WithdrawalEvent]()},
	{name: "user_transfer", title: "Transfer event", doc: "Free cash moved between an owner and its agent.", typ: "user", event: "transfer", msgType: reflect.TypeFor[schemas.TransferEvent]()},
	{name: "user_account", title: "Account event", doc: "The agent's state or mandate changed.", typ: "user", event: "account", msgType: reflect.TypeFor[schemas.AccountEvent]()},
	{name: "user_deadman", title: "Dead-man switch event", doc: "The switch was armed, disarmed or fired.", typ: "user", event: "deadman", msgType: reflect.TypeFor[schemas.DeadmanEvent]()},
	{name: "user_group", title: "Group event", doc: "The bound of a group was set, reset or deleted, or its fills reached it, or its orders were bound to a connection, or are no more.", typ: "user", event: "group", msgType: reflect.TypeFor[schemas.GroupEvent]()},
	{name: "user_approval", title: "Approval event", doc: "An order of an agent waits for its owner, or has ended waiting. Its owner gets it too.", typ: "user", event: "approval", msgType: reflect.TypeFor[schemas.ApprovalEvent]()},
	{name: "user_key_revoked", title: "Key revoked event", doc: "A key of the account was revoked. The key's own connections are closed with 4401 instead.", typ: "user", event: "key_revoked", msgType: reflect.TypeFor[schemas.KeyRevokedEvent]()},
}

// channelDocs lists the channels with their messages.
var channelDocs = []struct {
	channel
	title, doc string
	messages   []string
}{
	{deltas, "Order books, every change", "A snapshot per market, then one delta per command and market. A slot's new generation starts with a new snapshot. A reader that falls behind receives a fresh snapshot in place of the queued messages.", []string{"orderbook_snapshot", "orderbook_delta"}},
	{snapshots, "Order books, whole", "The whole book of each market, at most every 100 ms and only after a change.", []string{"orderbook_snapshot"}},
	{trades, "Trades", "Every public trade. Trades are never dropped.", []string{"trade"}},
	{oracle, "Index prices", "Every index tick of every feed. market_ids do not apply. A reader that falls behind receives only the latest tick of each feed.", []string{"oracle"}},
	{rounds, "Rounds", "The round of a market on every transition. A reader that falls behind receives only the latest round of each market.", []string{"round"}},
	{user, "The account", "A snapshot, then every event of the key's account. With since_seq, the events after that seq are replayed once and in order instead. The venue keeps the newest 4096 events of an account, across restarts; an older since_seq is answered with resumed false and a snapshot. Events are never dropped.", []string{
		"user_snapshot", "user_order", "user_fill", "user_balance", "user_position", "user_settlement", "user_deposit", "user_withdrawal", "user_transfer", "user_account", "user_deadman", "user_group", "user_approval", "user_key_revoked",
	}},
}

// schemaBuilder builds the JSON schemas of messages. Messages to the venue allow no unknown
// members; messages of the venue do, and a client ignores them.
type schemaBuilder struct {
	in, out huma.Registry
	named   map[string]*huma.Schema // of whole messages and of the handshake
}

func newSchemaBuilder() schemaBuilder {
	made := func() huma.Registry { return huma.NewMapRegistry(schemadoc.Prefix, huma.DefaultSchemaNamer) }
	return schemaBuilder{made(), made(), map[string]*huma.Schema{}}
}

// command returns the schema of a command, {id, cmd, params} (schemas.WSCommand). params is
// optional if none of its members is required.
func (d schemaBuilder) command(c *messageDoc) *huma.Schema {
	params := d.in.Schema(c.msgType, true, c.msgType.Name())
	s := &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"id", "cmd"},
		Properties: map[string]*huma.Schema{"id": commandID(), "cmd": constSchema(c.name), "params": params},
	}
	if len(d.in.SchemaFromRef(params.Ref).Required) > 0 {
		s.Required = append(s.Required, "params")
	}
	return s
}

func commandID() *huma.Schema {
	low, high := 1.0, float64(1<<31-1)
	return &huma.Schema{Type: huma.TypeInteger, Minimum: &low, Maximum: &high, Description: "Chosen by the client; the answer repeats it"}
}

// answer returns the schema of an answer (schemas.WSAnswer).
func (d schemaBuilder) answer(a *messageDoc) *huma.Schema {
	s := d.envelope(reflect.TypeFor[schemas.WSAnswer](), a)
	s.Properties["id"] = commandID()
	if s.Required = []string{"type", "msg"}; a.typ != "error" && a.typ != "draining" {
		s.Required = append(s.Required, "id")
	}
	return s
}

// message returns the schema of a subscription's message (schemas.WSData).
func (d schemaBuilder) message(m *messageDoc) *huma.Schema {
	s := d.envelope(reflect.TypeFor[schemas.WSData[any]](), m)
	if m.event != "" {
		d.out.SchemaFromRef(s.Properties["msg"].Ref).Properties["event"] = constSchema(m.event)
	}
	return s
}

// envelope returns the schema of an envelope type with the message's own type and msg.
func (d schemaBuilder) envelope(envelope reflect.Type, m *messageDoc) *huma.Schema {
	s := huma.SchemaFromType(d.out, envelope)
	s.AdditionalProperties = nil
	s.Properties["type"], s.Properties["msg"] = constSchema(m.typ), d.out.Schema(m.msgType, true, m.msgType.Name())
	return s
}

// constSchema returns the schema of a string that is always word.
func constSchema(word string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Extensions: map[string]any{"const": word}}
}

// payload names the schema of a message and returns a reference to it.
func (d schemaBuilder) payload(m *messageDoc, s *huma.Schema) *huma.Schema {
	name := pascal(m.name) + "Message"
	s.Title = name
	d.named[name] = s
	return &huma.Schema{Ref: schemadoc.Prefix + name}
}

// components returns the schemas that messages refer to. It panics if a type is both sent
// and received, since the two differ in whether they allow unknown members.
func (d schemaBuilder) components() map[string]*huma.Schema {
	schemadoc.CompleteAll(d.in)
	schemadoc.CompleteAll(d.out)
	codes, names := []any{}, []any{}
	for _, f := range schemas.WSErrorTable {
		codes, names = append(codes, f.Code), append(names, f.Name)
	}
	failed := d.out.Map()["WSError"].Properties
	failed["code"].Enum, failed["name"].Enum = codes, names
	for _, s := range d.out.Map() {
		s.AdditionalProperties = nil
	}
	out := d.named
	for _, all := range []map[string]*huma.Schema{d.in.Map(), d.out.Map()} {
		for name, s := range all {
			if out[name] != nil {
				panic("ws: there are two schemas " + name)
			}
			titleEnums(name, s)
			out[name] = s
		}
	}
	return out
}

// titleEnums titles the values of a component's members by component and member. Generators name the type of
// an enum by its title, and number those without one.
func titleEnums(component string, s *huma.Schema) {
	for name, p := range s.Properties {
		if p.Items != nil {
			p = p.Items
		}
		if len(p.Enum) > 0 {
			p.Title = component + pascal(name)
		}
		if p.Ref != "" {
			p.Description = "" // JSON Schema ignores what is beside a reference; the component has a description
		}
	}
	if len(s.Enum) > 0 {
		s.Title = component
	}
}

// pascal returns a name in snake case as PascalCase.
func pascal(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
