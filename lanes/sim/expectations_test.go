package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/sim/model"
)

// object is a JSON object. Its numbers are json.Number.
type object = map[string]any

func num[N ~int64 | ~int32 | ~int | ~uint8 | ~uint16 | ~uint32](n N) json.Number {
	return json.Number(strconv.FormatInt(int64(n), 10))
}

func str[N ~int64 | ~uint64](n N) string { return strconv.FormatUint(uint64(n), 10) }

// entry is a command in the log with its expected answer: an error code or a body.
type entry struct {
	at      core.Stamp
	cmd     core.Command
	reject  core.Reject
	code    string
	body    object
	claimed bool     // an answer was matched with it
	later   []string // members that are those at the time of the answer, not of the command (docs/rules/operation.md#actions)
}

// row is an order in its account's list.
type row struct {
	core.PlaceOrder
	id         core.OrderID // 0 if rejected
	key        any          // the id of the key that signed it, or nil
	generation uint32
	status     core.OrderStatus
	reason     string
	filled     core.Qty
	decreased  core.Qty // contracts taken off
	created    core.Stamp
	updated    uint64
	evicted    bool
}

// fill is one side of a fill. round is 0 of a fill before the ledgers.
type fill struct {
	at    core.Stamp
	n     int // counts the fills of the account, from 1
	round core.Round
	row   *row
	maker bool
	f     model.Fill
}

// withdrawal is a withdrawal with the stamp of its last change.
type withdrawal struct {
	core.Withdrawal
	at core.Stamp
}

// The venue's limits of an account's lists (docs/rules/limits.md#retention).
const terminalCap, rejectCap, fillCap = 1000, 200, 2000

// account is the expected state of one user's lists.
type account struct {
	rows     []*row // oldest first
	terminal []*row // in the order in which they ended
	rejected []*row
	fills    []fill
	filled   int // fills so far, those that are no longer listed included
	wds      []*withdrawal
	owner    core.UserID // of an agent
	closed   bool
	funded   uint64 // the seq of the first row of its ledger, 0 if there is none
}

// expectations holds the expected answers and lists, from the log and the model.
type expectations struct {
	users            int
	keyIDs           []string            // the id of key n is at n - 1
	log              map[string][]*entry // by the command's encoding
	accounts         map[core.UserID]*account
	live             map[core.OrderID]*row
	byID             map[uint64]*withdrawal
	fees             core.Fees
	depositSeqs      map[string]uint64 // the seq of each deposit
	approved         map[uint64]bool   // by approval
	pausedByOperator map[generationID]bool
	generations      map[core.MarketID]uint32 // of the last placement in each slot
}

// generationID identifies a generation of a slot.
type generationID struct {
	market     core.MarketID
	generation uint32
}

func (l *expectations) init() {
	l.log, l.accounts, l.live, l.byID = map[string][]*entry{}, map[core.UserID]*account{}, map[core.OrderID]*row{}, map[uint64]*withdrawal{}
	l.fees, l.depositSeqs, l.approved = core.Fees{Taker: 250}, map[string]uint64{}, map[uint64]bool{}
	l.pausedByOperator, l.generations = map[generationID]bool{}, map[core.MarketID]uint32{}
}

