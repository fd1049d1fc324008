package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"duplex/core"
	deep "duplex/core/sim"
	"duplex/lanes/mcp"
	"duplex/schemas"
	"duplex/tools"
)

// operation is an operation in the forms of both lanes.
type operation struct {
	tool         string
	method       string
	target       string
	body         object // nil if there is none
	args         object
	status       int
	scope        core.Scopes
	bucket       tools.Bucket
	items        int    // commands in the request; each costs a token
	batch        bool   // the answer has one element per command
	deduplicated bool   // the response cache answers repeats
	fault        string // the code that decoding must return; "" if the request is valid
}

// networkFault is a fault in the delivery of a request.
type networkFault uint8

const (
	noFault  networkFault = iota
	slow                  // the end arrives late
	severed               // the connection closes before the end
	stalled               // the end never arrives and the connection stays open
	silenced              // the answer is lost
)

func (f networkFault) String() string {
	return [...]string{"whole", "slow", "severed", "stalled", "silenced"}[f]
}

// request is a request and its delivery.
type request struct {
	d          *simGate
	n          int
	cmds       []core.Command // that the log contains for this request, in order
	operation  operation
	key        *key
	tool       bool
	byOperator bool   // sent to the operator's listener
	modern     bool   // uses the MCP revision without a handshake
	ms         int64  // the signed timestamp
	replayKey  string // equal for exact repeats
	raw        []byte
	head       int // number of bytes before the body
	fault      networkFault
	at         int           // offset in raw of the fault
	pause      time.Duration // delay if slow

	// Set by Send and Ended.
	since        uint64       // the last seq before sending
	arrived      bool         // the whole request arrived
	gaveUp       bool         // the client gave up, or the network was closed
	wantCode     string       // the code that the gate must reject it with; "" if it must accept it
	why          string       // distinguishes reasons for one wantCode
	wait         int64        // expected retry_after_ms
	first        *request     // the earlier request with the same bytes, whose answer this one must get
	reply        *reply       // nil if there was no answer
	result       replyResult  // decoded from reply
	sharedResult *replyResult // the answer to all requests with these bytes; only on the first
}

// NewRequest returns one request for the commands of an account, or for an operator's command.
func (d *simGate) NewRequest(cmds []core.Command) deep.Request {
	if u := accountOf(cmds[0]); u == 0 {
		q := d.operatorRequest(cmds[0])
		if q == nil {
			return nil
		}
		d.drawFault(q)
		return q
	}
	switch cmds[0].(type) {
	case *core.CreateAgent, *core.Transfer, *core.SetMandate, *core.HaltAgent, *core.ResumeAgent, *core.CloseAgent, *core.DecideAsk:
		return nil // the portal has these
	}
	absent := map[string]bool{} // members of a replace
	if c, ok := cmds[0].(*core.ReplaceOrder); ok {
		for _, name := range append([]string{"tick", "tif", "max_cost", "group_id"}, flagNames[:]...) {
			absent[name] = d.Rand.IntN(2) == 0
		}
		if c = d.expected.replacement(c, absent, d.At().Seq); c == nil {
			return nil
		}
		cmds = []core.Command{c}
	}
	if c, ok := cmds[0].(*core.PlaceOrder); ok && len(cmds) == 1 && c.Type == core.Limit && d.Rand.IntN(6) == 0 {
		cmds = d.quotesOf(c)
	}
	switch c := cmds[0].(type) { // the switch of a group as often as that of the account
	case *core.ArmDeadman:
		cmds = []core.Command{&core.ArmDeadman{User: c.User, TimeoutMs: c.TimeoutMs, Group: uint32(d.Rand.IntN(3))}}
	case *core.DisarmDeadman:
		cmds = []core.Command{&core.DisarmDeadman{User: c.User, Group: uint32(d.Rand.IntN(3))}}
	}
	tool := d.Rand.IntN(3) == 0
	for i, cmd := range cmds {
		c, ok := cmd.(*core.PlaceOrder)
		if !ok || !tool {
			continue
		}
		named := *c
		if c.Generation == 0 { // a tool requires it
			named.Generation = max(1, d.expected.generations[c.Market])
		}
		if c.Type == core.Market && !c.Unpriced { // a tool refuses what would be in cents
			named.Tick = max(named.Tick, 100)
		}
		cmds[i] = &named
	}
	f := d.formOf(cmds)
	if absent["tif"] {
		absent["expiry_ts"] = true
	}
	for name, gone := range absent {
		if gone {
			delete(f.body, name)
			delete(f.args, name)
		}
	}
	q := d.write(f, accountOf(cmds[0]), tool)
	for i, cmd := range cmds {
		switch c := cmd.(type) {
		case *core.PlaceOrder:
			cmd = withFault(c)
		case *core.ReplaceOrder:
			cmd = &core.ReplaceOrder{PlaceOrder: *withFault(&c.PlaceOrder), Old: c.Old}
		case *core.QuoteSide:
			cmd = d.sideFault(cmds, i)
		}
		q.cmds = append(q.cmds, withKey(cmd, q.key.number))
	}
	d.drawFault(q)
	if d.stats.REST++; q.tool {
		d.stats.REST--
		d.stats.Tool++
	}
	if len(cmds) > 1 {
		d.stats.Batches++
	}
	return q
}

