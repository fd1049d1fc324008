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

// form is an operation as both lanes have it.
type form struct {
	tool   string
	method string
	target string
	body   obj // nil: none
	args   obj
	status int
	scope  core.Scopes
	bucket tools.Bucket
	items  int    // of a batch, which cost a token each
	batch  bool   // the answer has parts
	once   bool   // a repeat is answered with the first answer
	fault  string // what decoding must find; "": nothing
}

// fate is what the network does to a request.
type fate uint8

const (
	whole    fate = iota
	slow          // its end comes later
	severed       // its end never comes, and the connection is gone
	stalled       // its end never comes, and the connection stays
	silenced      // it arrives, and the answer is lost
)

func (f fate) String() string {
	return [...]string{"whole", "slow", "severed", "stalled", "silenced"}[f]
}

// request is one on its way.
type request struct {
	d      *door
	n      int
	cmds   []core.Command // as they come to be in the log
	form   form
	key    *key
	tool   bool
	desk   bool   // on the operator's listener
	modern bool   // of the revision without a handshake
	ms     int64  // its timestamp
	mark   string // what makes an exact repeat
	raw    []byte
	head   int // bytes before the body
	fate   fate
	at     int           // where it is cut, or waits
	pause  time.Duration // of a slow one

	// Set as it is sent.
	since   uint64 // the last seq before it
	arrived bool
	gaveUp  bool     // the caller did, or the network was cut
	must    string   // what the door must refuse it with
	why     string   // of several reasons
	wait    int64    // ms, with that
	first   *request // whose answer it must be given
	reply   *reply   // nil: none came
	told    told     // once ended
	shared  *told    // of the first of its bytes: what one of them was answered
}

// Write makes one request of commands of an account, or of an operator's.
func (d *door) Write(cmds []core.Command) deep.Request {
	if u := accountOf(cmds[0]); u == 0 {
		q := d.ordered(cmds[0])
		if q == nil {
			return nil
		}
		d.fates(q)
		return q
	}
	q := d.write(d.formOf(cmds), accountOf(cmds[0]), d.Rand.IntN(3) == 0)
	q.cmds = cmds
	for i, cmd := range cmds {
		if c, ok := cmd.(*core.PlaceOrder); ok {
			q.cmds[i] = carrying(c)
		}
	}
	d.fates(q)
	if d.stats.REST++; q.tool {
		d.stats.REST--
		d.stats.Tool++
	}
	if len(cmds) > 1 {
		d.stats.Batches++
	}
	return q
}

// fates draws what becomes of a request on its way.
func (d *door) fates(q *request) {
	r, body := d.Rand, len(q.raw)-q.head
	switch n := r.IntN(40); {
	case n == 0:
		q.fate, q.at = severed, 1+r.IntN(len(q.raw)-1)
	case n == 1 && body > 1:
		q.fate, q.at = stalled, q.head+r.IntN(body-1)
	case n < 5 && body > 1:
		q.fate, q.at, q.pause = slow, q.head+r.IntN(body-1), time.Duration(1+r.IntN(3000))*time.Millisecond
	case n < 8:
		q.fate = silenced
	default:
		q.fate = whole
	}
}

// accountOf is whose command it is; 0 is an operator's.
func accountOf(cmd core.Command) core.UserID {
	switch c := cmd.(type) {
	case *core.PlaceOrder:
		return c.User
	case *core.CancelOrder:
		return c.User
	case *core.CancelAll:
		return c.User
	case *core.DecreaseOrder:
		return c.User
	case *core.ArmDeadman:
		return c.User
	case *core.DisarmDeadman:
		return c.User
	case *core.Redeem:
		return c.User
	case *core.RequestWithdrawal:
		return c.User
	}
	return 0
}

// carrying is a placement with the fault that decoding finds and the core answers for.
func carrying(c *core.PlaceOrder) *core.PlaceOrder {
	out := *c
	switch {
	case c.Qty < 1 || c.Qty > 1_000_000:
		out.Fault = core.BadQty
	case c.ClientID == 0:
		out.Fault = core.ClientOrderIDRequired
	}
	return &out
}

const orders = "/v1/portfolio/orders"

