package sim

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/sim/model"
)

// obj is a JSON object as the contract has it. Numbers are json.Number.
type obj = map[string]any

func num[N ~int64 | ~int32 | ~int | ~uint8 | ~uint16 | ~uint32](n N) json.Number {
	return json.Number(strconv.FormatInt(int64(n), 10))
}

func str[N ~int64 | ~uint64](n N) string { return strconv.FormatUint(uint64(n), 10) }

// entry is a command in the log, and what its caller is told of it: a code, or an
// answer.
type entry struct {
	at      core.Stamp
	cmd     core.Command
	reject  core.Reject
	code    string
	body    obj
	claimed bool // somebody was told
	later   bool // status and pause are those of when it was answered (docs/decisions.md)
}

// row is an order as its account sees it.
type row struct {
	core.PlaceOrder
	id         core.OrderID // 0 of a rejected one
	generation uint32
	status     core.OrderStatus
	reason     string
	filled     core.Qty
	created    core.Stamp
	updated    uint64
	evicted    bool
}

// fill is one side of a fill.
type fill struct {
	at    core.Stamp
	row   *row
	maker bool
	f     model.Fill
}

// withdrawal is a record with the stamp of its last change.
type withdrawal struct {
	core.Withdrawal
	at core.Stamp
}

// caps of what is kept (contract core, Rounds).
const terminalCap, rejectCap, fillCap = 1000, 200, 2000

// account is what one user has seen happen.
type account struct {
	rows     []*row // oldest first
	terminal []*row // in the order they ended
	rejected []*row
	fills    []fill
	wds      []*withdrawal
}

// ledger is what the log and the model say that callers must be told.
type ledger struct {
	users    int
	log      map[string][]*entry // by the command's bytes
	accounts map[core.UserID]*account
	live     map[core.OrderID]*row
	byID     map[uint64]*withdrawal
	fees     core.Fees
	banked   map[string]uint64 // the seq of each deposit
	halted   map[life]bool     // by an operator
}

// life is one of a slot's.
type life struct {
	market     core.MarketID
	generation uint32
}

func (l *ledger) init() {
	l.log, l.accounts, l.live, l.byID = map[string][]*entry{}, map[core.UserID]*account{}, map[core.OrderID]*row{}, map[uint64]*withdrawal{}
	l.fees, l.banked = core.Fees{Taker: 250}, map[string]uint64{}
	l.halted = map[life]bool{}
}