// drawFault draws the fault of a request.
func (d *simGate) drawFault(q *request) {
	r, body := d.Rand, len(q.raw)-q.head
	switch n := r.IntN(40); {
	case n == 0:
		q.fault, q.at = severed, 1+r.IntN(len(q.raw)-1)
	case n == 1 && body > 1:
		q.fault, q.at = stalled, q.head+r.IntN(body-1)
	case n < 5 && body > 1:
		q.fault, q.at, q.pause = slow, q.head+r.IntN(body-1), time.Duration(1+r.IntN(3000))*time.Millisecond
	case n < 8:
		q.fault = silenced
	default:
		q.fault = noFault
	}
}

// quotesOf returns the commands of one to three quotes around the price of a placement, in adjacent markets.
func (d *simGate) quotesOf(c *core.PlaceOrder) (cmds []core.Command) {
	r := d.Rand
	for i := range 1 + r.IntN(3) {
		bid := core.QuoteSide{PlaceOrder: core.PlaceOrder{
			User: c.User, ClientID: c.ClientID, Market: c.Market + core.MarketID(i), Qty: c.Qty, Tick: c.Tick, Group: uint32(1 + r.IntN(2)), NotAfter: c.NotAfter, Flags: core.QuoteFlags,
		}}
		if bid.Generation = max(1, d.expected.generations[bid.Market]); r.IntN(20) == 0 {
			bid.Generation++
		}
		ask := bid
		ask.Side, ask.Tick = core.Sell, bid.Tick+core.Tick(100*(r.IntN(8)-1))
		for _, s := range []*core.QuoteSide{&bid, &ask} {
			if i > 0 || s == &ask {
				d.quoteIDs++
				s.ClientID = 1<<40 + d.quoteIDs
			}
			if r.IntN(6) == 0 {
				*s = core.QuoteSide{Cancel: true, PlaceOrder: core.PlaceOrder{User: s.User, Market: s.Market, Generation: s.Generation, Side: s.Side, Group: s.Group, NotAfter: s.NotAfter}}
			}
			cmds = append(cmds, s)
		}
	}
	return cmds
}

// sideFault returns a copy of side i of some quotes with the fault that decoding finds and the core rejects.
func (d *simGate) sideFault(cmds []core.Command, i int) core.Command {
	s, other := cmds[i].(*core.QuoteSide), cmds[i^1].(*core.QuoteSide)
	if s.Cancel {
		return s
	}
	inRange := func(t core.Tick) bool { return t >= 1 && t <= 9999 }
	out := core.QuoteSide{PlaceOrder: *withFault(&s.PlaceOrder)}
	switch bid, ask := min(i, i^1), max(i, i^1); {
	case s.ClientID == 0:
		out.Fault = core.ClientOrderIDRequired
	case !other.Cancel && inRange(s.Tick) && inRange(other.Tick) && cmds[bid].(*core.QuoteSide).Tick >= cmds[ask].(*core.QuoteSide).Tick:
		out.Fault = core.CrossedQuote
	case out.Fault == core.OK && !inRange(s.Tick):
		out.Fault = core.BadPriceTick
	}
	return &out
}

// accountOf returns the account of a command, 0 for an operator's command.
func accountOf(cmd core.Command) core.UserID {
	_, u := core.ClassOf(cmd)
	return u
}

// withFault returns a copy of a placement with the fault that decoding finds and the core
// rejects.
func withFault(c *core.PlaceOrder) *core.PlaceOrder {
	out := *c
	switch {
	case c.Qty < 1 || c.Qty > 1_000_000:
		out.Fault = core.BadQty
	case c.ClientID == 0:
		out.Fault = core.ClientOrderIDRequired
	}
	return &out
}