// formOf writes commands as an operation.
func (d *door) formOf(cmds []core.Command) form {
	f := form{status: 200, scope: core.ScopeTrade, items: 1}
	if len(cmds) > 1 {
		return d.batchOf(f, cmds)
	}
	switch c := cmds[0].(type) {
	case *core.PlaceOrder:
		f.tool, f.method, f.target, f.body, f.status, f.bucket = "place_order", "POST", orders, d.order(c), 201, tools.Write
		f.args = f.body
	case *core.CancelOrder:
		f.tool, f.method, f.target, f.args, f.bucket = "cancel_order", "DELETE", orders+"/"+str(uint64(c.Order)), obj{"order_id": str(uint64(c.Order))}, tools.Cancel
	case *core.CancelAll:
		f.tool, f.method, f.target, f.args, f.bucket, f.once = "cancel_all_orders", "DELETE", orders, obj{}, tools.Cancel, true
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
		f.tool, f.method, f.target, f.bucket, f.once = "decrease_order", "POST", orders+"/"+str(uint64(c.Order))+"/decrease", tools.Write, true
		if f.body = (obj{"reduce_by": num(c.Amount)}); c.To {
			f.body = obj{"reduce_to": num(c.Amount)}
		} else if c.Amount < 1 {
			f.fault = "invalid_decrease"
		}
		f.args = with(f.body, "order_id", str(uint64(c.Order)))
	case *core.ArmDeadman:
		f.tool, f.method, f.target, f.body, f.bucket, f.once = "arm_deadman", "POST", "/v1/portfolio/deadman", obj{"timeout_ms": num(c.TimeoutMs)}, tools.Cancel, true
		if f.args = f.body; c.TimeoutMs < 1000 || c.TimeoutMs > 60_000 {
			f.fault = "invalid_timeout"
		}
	case *core.DisarmDeadman:
		f.tool, f.method, f.target, f.args, f.bucket, f.once = "disarm_deadman", "DELETE", "/v1/portfolio/deadman", obj{}, tools.Cancel, true
	case *core.Redeem:
		f.tool, f.method, f.target, f.bucket, f.once = "redeem_pairs", "POST", "/v1/portfolio/redeem", tools.Write, true
		f.body = obj{"market_id": num(c.Market), "qty": num(c.Qty)}
		if f.args = f.body; c.Qty < 1 {
			f.fault = "bad_qty"
		}
	case *core.RequestWithdrawal:
		f.tool, f.method, f.target, f.status, f.scope, f.bucket, f.once = "request_withdrawal", "POST", "/v1/withdrawals", 202, core.ScopeWithdraw, tools.Write, true
		f.body = obj{"client_withdrawal_id": c.ClientID, "amount": str(c.Amount), "destination": c.Destination}
		if f.args = f.body; c.Amount == 0 {
			f.fault = "bad_amount"
		}
	default:
		panic(fmt.Sprintf("%T is no command of an account", c))
	}
	return f
}

func (d *door) batchOf(f form, cmds []core.Command) form {
	var list []any
	f.batch, f.items = true, len(cmds)
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
	if f.target, f.body = orders+"/batch", (obj{"orders": list}); f.tool == "cancel_orders" {
		f.body = obj{"order_ids": list}
	}
	f.args = f.body
	return f
}

// order writes a placement; what is a default it may leave out.
func (d *door) order(c *core.PlaceOrder) obj {
	say := func() bool { return d.Rand.IntN(3) == 0 }
	o := obj{"market_id": num(c.Market), "side": c.Side.String(), "outcome": c.Outcome.String(), "qty": num(c.Qty)}
	if c.ClientID != 0 || say() {
		o["client_order_id"] = str(c.ClientID)
	}
	if c.Type == core.Market {
		o["type"], o["worst_tick"] = "market", num(c.Tick)
	} else {
		o["tick"] = num(c.Tick)
		if say() {
			o["type"] = "limit"
		}
		if c.TIF != core.GTC || say() {
			o["tif"] = c.TIF.String()
		}
	}
	if c.TIF == core.GTT || say() {
		o["expiry_ts"] = str(c.Expiry)
	}
	if c.MaxCost != 0 || say() {
		o["max_cost"] = str(c.MaxCost)
	}
	if c.Group != 0 || say() {
		o["group_id"] = num(c.Group)
	}
	if c.Generation != 0 || say() {
		o["generation"] = num(c.Generation)
	}
	for i, name := range []string{"post_only", "reduce_only", "cancel_on_pause", "stp_maker"} {
		if on := c.Flags.Has(1 << i); on || say() {
			o[name] = on
		}
	}
	return o
}

func with(o obj, name string, v any) obj {
	out := obj{}
	maps.Copy(out, o)
	out[name] = v
	return out
}