func wireOf(cmd core.Command) string {
	b, err := journal.AppendCommand(nil, cmd)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Observe records a command of the log.
func (d *simGate) Observe(at core.Stamp, cmd core.Command, out model.Outcome, m *model.Venue) {
	l := &d.expected
	if out.Reject == core.OK {
		d.recordKeys(at, cmd)
		l.recordOperator(at, cmd)
	}
	e := &entry{at: at, cmd: cmd, reject: out.Reject}
	if out.Reject != core.OK {
		e.code = out.Reject.String()
	}
	switch c := cmd.(type) {
	case *core.PlaceOrder:
		if x, asked := out.Asks[at.Seq]; asked {
			e.body = waiting(&x.Ask)
			d.stats.Waiting++
		} else {
			l.place(e, c, out, m)
		}
	case *core.DecideAsk:
		l.decideAsk(at, out.Asks[c.Ask], out, m)
		if out.Asks[c.Ask].Status == core.AskPlaced {
			d.stats.Decided++
		}
	case *core.ReplaceOrder:
		l.replace(e, c, out, m)
	case *core.QuoteSide:
		l.quote(e, c, out, m)
	case *core.CancelOrder:
		left := out.Ended[c.Order].Left
		if x, waited := out.Asks[uint64(c.Order)]; waited {
			left = x.Ask.Place.Qty
		}
		e.body = object{"status": "canceled", "canceled_qty": num(left), "seq": str(at.Seq)}
	case *core.DecreaseOrder:
		l.decrease(e, c, out, m)
	case *core.CancelAll:
		e.body = object{"seq": str(at.Seq)}
	case *core.ArmDeadman:
		e.body = object{"timeout_ms": num(c.TimeoutMs), "armed": true, "group_id": num(c.Group)}
	case *core.DisarmDeadman:
		e.body = object{"armed": false, "group_id": num(c.Group)}
	case *core.Redeem:
		e.body = object{"market_id": num(c.Market), "qty": num(c.Qty), "credit": str(int64(c.Qty) * 10000), "seq": str(at.Seq)}
	case *core.SetGroup:
		e.body = groupRow(m, at, c.User, c.Group)
	case *core.ResetGroup:
		e.body = groupRow(m, at, c.User, c.Group)
	case *core.DeleteGroup:
		e.body, e.later = groupRow(m, at, c.User, c.Group), []string{"deadline_ts", "bound"}
	case *core.RequestWithdrawal:
		if out.Reject == core.OK {
			e.body = l.withdraw(at, c).tree()
		}
	default:
		if out.Reject == core.OK {
			e.body = l.operatorResult(at, cmd, m)
			if l.isNoOpPause(cmd, m) {
				e.later = []string{"status", "paused"}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(out.Ended)) {
		if r := l.live[id]; r != nil {
			l.end(r, at, out.Ended[id].Status, out.Ended[id].Reason.String())
		}
	}
	for u := range out.Ledger {
		if a := l.accounts[u]; a.funded == 0 {
			a.funded = at.Seq
		}
	}
	wire := wireOf(cmd)
	l.log[wire] = append(l.log[wire], e)
}

// waiting is the answer of a placement that waits for the owner.
func waiting(x *core.Ask) object {
	return object{
		"status": "waiting", "approval_id": str(x.ID), "client_order_id": str(x.Place.ClientID), "cost": str(x.Cost), "expires_ts": str(x.Expires),
		"approve_url": "/#/approvals/" + str(x.ID), "seq": str(x.ID),
	}
}

// decideAsk records the row of an order that an owner has approved.
func (l *expectations) decideAsk(at core.Stamp, x core.AskChanged, out model.Outcome, m *model.Venue) {
	if x.Status == core.AskPlaced || x.Status == core.AskRefused {
		out.Reject = x.Reject
		l.place(&entry{at: at, code: x.Reject.String()}, &x.Ask.Place, out, m)
	}
}

// recordOperator records an operator's command.
func (l *expectations) recordOperator(at core.Stamp, cmd core.Command) {
	switch c := cmd.(type) {
	case *core.CreateUser:
		l.users++
		l.accounts[core.UserID(l.users)] = &account{}
	case *core.CreateAgent:
		l.users++
		l.accounts[core.UserID(l.users)] = &account{owner: c.Owner}
	case *core.SetFees:
		l.fees = c.Fees
	case *core.Deposit:
		if l.depositSeqs[c.DepositID] == 0 {
			l.depositSeqs[c.DepositID] = at.Seq
		}
	case *core.DecideApproval:
		switch x := c.Action; {
		case !c.Approve, l.approved[c.Approval]: // a repeat does nothing
		case x.Kind == core.ApproveDeposit:
			l.recordOperator(at, &core.Deposit{User: x.User, DepositID: x.DepositID, Amount: x.Amount})
		case x.Kind == core.ApproveFees:
			l.fees = x.Fees
		default:
			if to, ok := x.WithdrawalStep(); ok {
				l.recordOperator(at, &core.DecideWithdrawal{Withdrawal: x.Withdrawal, To: to})
			}
		}
		if c.Approve {
			l.approved[c.Approval] = true
		}
	case *core.DecideWithdrawal:
		if w, to := l.byID[c.Withdrawal], c.Step(); w.State != to {
			w.State, w.at = to, at
			if to == core.WithdrawalSent {
				w.Reference = c.Reference
			}
		}
	}
}

func (l *expectations) withdraw(at core.Stamp, c *core.RequestWithdrawal) *withdrawal {
	a := l.accounts[c.User]
	for _, w := range a.wds {
		if w.ClientID == c.ClientID {
			return w
		}
	}
	w := &withdrawal{core.Withdrawal{ID: at.Seq, User: c.User, ClientID: c.ClientID, Amount: c.Amount, Destination: c.Destination}, at}
	a.wds, l.byID[at.Seq] = append(a.wds, w), w
	return w
}

func (w *withdrawal) tree() object {
	return object{
		"withdrawal_id": str(w.ID), "client_withdrawal_id": w.ClientID, "amount": str(w.Amount), "destination": w.Destination,
		"status": [...]string{"pending", "completed", "rejected", "pending", "pending", "rejected"}[w.State], "state": w.State.String(), "reference": w.Reference,
		"seq": str(w.at.Seq), "ts": str(w.at.Ts),
	}
}

var paths = [...]string{core.Direct: "direct", core.Mint: "mint", core.Merge: "merge"}

// dollars writes pips as a decimal string (docs/rules/rest.md#decimal-strings).
func dollars(p core.Pips) string {
	whole, cents, rest := p/10000, p%10000/100, p%100
	if rest == 0 {
		return fmt.Sprintf("%d.%02d", whole, cents)
	}
	return strings.TrimSuffix(fmt.Sprintf("%d.%02d%02d", whole, cents, rest), "0")
}

func (l *expectations) place(e *entry, c *core.PlaceOrder, out model.Outcome, m *model.Venue) {
	if out.Reject == core.DuplicateClientOrderID || out.Reject == core.UnknownUser {
		return // no row
	}
	a := l.accounts[c.User]
	r := &row{PlaceOrder: *c, created: e.at, updated: e.at.Seq}
	if s, ok := m.Market(c.Market); ok {
		r.generation = s.Generation
		l.generations[c.Market] = s.Generation
	}
	if c.Key != 0 {
		r.key = l.keyIDs[c.Key-1]
	}
	a.rows = append(a.rows, r)
	if out.Reject != core.OK {
		r.status, r.reason = core.Rejected, e.code
		if out.Violation != nil {
			e.body = violation(out.Violation)
		}
		a.rejected = evict(append(a.rejected, r), rejectCap)
		return
	}
	r.id, r.Tick = core.OrderID(e.at.Seq), out.Tick
	l.live[r.id] = r
	fills, fee := []any{}, core.Pips(0)
	for _, f := range out.Fills {
		fee += f.TakerFee
		fills = append(fills, object{"tick_yes": num(f.TickYes), "qty": num(f.Qty), "path": paths[f.Path]})
		l.filled(r, false, e.at, f, m)
		l.filled(l.live[f.Maker], true, e.at, f, m)
	}
	ended, over := out.Ended[r.id]
	e.body = object{
		"order_id": str(e.at.Seq), "client_order_id": str(c.ClientID), "seq": str(e.at.Seq), "filled_qty": num(r.filled),
		"resting_qty": num(c.Qty - r.filled), "fills": fills, "fee": str(fee), "fee_usd": dollars(fee),
	}
	if c.Unpriced && out.Tick != c.Tick {
		e.body["worst_tick"] = num(out.Tick)
	}
	switch {
	case over:
		e.body["status"], e.body["reason"], e.body["resting_qty"] = "canceled", ended.Reason.String(), num(0)
	case r.filled == c.Qty:
		e.body["status"] = "executed"
	case r.filled > 0:
		e.body["status"] = "partially_filled"
	default:
		e.body["status"] = "resting"
	}
	// The model reports a fully executed maker neither as resting nor as ended.
	resting := m.Resting()
	for _, f := range out.Fills {
		if _, still := resting[f.Maker]; !still && l.live[f.Maker] != nil {
			if _, ended := out.Ended[f.Maker]; !ended {
				l.end(l.live[f.Maker], e.at, core.Executed, "")
			}
		}
	}
	if r.filled == c.Qty {
		l.end(r, e.at, core.Executed, "")
	} else if !over {
		e.body["queue_ahead"] = num(m.QueueAhead(r.id))
	}
}

// replacement returns c as the lanes send it to the log: a limit order with the market, side, outcome
// and generation of the order that it replaces, and with its value of each member that is absent. They are
// zero if the account has no such order. It returns nil if that order could still be placed, after seq.
func (l *expectations) replacement(c *core.ReplaceOrder, absent map[string]bool, seq uint64) *core.ReplaceOrder {
	if uint64(c.Old) > seq {
		return nil
	}
	out := *c
	var old core.PlaceOrder
	for _, r := range l.accounts[c.User].rows {
		if r.id == c.Old && r.id != 0 && !r.evicted {
			old = r.PlaceOrder
			old.Generation = r.generation
		}
	}
	out.Market, out.Side, out.Outcome, out.Generation, out.Seen = old.Market, old.Side, old.Outcome, old.Generation, 0
	if absent["tick"] {
		out.Tick = old.Tick
	}
	if absent["tif"] {
		out.TIF, out.Expiry = old.TIF, old.Expiry
	}
	if absent["max_cost"] {
		out.MaxCost = old.MaxCost
	}
	if absent["group_id"] {
		out.Group = old.Group
	}
	for i, name := range flagNames {
		if on := core.Flags(1 << i); absent[name] {
			if out.Flags = out.Flags&^on | old.Flags&on; on == core.PostOnly && !out.TIF.Rests() {
				out.Flags &^= on
			}
		}
	}
	if out.Type, out.Unpriced = core.Limit, false; out.Side == core.Sell {
		out.MaxCost = 0
	}
	return &out
}

func (l *expectations) replace(e *entry, c *core.ReplaceOrder, out model.Outcome, m *model.Venue) {
	if old := l.live[c.Old]; old == nil || old.User != c.User || old.Market != c.Market || old.Side != c.Side || old.Outcome != c.Outcome {
		return // no row, as there is no order to replace
	}
	if l.place(e, &c.PlaceOrder, out, m); out.Reject == core.OK {
		e.body["replaced"] = object{"order_id": str(uint64(c.Old)), "canceled_qty": num(out.Ended[c.Old].Left)}
	}
}

// quote records a side of a quote: an order, whatever it sells or buys, or one that is kept.
func (l *expectations) quote(e *entry, c *core.QuoteSide, out model.Outcome, m *model.Venue) {
	switch q := out.Quoted; {
	case c.Cancel && out.Reject == core.OK:
		e.body = object{"canceled": num(q.Canceled), "seq": str(e.at.Seq)}
	case c.Cancel:
	case out.Reject == core.OK && q.Kept:
		r := l.live[q.Order]
		if left := r.Qty - r.filled - r.decreased; left != q.Left {
			r.decreased, r.updated = r.decreased+left-q.Left, e.at.Seq
		}
		e.body = object{
			"order_id": str(uint64(q.Order)), "client_order_id": str(r.ClientID), "status": "resting", "seq": str(e.at.Seq), "filled_qty": num(0), "resting_qty": num(q.Left),
			"fills": []any{}, "fee": "0", "fee_usd": "0.00", "kept": true, "canceled": num(q.Canceled),
		}
	default:
		p := l.quoted(e, c, out, m)
		if l.place(e, &p, out, m); out.Reject == core.OK {
			e.body["kept"], e.body["canceled"] = false, num(q.Canceled)
		}
	}
}

// quoted returns the order of a side: a sale of free contracts, or a buy of the other outcome. A sale that rests
// reserves contracts that no other order does.
func (l *expectations) quoted(e *entry, c *core.QuoteSide, out model.Outcome, m *model.Venue) core.PlaceOrder {
	p := c.PlaceOrder
	p.Type, p.TIF, p.Flags = core.Limit, core.GTC, core.QuoteFlags
	held := core.Yes
	if c.Side == core.Buy {
		held = core.No
	}
	if _, opened := m.Market(c.Market); !opened {
		p.Side, p.Outcome, p.Tick = core.Buy, held.Other(), core.InYes(held.Other(), c.Tick)
		return p
	}
	at, resting := m.Position(c.User, c.Market), m.Resting()
	free, reserved := at.Yes-at.YesReserved, at.YesReserved
	if held == core.No {
		free, reserved = at.No-at.NoReserved, at.NoReserved
	}
	sold := c.Qty >= 1 && c.Qty <= free
	if _, rests := resting[core.OrderID(e.at.Seq)]; rests && out.Reject == core.OK {
		for id, r := range l.live {
			if r.User == c.User && r.Market == c.Market && r.Side == core.Sell && r.Outcome == held {
				reserved -= resting[id]
			}
		}
		sold = reserved > 0
	}
	if p.Side, p.Outcome = core.Buy, held.Other(); sold {
		p.Side, p.Outcome = core.Sell, held
	}
	p.Tick = core.InYes(p.Outcome, c.Tick)
	return p
}

// violation returns the details of a mandate's rejection (docs/rules/agent-accounts.md#rejections).
func violation(v *core.Violation) object {
	out := object{"rule": v.Rule.String(), "rev": str(uint64(v.Rev))}
	switch {
	case v.Rule < core.RuleOrderQty:
		return out
	case v.Rule == core.RulePriceCollar:
		out["limit"], out["asked"] = str(v.Limit), str(v.Asked)
		return out
	}
	out["limit"], out["used"], out["asked"], out["headroom"] = str(v.Limit), str(v.Used), str(v.Asked), str(v.Headroom())
	if v.ResetsTs != 0 {
		out["resets_ts"] = str(v.ResetsTs)
	}
	return out
}

func (l *expectations) filled(r *row, maker bool, at core.Stamp, f model.Fill, m *model.Venue) {
	r.filled += f.Qty
	r.status, r.updated = core.PartiallyFilled, at.Seq
	a := l.accounts[r.User]
	a.filled++
	s, _ := m.Market(r.Market)
	x := fill{at: at, n: a.filled, row: r, maker: maker, f: f, round: core.Round{Number: s.Number, Generation: s.Generation, Category: s.Category}}
	if a.fills = append(a.fills, x); len(a.fills) > fillCap {
		a.fills = a.fills[1:]
	}
}

// end moves a row to the terminal rows and evicts the oldest of them beyond the limit.
func (l *expectations) end(r *row, at core.Stamp, s core.OrderStatus, reason string) {
	r.status, r.reason, r.updated = s, reason, at.Seq
	delete(l.live, r.id)
	a := l.accounts[r.User]
	a.terminal = evict(append(a.terminal, r), terminalCap)
}

func evict(list []*row, limit int) []*row {
	if len(list) > limit {
		list[0].evicted = true
		list = list[1:]
	}
	return list
}

// groupRow is the row of a group after a command.
func groupRow(m *model.Venue, at core.Stamp, u core.UserID, id uint32) object {
	row := core.Group{ID: id}
	for _, g := range m.Groups(u) {
		if g.ID == id {
			row = g
		}
	}
	return object{
		"group_id": num(row.ID), "fill_limit": num(row.FillLimit), "window_ms": num(row.WindowMs), "filled": num(row.Filled), "tripped": row.Tripped,
		"deadline_ts": str(row.Deadline), "bound": row.Bound, "seq": str(at.Seq),
	}
}

func (l *expectations) decrease(e *entry, c *core.DecreaseOrder, out model.Outcome, m *model.Venue) {
	if out.Reject != core.OK {
		// A decrease of the account's own order that has ended is an invalid_decrease as
		// long as the row is retained (docs/rules/orders.md#decrease).
		for _, r := range l.accounts[c.User].rows {
			if out.Reject == core.UnknownOrder && r.id == c.Order && r.id != 0 && !r.evicted {
				e.code = "invalid_decrease"
			}
		}
		return
	}
	r := l.live[c.Order]
	left, still := m.Resting()[c.Order]
	e.body = object{"order_id": str(uint64(c.Order)), "remaining_qty": num(left), "status": "canceled", "seq": str(e.at.Seq)}
	r.decreased = r.Qty - r.filled - left
	if r.updated = e.at.Seq; !still {
		return
	}
	if e.body["status"] = "resting"; r.filled > 0 {
		e.body["status"] = "partially_filled"
	}
}

// tree returns the row as its JSON object; left is the resting quantity.
func (r *row) tree(left core.Qty) object {
	out := object{
		"order_id": any(nil), "client_order_id": str(r.ClientID), "market_id": num(r.Market), "generation": num(r.generation), "side": r.Side.String(),
		"outcome": r.Outcome.String(), "type": r.Type.String(), "tick": num(r.Tick), "qty": num(r.Qty), "tif": r.TIF.String(), "expiry_ts": str(r.Expiry),
		"max_cost": str(r.MaxCost), "group_id": num(r.Group), "flags": num(r.Flags), "status": r.status.String(), "reason": r.reason,
		"filled_qty": num(r.filled), "remaining_qty": num(left), "created_seq": str(r.created.Seq), "created_ts": str(r.created.Ts),
		"last_update_seq": str(r.updated), "api_key": r.key,
	}
	if r.id != 0 {
		out["order_id"] = str(uint64(r.id))
	}
	return out
}

func (f *fill) tree() object {
	role, fee := "taker", f.f.TakerFee
	if f.maker {
		role, fee = "maker", f.f.MakerFee
	}
	return object{
		"n": str(int64(f.n)), "seq": str(f.at.Seq), "ts": str(f.at.Ts), "market_id": num(f.row.Market), "generation": num(f.round.Generation),
		"round_number": str(f.round.Number), "category": num(f.round.Category), "order_id": str(uint64(f.row.id)), "client_order_id": str(f.row.ClientID),
		"role": role, "side": f.row.Side.String(), "outcome": f.row.Outcome.String(), "qty": num(f.f.Qty), "tick_yes": num(f.f.TickYes),
		"path": paths[f.f.Path], "fee": str(fee), "api_key": f.row.key,
	}
}