// withKey returns a copy of a command that names the key that signs its request.
func withKey(cmd core.Command, n core.KeyNumber) core.Command {
	out := reflect.New(reflect.TypeOf(cmd).Elem())
	out.Elem().Set(reflect.ValueOf(cmd).Elem())
	out.Elem().FieldByName("Key").Set(reflect.ValueOf(n))
	return out.Interface().(core.Command)
}

const orders = "/v1/portfolio/orders"

// formOf returns the operation of an account's commands.
func (d *simGate) formOf(cmds []core.Command) operation {
	f := operation{status: 200, scope: core.ScopeTrade, items: 1}
	if len(cmds) > 1 {
		return d.batchOf(f, cmds)
	}
	switch c := cmds[0].(type) {
	case *core.PlaceOrder:
		f.tool, f.method, f.target, f.body, f.status, f.bucket = "place_order", "POST", orders, d.order(c), 201, tools.Write
		f.args = f.body
	case *core.ReplaceOrder:
		f.tool, f.method, f.target, f.body, f.status, f.bucket = "replace_order", "POST", orders+"/"+str(uint64(c.Old))+"/replace", d.order(&c.PlaceOrder), 201, tools.Write
		// A member with its default says something else than an absent one.
		f.body["tif"], f.body["max_cost"], f.body["group_id"] = c.TIF.String(), str(c.MaxCost), num(c.Group)
		for i, name := range flagNames {
			f.body[name] = c.Flags.Has(1 << i)
		}
		for _, name := range []string{"market_id", "side", "outcome", "generation"} { // those of the old order
			delete(f.body, name)
		}
		f.args = with(f.body, "order_id", str(uint64(c.Old)))
	case *core.CancelOrder:
		f.tool, f.method, f.target, f.args, f.bucket = "cancel_order", "DELETE", orders+"/"+str(uint64(c.Order)), object{"order_id": str(uint64(c.Order))}, tools.Cancel
	case *core.CancelAll:
		f.tool, f.method, f.target, f.args, f.bucket, f.deduplicated = "cancel_all_orders", "DELETE", orders, object{}, tools.Cancel, true
		var query []string
		if c.Market != 0 || d.Rand.IntN(2) == 0 {
			f.args["market_id"], query = num(c.Market), append(query, "market_id="+string(num(c.Market)))
		}
		if c.Group != 0 || d.Rand.IntN(2) == 0 {
			f.args["group_id"], query = num(c.Group), append(query, "group_id="+string(num(c.Group)))
		}
		if len(query) > 0 {
			f.target += "?" + strings.Join(query, "&")
		}
	case *core.DecreaseOrder:
		f.tool, f.method, f.target, f.bucket, f.deduplicated = "decrease_order", "POST", orders+"/"+str(uint64(c.Order))+"/decrease", tools.Write, true
		if f.body = (object{"reduce_by": num(c.Amount)}); c.To {
			f.body = object{"reduce_to": num(c.Amount)}
		} else if c.Amount < 1 {
			f.fault = "invalid_decrease"
		}
		if c.RequestID != 0 {
			f.body["client_request_id"] = str(c.RequestID)
		}
		f.args = with(f.body, "order_id", str(uint64(c.Order)))
	case *core.ArmDeadman:
		f.tool, f.method, f.target, f.body, f.bucket, f.deduplicated = "arm_deadman", "POST", "/v1/portfolio/deadman", object{"timeout_ms": num(c.TimeoutMs)}, tools.Cancel, true
		if f.args = f.body; c.TimeoutMs < 1000 || c.TimeoutMs > 60_000 {
			f.fault = "invalid_timeout"
		}
		if c.Group != 0 {
			f.body["group_id"] = num(c.Group)
		}
	case *core.DisarmDeadman:
		f.tool, f.method, f.target, f.args, f.bucket, f.deduplicated = "disarm_deadman", "DELETE", "/v1/portfolio/deadman", object{}, tools.Cancel, true
		if c.Group != 0 {
			f.target, f.args = fmt.Sprintf("%s?group_id=%d", f.target, c.Group), object{"group_id": num(c.Group)}
		}
	case *core.Redeem:
		f.tool, f.method, f.target, f.bucket, f.deduplicated = "redeem_pairs", "POST", "/v1/portfolio/redeem", tools.Write, true
		f.body = object{"market_id": num(c.Market), "qty": num(c.Qty)}
		if c.RequestID != 0 {
			f.body["client_request_id"] = str(c.RequestID)
		}
		if f.args = f.body; c.Qty < 1 {
			f.fault = "bad_qty"
		}
	case *core.RequestWithdrawal:
		f.tool, f.method, f.target, f.status, f.scope, f.bucket, f.deduplicated = "request_withdrawal", "POST", "/v1/withdrawals", 202, core.ScopeWithdraw, tools.Write, true
		f.body = object{"client_withdrawal_id": c.ClientID, "amount": str(c.Amount), "destination": c.Destination}
		if f.args = f.body; c.Amount == 0 {
			f.fault = "bad_amount"
		}
	case *core.SetGroup:
		f.tool, f.method, f.target, f.bucket, f.deduplicated = "set_group", "PUT", groupTarget(c.Group), tools.Write, true
		f.body = object{"fill_limit": num(c.FillLimit), "window_ms": num(c.WindowMs)}
		if f.args = with(f.body, "group_id", num(c.Group)); c.Group == 0 {
			f.fault = "unknown_group"
		}
	case *core.ResetGroup:
		f.tool, f.method, f.target, f.args, f.bucket, f.deduplicated = "reset_group", "POST", groupTarget(c.Group)+"/reset", object{"group_id": num(c.Group)}, tools.Write, true
		if c.Group == 0 {
			f.fault = "unknown_group"
		}
	case *core.DeleteGroup:
		f.tool, f.method, f.target, f.args, f.bucket, f.deduplicated = "delete_group", "DELETE", groupTarget(c.Group), object{"group_id": num(c.Group)}, tools.Write, true
		if c.Group == 0 {
			f.fault = "unknown_group"
		}
	default:
		panic(fmt.Sprintf("%T is not a command of an account", c))
	}
	return f
}