// keyOf chooses the key a request is signed with: mostly one that may, at times one
// that is revoked, was never made, or lacks the scope.
func (d *door) keyOf(u core.UserID) *key {
	switch n := d.Rand.IntN(40); {
	case n == 0:
		id := fmt.Sprintf("dxk%024x", 1<<40+d.n)
		return &key{id: id, secret: secretOf(id), user: u, revoked: true}
	case n == 1:
		if k := d.live(u, kinds[2]); k != nil {
			return k
		}
	case n < 8:
		if k := d.live(u, kinds[1]); k != nil {
			return k
		}
	case n == 8: // an old one
		for n := 1; n <= d.made; n++ {
			if k := d.keys[fmt.Sprintf("dxk%024x", n)]; k != nil && k.user == u {
				return k
			}
		}
	}
	if k := d.live(u, kinds[0]); k != nil {
		return k
	}
	return d.keys[fmt.Sprintf("dxk%024x", int(u-1)*len(kinds)+1)] // the first, which is revoked then
}

// write makes the bytes of a request, signed now.
func (d *door) write(f form, u core.UserID, tool bool) *request {
	d.n++
	q := &request{d: d, n: d.n, form: f, key: d.keyOf(u), tool: tool}
	q.ms = d.Now() / core.NsPerMs
	switch d.Rand.IntN(30) { // clocks differ
	case 0:
		q.ms += int64([]int{-5001, 5001, -60_000, 9000}[d.Rand.IntN(4)])
	case 1, 2, 3:
		q.ms += int64(d.Rand.IntN(9000)) - 4500
	}
	for method, target, body, header := q.parts(); ; q.ms++ { // no two alike, but where the network repeats one
		ts := str(q.ms)
		sig := schemas.Sign(q.key.secret, ts, method, target, body)
		if q.mark = q.key.id + ts + sig; d.signed[q.mark] {
			continue
		}
		d.signed[q.mark] = true
		header = append(header, schemas.HeaderKey, q.key.id, schemas.HeaderTimestamp, ts, schemas.HeaderSignature, sig)
		q.bytes(method, target, header, body)
		return q
	}
}

// bytes writes the request as it goes over the wire.
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

// parts are method, target, body and headers in the words of the lane.
func (q *request) parts() (method, target string, body []byte, header []string) {
	if !q.tool {
		if q.form.body != nil {
			body = encode(q.form.body)
		}
		return q.form.method, q.form.target, body, nil
	}
	params := obj{"name": q.form.tool, "arguments": q.form.args}
	revision := []string{"2026-07-28", "2025-11-25", "2025-06-18"}[q.d.Rand.IntN(3)]
	header = []string{"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", revision}
	if q.modern = revision == "2026-07-28"; q.modern {
		params["_meta"] = obj{"io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientCapabilities": obj{}}
		header = append(header, "Mcp-Method", "tools/call", "Mcp-Name", q.form.tool)
	}
	return "POST", mcp.Path, encode(obj{"jsonrpc": "2.0", "id": num(q.n), "method": "tools/call", "params": params}), header
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
	case q.desk:
		return fmt.Sprintf("operator %s by %s, %s: %s %s", q.form.tool, q.key.id, q.fate, q.form.target, encode(q.form.body))
	case q.tool:
		lane = "tool"
	}
	return fmt.Sprintf("%s %s of user %d by key %s at %d, %s: %s %s", lane, q.form.tool, q.key.user, q.key.id, q.ms, q.fate, q.form.target, encode(q.form.args))
}

// Copy is the same bytes once more.
func (q *request) Copy() deep.Request {
	c := &request{d: q.d, n: q.n, cmds: q.cmds, form: q.form, key: q.key, tool: q.tool, desk: q.desk, modern: q.modern, ms: q.ms, mark: q.mark, raw: q.raw, head: q.head}
	q.d.fates(c)
	q.d.stats.Again++
	return c
}