func wireOf(cmd core.Command) string {
	b, err := journal.AppendCommand(nil, cmd)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Happened enters a command that is in the log.
func (d *door) Happened(at core.Stamp, cmd core.Command, out model.Outcome, m *model.Venue) {
	l := &d.ledger
	if out.Reject == core.OK {
		d.turned(at, cmd)
		l.turned(at, cmd)
	}
	e := &entry{at: at, cmd: cmd, reject: out.Reject}
	if out.Reject != core.OK {
		e.code = out.Reject.String()
	}
	switch c := cmd.(type) {
	case *core.PlaceOrder:
		l.place(e, c, out, m)
	case *core.CancelOrder:
		e.body = obj{"status": "canceled", "canceled_qty": num(out.Ended[c.Order].Left), "seq": str(at.Seq)}
	case *core.DecreaseOrder:
		l.decrease(e, c, out, m)
	case *core.CancelAll:
		e.body = obj{"seq": str(at.Seq)}
	case *core.ArmDeadman:
		e.body = obj{"timeout_ms": num(c.TimeoutMs), "armed": true}
	case *core.DisarmDeadman:
		e.body = obj{"armed": false}
	case *core.Redeem:
		e.body = obj{"market_id": num(c.Market), "qty": num(c.Qty), "credit": str(int64(c.Qty) * 10000), "seq": str(at.Seq)}
	case *core.RequestWithdrawal:
		if out.Reject == core.OK {
			e.body = l.withdraw(at, c).tree()
		}
	default:
		if out.Reject == core.OK {
			e.body = l.told(at, cmd, m)
			e.later = l.same(cmd, m)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(out.Ended)) {
		if r := l.live[id]; r != nil {
			l.end(r, at, out.Ended[id].Status, out.Ended[id].Reason.String())
		}
	}
	wire := wireOf(cmd)
	l.log[wire] = append(l.log[wire], e)
}

// turned takes in what operators did.
func (l *ledger) turned(at core.Stamp, cmd core.Command) {
	switch c := cmd.(type) {
	case *core.CreateUser:
		l.users++
		l.accounts[core.UserID(l.users)] = &account{}
	case *core.SetFees:
		l.fees = c.Fees
	case *core.Deposit:
		if l.banked[c.DepositID] == 0 {
			l.banked[c.DepositID] = at.Seq
		}
	case *core.DecideWithdrawal:
		w, to := l.byID[c.Withdrawal], core.Refused
		if c.Complete {
			to = core.Completed
		}
		if w.Status != to {
			w.Status, w.at = to, at
		}
	}
}

func (l *ledger) withdraw(at core.Stamp, c *core.RequestWithdrawal) *withdrawal {
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

func (w *withdrawal) tree() obj {
	return obj{
		"withdrawal_id": str(w.ID), "client_withdrawal_id": w.ClientID, "amount": str(w.Amount), "destination": w.Destination,
		"status": [...]string{"pending", "completed", "rejected"}[w.Status], "seq": str(w.at.Seq), "ts": str(w.at.Ts),
	}
}

var paths = [...]string{core.Direct: "direct", core.Mint: "mint", core.Merge: "merge"}

func (l *ledger) place(e *entry, c *core.PlaceOrder, out model.Outcome, m *model.Venue) {
	if out.Reject == core.DuplicateClientOrderID || out.Reject == core.UnknownUser {
		return // no row
	}
	a := l.accounts[c.User]
	r := &row{PlaceOrder: *c, created: e.at, updated: e.at.Seq}
	if s, ok := m.Market(c.Market); ok {
		r.generation = s.Generation
	}
	a.rows = append(a.rows, r)
	if out.Reject != core.OK {
		r.status, r.reason = core.Rejected, e.code
		a.rejected = evict(append(a.rejected, r), rejectCap)
		return
	}
	r.id = core.OrderID(e.at.Seq)
	l.live[r.id] = r
	fills := []any{}
	for _, f := range out.Fills {
		fills = append(fills, obj{"tick_yes": num(f.TickYes), "qty": num(f.Qty), "path": paths[f.Path]})
		l.filled(r, false, e.at, f)
		l.filled(l.live[f.Maker], true, e.at, f)
	}
	ended, over := out.Ended[r.id]
	e.body = obj{
		"order_id": str(e.at.Seq), "client_order_id": str(c.ClientID), "seq": str(e.at.Seq), "filled_qty": num(r.filled),
		"resting_qty": num(c.Qty - r.filled), "fills": fills,
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
	// A maker that has nothing left, in the words of the model: it neither rests nor
	// was it ended.
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
	}
}

func (l *ledger) filled(r *row, maker bool, at core.Stamp, f model.Fill) {
	r.filled += f.Qty
	r.status, r.updated = core.PartiallyFilled, at.Seq
	a := l.accounts[r.User]
	if a.fills = append(a.fills, fill{at, r, maker, f}); len(a.fills) > fillCap {
		a.fills = a.fills[1:]
	}
}

// end closes a row. Of terminal and of rejected rows the newest are kept.
func (l *ledger) end(r *row, at core.Stamp, s core.OrderStatus, reason string) {
	r.status, r.reason, r.updated = s, reason, at.Seq
	delete(l.live, r.id)
	a := l.accounts[r.User]
	a.terminal = evict(append(a.terminal, r), terminalCap)
}

func evict(list []*row, most int) []*row {
	if len(list) > most {
		list[0].evicted = true
		list = list[1:]
	}
	return list
}

func (l *ledger) decrease(e *entry, c *core.DecreaseOrder, out model.Outcome, m *model.Venue) {
	if out.Reject != core.OK {
		// An order of the caller's that is over is no unknown one as long as its row is
		// kept (docs/decisions.md).
		for _, r := range l.accounts[c.User].rows {
			if out.Reject == core.UnknownOrder && r.id == c.Order && r.id != 0 && !r.evicted {
				e.code = "invalid_decrease"
			}
		}
		return
	}
	r := l.live[c.Order]
	left, still := m.Resting()[c.Order]
	e.body = obj{"order_id": str(uint64(c.Order)), "remaining_qty": num(left), "status": "canceled", "seq": str(e.at.Seq)}
	if r.updated = e.at.Seq; !still {
		return
	}
	if e.body["status"] = "resting"; r.filled > 0 {
		e.body["status"] = "partially_filled"
	}
}

// tree is the row on the wire; left is what the model has resting.
func (r *row) tree(left core.Qty) obj {
	out := obj{
		"order_id": any(nil), "client_order_id": str(r.ClientID), "market_id": num(r.Market), "generation": num(r.generation), "side": r.Side.String(),
		"outcome": r.Outcome.String(), "type": r.Type.String(), "tick": num(r.Tick), "qty": num(r.Qty), "tif": r.TIF.String(), "expiry_ts": str(r.Expiry),
		"max_cost": str(r.MaxCost), "group_id": num(r.Group), "flags": num(r.Flags), "status": r.status.String(), "reason": r.reason,
		"filled_qty": num(r.filled), "remaining_qty": num(left), "created_seq": str(r.created.Seq), "created_ts": str(r.created.Ts),
		"last_update_seq": str(r.updated),
	}
	if r.id != 0 {
		out["order_id"] = str(uint64(r.id))
	}
	return out
}

func (f *fill) tree() obj {
	role, fee := "taker", f.f.TakerFee
	if f.maker {
		role, fee = "maker", f.f.MakerFee
	}
	return obj{
		"seq": str(f.at.Seq), "ts": str(f.at.Ts), "market_id": num(f.row.Market), "order_id": str(uint64(f.row.id)), "client_order_id": str(f.row.ClientID),
		"role": role, "side": f.row.Side.String(), "outcome": f.row.Outcome.String(), "qty": num(f.f.Qty), "tick_yes": num(f.f.TickYes),
		"path": paths[f.f.Path], "fee": str(fee),
	}
}