func groupTarget(id uint32) string { return fmt.Sprintf("/v1/portfolio/groups/%d", id) }

func (d *simGate) batchOf(f operation, cmds []core.Command) operation {
	var list []any
	f.batch, f.items = true, len(cmds)
	if _, quotes := cmds[0].(*core.QuoteSide); quotes {
		return d.quotesForm(f, cmds)
	}
	for _, cmd := range cmds {
		switch c := cmd.(type) {
		case *core.PlaceOrder:
			f.tool, f.method, f.bucket = "place_orders", "POST", tools.Write
			list = append(list, d.order(c))
		case *core.CancelOrder:
			f.tool, f.method, f.bucket = "cancel_orders", "DELETE", tools.Cancel
			list = append(list, str(uint64(c.Order)))
		}
	}
	if f.target, f.body = orders+"/batch", (object{"orders": list}); f.tool == "cancel_orders" {
		f.body = object{"order_ids": list}
	}
	f.args = f.body
	return f
}

// quotesForm returns the operation of the sides of some quotes.
func (d *simGate) quotesForm(f operation, cmds []core.Command) operation {
	f.tool, f.method, f.target, f.bucket, f.deduplicated, f.items = "put_quotes", "PUT", "/v1/portfolio/quotes", tools.Write, true, len(cmds)/2
	list := make([]any, f.items)
	for i := range list {
		bid := cmds[2*i].(*core.QuoteSide)
		o := object{"market_id": num(bid.Market), "generation": num(bid.Generation), "group_id": num(bid.Group), "bid": side(bid), "ask": side(cmds[2*i+1].(*core.QuoteSide))}
		if bid.NotAfter != 0 {
			o["not_after_ts"] = str(bid.NotAfter)
		}
		list[i] = o
	}
	f.body = object{"quotes": list}
	f.args = f.body
	return f
}

// side returns the JSON of a side of a quote.
func side(c *core.QuoteSide) any {
	if c.Cancel {
		return nil
	}
	return object{"client_order_id": str(c.ClientID), "tick": num(c.Tick), "qty": num(c.Qty)}
}

// order returns the JSON object of a placement. It omits default values at random.
// flagNames are the members of the flags, by bit.
var flagNames = [...]string{"post_only", "reduce_only", "cancel_on_pause", "stp_maker"}