// Send brings the request and waits for its answer, until the caller gives up.
func (q *request) Send(ctx context.Context) {
	q.since = q.d.At().Seq
	net := q.d.net
	if q.desk {
		net = q.d.back
	}
	conn, err := net.dial()
	if err != nil {
		q.gaveUp = true
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	rest := q.raw
	if q.fate == slow || q.fate == severed || q.fate == stalled {
		rest = q.raw[q.at:]
		if _, err := conn.Write(q.raw[:q.at]); err != nil {
			q.gaveUp = true
			return
		}
	}
	switch q.fate {
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
	if q.fate != stalled {
		q.d.arrives(q)
		if _, err := conn.Write(rest); err != nil {
			q.gaveUp = ctx.Err() != nil || net.gone()
			return
		}
	}
	q.reply = receive(conn)
	q.gaveUp = ctx.Err() != nil || net.gone()
}

// arrives works out what the door must say of a request that is there now, in the order
// of its checks (contract core, Order of checks).
func (d *door) arrives(q *request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q.arrived = true
	if q.desk {
		if q.must = q.form.fault; q.key.revoked {
			q.must = "unauthorized"
		}
		return
	}
	k := d.keys[q.key.id]
	switch {
	case !d.timely(q.ms):
		q.must, q.why = "unauthorized", "of another time"
		return
	case k == nil || k.revoked:
		q.must, q.why = "unauthorized", "no such key"
		return
	}
	writes := q.form.bucket != tools.Read
	first := d.seen[q.mark]
	if writes && first == nil {
		d.seen[q.mark] = q
	}
	switch {
	case d.guard && first != nil && !q.form.once:
		q.must, q.why = "unauthorized", "spent"
		return
	case q.form.once:
		q.first = first
	}
	if !k.scopes.Has(q.form.scope) {
		q.must = "missing_scope"
	} else if ok, wait := d.pay(k, q.form.bucket, 1, 1); !ok {
		q.must, q.wait = "rate_limited", wait
	} else if q.form.fault != "" {
		q.must = q.form.fault
	} else if q.form.items > 1 {
		if ok, wait := d.pay(k, q.form.bucket, q.form.items-1, q.form.items); !ok {
			q.must, q.wait = "rate_limited", wait
		}
	}
	if q.must != "" && d.seen[q.mark] == q && !d.guard {
		delete(d.seen, q.mark) // it did not get as far as where repeats are known
	}
}

// all says the same of every command of the request.
func (q *request) all(how deep.How) []deep.End {
	ends := make([]deep.End, len(q.cmds))
	for i := range ends {
		ends[i].How = how
	}
	return ends
}

// Ended holds what the caller was told against what the door must say, and against the
// log.
func (q *request) Ended(lost bool) ([]deep.End, error) {
	d := q.d
	if lost {
		return q.unknown(), nil
	}
	if q.reply == nil {
		return q.unanswered()
	}
	t, err := q.heard()
	if err != nil {
		return nil, errors.Join(err, d.faults.err())
	}
	q.told = t
	if q.fate == stalled {
		if t.code != "unauthorized" {
			return nil, fmt.Errorf("a body that never came is answered %+v", t)
		}
		d.stats.Cut++
		return q.all(deep.NotDone), nil
	}
	if q.must != "" {
		return q.refusedAsItMust()
	}
	ends, err := q.ended()
	if err != nil {
		return nil, err
	}
	if q.fate == silenced { // the venue has said it, and nobody has heard
		d.stats.Silent++
		return q.unknown(), nil
	}
	return ends, nil
}

// heard reads the answer, after a test had its hand on it.
func (q *request) heard() (told, error) {
	if q.d.spoil != nil {
		q.d.spoil(q, q.reply)
	}
	return q.reply.read(q)
}

// unanswered is the end of a request that got no answer.
func (q *request) unanswered() ([]deep.End, error) {
	switch {
	case q.fate == severed, q.fate == stalled && q.gaveUp, q.gaveUp && !q.arrived:
		q.d.stats.Cut++
		return q.all(deep.NotDone), nil
	case q.arrived && q.gaveUp && q.must != "":
		return q.all(deep.NotDone), nil
	case q.arrived && q.gaveUp:
		q.d.stats.Silent++
		return q.unknown(), nil
	}
	return nil, fmt.Errorf("the connection ended without an answer")
}

func (q *request) unknown() []deep.End {
	q.d.ask(q)
	return q.all(deep.Unknown)
}

func (q *request) refusedAsItMust() ([]deep.End, error) {
	t := q.told
	if t.code != q.must {
		return nil, fmt.Errorf("it was answered %q %s, the door must say %q", t.code, q.reply.body, q.must)
	}
	if off := t.wait - q.wait; off < -1 || off > 1 { // the limiter computes in floats
		return nil, fmt.Errorf("rate_limited for %d ms, tokens come in %d", t.wait, q.wait)
	}
	q.d.stats.NotDone[strings.TrimSpace(t.code+" "+q.why)]++
	return q.all(deep.NotDone), nil
}

// ended is the end of a request that the door let in.
func (q *request) ended() ([]deep.End, error) {
	d, t, since := q.d, q.told, q.since
	if q.form.once {
		lead := q
		if q.first != nil {
			lead = q.first
		}
		if lead.shared != nil {
			if !reflect.DeepEqual(*lead.shared, t) {
				return nil, fmt.Errorf("a repeat is answered %+v, the other was %+v", t, *lead.shared)
			}
			d.stats.Repeats++
			return q.all(deep.NotDone), nil // by this one
		}
		if t.code != "shed" && t.code != "draining" { // else who sends it again means it
			lead.shared = &t
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
	ends := q.all(end.How)
	if t.code == "" || end.How == deep.Answered {
		ends[0] = end
	}
	return ends, nil
}

func (q *request) endedByPart(since uint64) ([]deep.End, error) {
	if len(q.told.parts) != len(q.cmds) {
		return nil, fmt.Errorf("%d parts for %d commands", len(q.told.parts), len(q.cmds))
	}
	ends := make([]deep.End, len(q.cmds))
	for i, cmd := range q.cmds {
		code, tree, err := part(q.told.parts[i])
		if err == nil {
			ends[i], err = q.d.end(q, cmd, code, tree, since)
		}
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
	}
	return ends, nil
}

// end is what the caller knows of one command.
func (d *door) end(q *request, cmd core.Command, code string, tree obj, since uint64) (deep.End, error) {
	switch code {
	case "shed", "draining":
		d.stats.NotDone[code]++
		return deep.End{How: deep.NotDone}, nil
	case "sequencing_timeout":
		d.stats.Unknown++
		d.ask(q)
		d.taken = append(d.taken, handed{wireOf(cmd), since, time.Now()})
		return deep.End{How: deep.Unknown}, nil
	case "unauthorized":
		if k := d.keys[q.key.id]; k != nil && k.revoked { // while it was under way
			d.stats.NotDone[code+" on its way"]++
			return deep.End{How: deep.NotDone}, nil
		}
	}
	e, err := d.ledger.claim(wireOf(cmd), code, tree, since)
	if err != nil {
		return deep.End{}, err
	}
	if k := d.keys[q.key.id]; k != nil && k.revoked && k.gone < e.at.Seq {
		return deep.End{}, fmt.Errorf("it is seq %d, behind the revocation of its key at %d", e.at.Seq, k.gone)
	}
	if d.stats.Answered++; e.reject == core.OK {
		d.stats.Accepted++
	}
	return deep.End{How: deep.Answered, Seq: e.at.Seq, Reject: e.reject}, nil
}

// claim finds the command in the log that an answer is of, and that no other answer
// has told of.
func (l *ledger) claim(wire, code string, tree obj, since uint64) (*entry, error) {
	said := ""
	for _, e := range l.log[wire] {
		if e.claimed || e.at.Seq <= since {
			continue
		}
		want := e.body
		if e.later && code == "" {
			want = with(with(want, "status", tree["status"]), "paused", tree["paused"])
		}
		if e.code == code && (code != "" || reflect.DeepEqual(want, tree)) {
			e.claimed = true
			return e, nil
		}
		said += fmt.Sprintf("; seq %d: %q %s", e.at.Seq, e.code, encode(e.body))
	}
	return nil, fmt.Errorf("it was answered %q %s, which is none of those in the log since seq %d%s", code, encode(tree), since, said)
}

// came asks that what was handed to the log is in it by and by, while the venue lives:
// that is what sequencing_timeout says.
func (d *door) came() error {
	left := d.taken[:0]
	for _, h := range d.taken {
		if time.Since(h.at) < 5*time.Second { // no disk is that slow
			left = append(left, h)
			continue
		}
		there := false
		for _, e := range d.ledger.log[h.wire] {
			if there = !e.claimed && e.at.Seq > h.since; there {
				e.claimed = true
				break
			}
		}
		if !there {
			return fmt.Errorf("a command was handed to the log after seq %d, and never came", h.since)
		}
	}
	d.taken = left
	return nil
}

// ask notes a request whose outcome somebody wants to know.
func (d *door) ask(q *request) {
	if _, ok := q.cmds[0].(*core.PlaceOrder); ok {
		d.asking = append(d.asking, q)
	}
}