func (d *simGate) order(c *core.PlaceOrder) object {
	explicit := func() bool { return d.Rand.IntN(3) == 0 }
	o := object{"market_id": num(c.Market), "side": c.Side.String(), "outcome": c.Outcome.String(), "qty": num(c.Qty)}
	if c.ClientID != 0 || explicit() {
		o["client_order_id"] = str(c.ClientID)
	}
	if c.Type == core.Market {
		if o["type"] = "market"; !c.Unpriced {
			o["worst_tick"] = num(c.Tick)
		}
	} else {
		o["tick"] = num(c.Tick)
		if explicit() {
			o["type"] = "limit"
		}
		if c.TIF != core.GTC || explicit() {
			o["tif"] = c.TIF.String()
		}
	}
	if c.TIF == core.GTT || explicit() {
		o["expiry_ts"] = str(c.Expiry)
	}
	if c.NotAfter != 0 || explicit() {
		o["not_after_ts"] = str(c.NotAfter)
	}
	if c.MaxCost != 0 || explicit() {
		o["max_cost"] = str(c.MaxCost)
	}
	if c.Group != 0 || explicit() {
		o["group_id"] = num(c.Group)
	}
	if c.Generation != 0 {
		o["generation"] = num(c.Generation)
	}
	for i, name := range flagNames {
		if on := c.Flags.Has(1 << i); on || explicit() {
			o[name] = on
		}
	}
	return o
}

func with(o object, name string, v any) object {
	out := object{}
	maps.Copy(out, o)
	out[name] = v
	return out
}

// keyOf returns a key to sign with: usually a valid one, at times one that is revoked, does
// not exist, or lacks the scope.
func (d *simGate) keyOf(u core.UserID) *key {
	switch n := d.Rand.IntN(40); {
	case n == 0:
		id := fmt.Sprintf("dxk%024x", 1<<40+d.n)
		return &key{id: id, secret: secretOf(id), user: u, revoked: true}
	case n == 1:
		if k := d.validKey(u, kinds[2]); k != nil {
			return k
		}
	case n < 8:
		if k := d.validKey(u, kinds[1]); k != nil {
			return k
		}
	case n == 8: // an old key
		for n := 1; n <= d.made; n++ {
			if k := d.keys[fmt.Sprintf("dxk%024x", n)]; k != nil && k.user == u {
				return k
			}
		}
	}
	for _, s := range kinds[:2] {
		if k := d.validKey(u, s); k != nil {
			return k
		}
	}
	for n := 1; n <= d.made; n++ {
		if k := d.keys[fmt.Sprintf("dxk%024x", n)]; k != nil && k.user == u {
			return k // the account's first key, which is revoked
		}
	}
	return &key{id: fmt.Sprintf("dxk%024x", 1<<40+d.n), secret: secretOf(""), user: u, revoked: true}
}

// write returns a signed request with its bytes.
func (d *simGate) write(f operation, u core.UserID, tool bool) *request {
	d.n++
	q := &request{d: d, n: d.n, operation: f, key: d.keyOf(u), tool: tool}
	q.ms = d.Now() / core.NsPerMs
	switch d.Rand.IntN(30) { // the client's clock differs
	case 0:
		q.ms += int64([]int{-5001, 5001, -60_000, 9000}[d.Rand.IntN(4)])
	case 1, 2, 3:
		q.ms += int64(d.Rand.IntN(9000)) - 4500
	}
	for method, target, body, header := q.parts(); ; q.ms++ { // only the network repeats a request
		ts := str(q.ms)
		sig := schemas.Sign(q.key.secret, ts, method, target, body)
		if q.replayKey = q.key.id + ts + sig; d.signed[q.replayKey] {
			continue
		}
		d.signed[q.replayKey] = true
		header = append(header, schemas.HeaderKey, q.key.id, schemas.HeaderTimestamp, ts, schemas.HeaderSignature, sig)
		q.bytes(method, target, header, body)
		return q
	}
}

// bytes sets raw to the request's bytes.
func (q *request) bytes(method, target string, header []string, body []byte) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: venue\r\n", method, target)
	for i := 0; i < len(header); i += 2 {
		fmt.Fprintf(&b, "%s: %s\r\n", header[i], header[i+1])
	}
	if len(body) > 0 {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	q.head = b.Len()
	b.Write(body)
	q.raw = b.Bytes()
}

// parts returns the method, target, body and headers for the request's lane.
func (q *request) parts() (method, target string, body []byte, header []string) {
	if !q.tool {
		if q.operation.body != nil {
			body = encode(q.operation.body)
		}
		return q.operation.method, q.operation.target, body, nil
	}
	params := object{"name": q.operation.tool, "arguments": q.operation.args}
	revision := []string{"2026-07-28", "2025-11-25", "2025-06-18"}[q.d.Rand.IntN(3)]
	header = []string{"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", revision}
	if q.modern = revision == "2026-07-28"; q.modern {
		params["_meta"] = object{"io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientCapabilities": object{}}
		header = append(header, "Mcp-Method", "tools/call", "Mcp-Name", q.operation.tool)
	}
	return "POST", mcp.Path, encode(object{"jsonrpc": "2.0", "id": num(q.n), "method": "tools/call", "params": params}), header
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func (q *request) Commands() []core.Command { return q.cmds }

func (q *request) String() string {
	lane := "REST"
	switch {
	case q.byOperator:
		return fmt.Sprintf("operator %s by %s, %s: %s %s", q.operation.tool, q.key.id, q.fault, q.operation.target, encode(q.operation.body))
	case q.tool:
		lane = "tool"
	}
	return fmt.Sprintf("%s %s of user %d by key %s at %d, %s: %s %s", lane, q.operation.tool, q.key.user, q.key.id, q.ms, q.fault, q.operation.target, encode(q.operation.args))
}

// Copy returns a repeat of the request, with its own fault.
func (q *request) Copy() deep.Request {
	c := &request{d: q.d, n: q.n, cmds: q.cmds, operation: q.operation, key: q.key, tool: q.tool, byOperator: q.byOperator, modern: q.modern, ms: q.ms, replayKey: q.replayKey, raw: q.raw, head: q.head}
	q.d.drawFault(c)
	q.d.stats.Again++
	return c
}

// Send delivers the request and waits for its answer until ctx ends.
func (q *request) Send(ctx context.Context) {
	q.since = q.d.At().Seq
	net := q.d.net
	if q.byOperator {
		net = q.d.operatorNet
	}
	conn, err := net.dial()
	if err != nil {
		q.gaveUp = true
		return
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	replied := make(chan struct{})
	go func() { // the gate may answer before it has the whole request
		defer close(replied)
		q.reply = receive(conn)
	}()
	defer func() { conn.Close(); <-replied }()
	rest := q.raw
	if q.fault == slow || q.fault == severed || q.fault == stalled {
		rest = q.raw[q.at:]
		if _, err := conn.Write(q.raw[:q.at]); err != nil {
			q.gaveUp = true
			return
		}
	}
	switch q.fault {
	case severed:
		return
	case slow:
		select {
		case <-time.After(q.pause):
		case <-ctx.Done():
			q.gaveUp = true
			return
		case <-net.over:
			q.gaveUp = true
			return
		}
	}
	if q.fault != stalled {
		q.d.onArrival(q)
		_, _ = conn.Write(rest) // an answer says why it failed
	}
	<-replied
	q.gaveUp = ctx.Err() != nil || net.isCut()
}

// onArrival derives the gate's expected answer when the request arrives, in the order of the
// gate's checks (docs/rules/rest.md#order-of-checks).
func (d *simGate) onArrival(q *request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q.arrived = true
	if q.byOperator {
		if q.wantCode = q.operation.fault; q.key.revoked {
			q.wantCode = "unauthorized"
		}
		return
	}
	k := d.keys[q.key.id]
	switch {
	case !d.withinReplayWindow(q.ms):
		q.wantCode, q.why = "unauthorized", "outside the window"
		return
	case k == nil || k.revoked:
		q.wantCode, q.why = "unauthorized", "no such key"
		return
	}
	writes := q.operation.bucket != tools.Read
	first := d.seen[q.replayKey]
	if writes && first == nil {
		d.seen[q.replayKey] = q
	}
	switch {
	case d.replayGuard && first != nil && !q.operation.deduplicated:
		q.wantCode, q.why = "unauthorized", "replay"
		return
	case q.operation.deduplicated:
		q.first = first
	}
	if !k.scopes.Has(q.operation.scope) {
		q.wantCode = "missing_scope"
	} else if ok, wait := d.charge(k, q.operation.bucket, 1, 1); !ok {
		q.wantCode, q.wait = "rate_limited", wait
	} else if q.operation.fault != "" {
		q.wantCode = q.operation.fault
	} else if q.operation.items > 1 {
		if ok, wait := d.charge(k, q.operation.bucket, q.operation.items-1, q.operation.items); !ok {
			q.wantCode, q.wait = "rate_limited", wait
		}
	}
	if q.wantCode != "" && d.seen[q.replayKey] == q && !d.replayGuard {
		delete(d.seen, q.replayKey) // rejected before the response cache
	}
}

// all returns the same end for every command of the request.
func (q *request) all(how deep.CommandStatus) []deep.CommandResult {
	ends := make([]deep.CommandResult, len(q.cmds))
	for i := range ends {
		ends[i].Status = how
	}
	return ends
}

// Results compares the answer with the gate's expected answer and with the log.
func (q *request) Results(lost bool) ([]deep.CommandResult, error) {
	d := q.d
	if lost {
		return q.unknown(), nil
	}
	if q.reply == nil {
		return q.unanswered()
	}
	t, err := q.readReply()
	if err != nil {
		return nil, errors.Join(err, d.faulty())
	}
	q.result = t
	if q.fault == stalled || !q.arrived { // the client gave up while the body was on its way
		if t.code != "unauthorized" {
			return nil, fmt.Errorf("a request without its whole body is answered %+v", t)
		}
		d.stats.Cut++
		return q.all(deep.NotDone), nil
	}
	if q.wantCode != "" {
		return q.checkRejected()
	}
	ends, err := q.ended()
	if err != nil {
		return nil, err
	}
	if q.fault == silenced { // the answer was correct, and the client does not receive it
		d.stats.Silent++
		return q.unknown(), nil
	}
	return ends, nil
}

// readReply reads the answer, after a test's tamperReply.
func (q *request) readReply() (replyResult, error) {
	if q.d.tamperReply != nil {
		q.d.tamperReply(q, q.reply)
	}
	return q.reply.read(q)
}

// unanswered returns the ends of a request without an answer.
func (q *request) unanswered() ([]deep.CommandResult, error) {
	switch {
	case q.fault == severed, q.fault == stalled && q.gaveUp, q.gaveUp && !q.arrived:
		q.d.stats.Cut++
		return q.all(deep.NotDone), nil
	case q.arrived && q.gaveUp && q.wantCode != "":
		return q.all(deep.NotDone), nil
	case q.arrived && q.gaveUp:
		q.d.stats.Silent++
		return q.unknown(), nil
	}
	return nil, fmt.Errorf("the connection ended without an answer")
}

func (q *request) unknown() []deep.CommandResult {
	q.d.resolveLater(q)
	return q.all(deep.Unknown)
}

func (q *request) checkRejected() ([]deep.CommandResult, error) {
	t := q.result
	if t.code == "unauthorized" && q.wantCode != t.code && q.d.keyRevoked(q.key.id) { // revoked after the request arrived
		return q.all(deep.NotDone), nil
	}
	if t.code != q.wantCode {
		return nil, fmt.Errorf("answered %q %s, want code %q", t.code, q.reply.body, q.wantCode)
	}
	if off := t.wait - q.wait; off < -1 || off > 1 { // the gate's limiter computes in floating point
		return nil, fmt.Errorf("rate_limited with retry_after_ms %d, want %d", t.wait, q.wait)
	}
	q.d.stats.NotDone[strings.TrimSpace(t.code+" "+q.why)]++
	return q.all(deep.NotDone), nil
}

// ended returns the ends of an answered request that the gate must accept.
func (q *request) ended() ([]deep.CommandResult, error) {
	d, t, since := q.d, q.result, q.since
	if q.operation.deduplicated {
		lead := q
		if q.first != nil {
			lead = q.first
		}
		if lead.sharedResult != nil {
			if !q.same(*lead.sharedResult, t) {
				return nil, fmt.Errorf("a repeat is answered %+v, want the first answer %+v", t, *lead.sharedResult)
			}
			d.stats.Repeats++
			return q.all(deep.NotDone), nil // the repeat itself executed nothing
		}
		if t.code != "shed" && t.code != "draining" { // the response cache does not hold these
			lead.sharedResult = &t
		}
		since = min(since, lead.since)
	}
	if len(q.cmds) > 1 && t.code == "" {
		return q.endedByPart(since)
	}
	end, err := d.end(q, q.cmds[0], t.code, t.tree, since)
	if err != nil {
		return nil, err
	}
	ends := q.all(end.Status)
	if t.code == "" || end.Status == deep.Answered {
		ends[0] = end
	}
	return ends, nil
}

// same reports whether a repeat has the answer of the first. The hints of quotes are those of its time.
func (q *request) same(a, b replyResult) bool {
	if q.operation.tool != "put_quotes" || len(a.parts) == 0 || len(a.parts) != len(b.parts) {
		return reflect.DeepEqual(a, b)
	}
	for i := range a.parts {
		code, tree, err := q.part(a.parts[i])
		again, treeAgain, errAgain := q.part(b.parts[i])
		if err != nil || errAgain != nil || code != again || !reflect.DeepEqual(tree, treeAgain) {
			return false
		}
	}
	return true
}

func (q *request) endedByPart(since uint64) ([]deep.CommandResult, error) {
	if len(q.result.parts) != len(q.cmds) {
		return nil, fmt.Errorf("%d parts for %d commands", len(q.result.parts), len(q.cmds))
	}
	ends := make([]deep.CommandResult, len(q.cmds))
	for i, cmd := range q.cmds {
		code, tree, err := q.part(q.result.parts[i])
		if err == nil {
			ends[i], err = q.d.end(q, cmd, code, tree, since)
		}
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
	}
	return ends, nil
}

// end returns what the client knows about one command.
func (d *simGate) end(q *request, cmd core.Command, code string, tree object, since uint64) (deep.CommandResult, error) {
	switch code {
	case "shed", "draining":
		d.stats.NotDone[code]++
		return deep.CommandResult{Status: deep.NotDone}, nil
	case "sequencing_timeout":
		d.stats.Unknown++
		d.resolveLater(q)
		d.pendingCommands = append(d.pendingCommands, pendingCommand{wireOf(cmd), q.key.id, since, time.Now()})
		return deep.CommandResult{Status: deep.Unknown}, nil
	case "unauthorized":
		if d.keyRevoked(q.key.id) { // revoked after the request arrived
			d.stats.NotDone[code+" in flight"]++
			return deep.CommandResult{Status: deep.NotDone}, nil
		}
	}
	unfunded, held := d.unfunded(cmd, code, since)
	if unfunded && !held {
		d.stats.NotDone["unfunded"]++
		return deep.CommandResult{Status: deep.NotDone}, nil
	}
	e, err := d.expected.claim(wireOf(cmd), code, tree, since)
	if err != nil && unfunded {
		d.stats.NotDone["unfunded"]++
		return deep.CommandResult{Status: deep.NotDone}, nil
	}
	if err != nil {
		return deep.CommandResult{}, err
	}
	if k := d.keys[q.key.id]; k != nil && k.revoked && k.revokedSeq < e.at.Seq {
		return deep.CommandResult{}, fmt.Errorf("executed at seq %d, after the revocation of its key at seq %d", e.at.Seq, k.revokedSeq)
	}
	if d.stats.Answered++; e.reject == core.OK {
		d.stats.Accepted++
	}
	return deep.CommandResult{Status: deep.Answered, Seq: e.at.Seq, Reject: e.reject}, nil
}

// unfunded reports whether a command is a rejected placement of an account that had not held money yet when it
// was sent at since, which is not sequenced (docs/rules/orders.md#accounts-without-money), and whether it has held
// money meanwhile, so that it may have been.
func (d *simGate) unfunded(cmd core.Command, code string, since uint64) (unfunded, held bool) {
	p := core.PlacementOf(cmd)
	if p == nil || code == "" {
		return false, false
	}
	at := d.expected.accounts[p.User].funded
	return at == 0 || at > since, at != 0
}

// claim finds a command in the log that has this answer and that no other answer has claimed.
func (l *expectations) claim(wire, code string, tree object, since uint64) (*entry, error) {
	candidates := ""
	for _, e := range l.log[wire] {
		if e.claimed || e.at.Seq <= since {
			continue
		}
		want := e.body
		for _, name := range e.later {
			if code == "" {
				want = with(want, name, tree[name])
			}
		}
		if e.code == code && (code != "" && code != "mandate_violation" || reflect.DeepEqual(want, tree)) {
			e.claimed = true
			return e, nil
		}
		candidates += fmt.Sprintf("; seq %d: %q %s", e.at.Seq, e.code, encode(e.body))
	}
	return nil, fmt.Errorf("answered %q %s, which is none of those in the log since seq %d%s", code, encode(tree), since, candidates)
}

// checkPendingArrived checks that commands answered with sequencing_timeout arrive in the log
// within 5 s.
func (d *simGate) checkPendingArrived() error {
	left := d.pendingCommands[:0]
	for _, h := range d.pendingCommands {
		if time.Since(h.at) < 5*time.Second { // longer than any simulated disk takes
			left = append(left, h)
			continue
		}
		found := d.keyRevoked(h.key) // then the command may have been dropped
		for _, e := range d.expected.log[h.bytes] {
			if found {
				break
			}
			if found = !e.claimed && e.at.Seq > h.since; found {
				e.claimed = true
				break
			}
		}
		if !found {
			return fmt.Errorf("a command sent to the log after seq %d did not arrive", h.since)
		}
	}
	d.pendingCommands = left
	return nil
}

func (d *simGate) keyRevoked(id string) bool {
	k := d.keys[id]
	return k != nil && k.revoked
}

// resolveLater records a placement with unknown outcome, for resolve.
func (d *simGate) resolveLater(q *request) {
	if _, quotes := q.cmds[0].(*core.QuoteSide); !quotes && core.PlacementOf(q.cmds[0]) != nil {
		d.unresolved = append(d.unresolved, q)
	}
}
