package view

import (
	"iter"
	"strconv"

	"duplex/core"
)

// LedgerKind is the reason of a change of an account's money
// (docs/rules/money.md#ledger). The numbers are stored: never change or reuse one.
type LedgerKind uint8

const (
	LedgerFill LedgerKind = iota
	LedgerFee
	LedgerRebate
	LedgerReferral
	LedgerSettlement
	LedgerVoid
	LedgerRedeem
	LedgerDeposit
	LedgerWithdrawal
	LedgerWithdrawalReturned
	LedgerTransfer
	ledgerKinds
)

var ledgerKindNames = [ledgerKinds]string{"fill", "fee", "rebate", "referral", "settlement", "void", "redeem", "deposit", "withdrawal", "withdrawal_returned", "transfer"}

func (k LedgerKind) String() string { return ledgerKindNames[k] }

// LedgerKinds returns the names of all kinds.
func LedgerKinds() []string { return ledgerKindNames[:] }

// LedgerRow is one change of an account's cash and reservations together, in pips
// (docs/rules/money.md#ledger). BalanceAfter is their sum after it. Market, Generation, Number (of
// the round) and Category are 0 if the change belongs to no round, Order and FillN if it is no fill
// or fee of one.
type LedgerRow struct {
	N            uint64 // counts the rows of the account, from 1
	Seq          uint64
	Ts           int64 // ns
	Kind         LedgerKind
	Amount       core.Pips
	BalanceAfter core.Pips
	Market       core.MarketID
	Generation   uint32
	Number       uint64
	Category     uint16
	Order        core.OrderID
	FillN        uint64 // the number of the fill
	Ref          string // id of the deposit or the withdrawal, or the client's id of the transfer
}

// Deposit is a deposit of an account (docs/rules/rest.md#list_deposits). Amount is in pips, Ts in ns.
type Deposit struct {
	ID     string
	Amount core.Pips
	Seq    uint64
	Ts     int64
}

// addLedger appends to the ledger of account u. A change of 0 is no row.
func (w *View) addLedger(u core.UserID, r LedgerRow) {
	if r.Amount == 0 {
		return
	}
	a := w.mutableAccount(u)
	a.balance += r.Amount
	r.N, r.Seq, r.Ts, r.BalanceAfter = a.ledger.end(), w.stamp.Seq, w.stamp.Ts, a.balance
	a.ledger.add(r, &w.scratch)
	if w.sink != nil {
		row := r // r itself would escape, and every row would allocate without a sink too
		w.sink.Ledger(u, &row)
	}
}

// roundRow returns a row with the fields of a slot's newest round.
func (w *View) roundRow(k LedgerKind, amount core.Pips, m core.MarketID) LedgerRow {
	r := LedgerRow{Kind: k, Amount: amount, Market: m}
	if x := w.rounds.newestOf[m]; x != nil {
		r.Generation, r.Number, r.Category = x.Generation, x.Number, x.Category
	}
	return r
}

// foldFillMoney adds the rows of one side of a fill: the price, and the fee behind it.
func (w *View) foldFillMoney(u core.UserID, f *Fill) {
	amount := core.Pips(f.Qty) * core.Pips(core.InYes(f.Outcome, f.TickYes))
	if f.Side == core.Buy {
		amount = -amount
	}
	r := LedgerRow{Kind: LedgerFill, Amount: amount, Market: f.Market, Generation: f.Generation, Number: f.Number, Category: f.Category, Order: f.Order, FillN: f.N}
	w.addLedger(u, r)
	r.Kind, r.Amount = LedgerFee, -f.Fee
	w.addLedger(u, r)
}

// foldFeeShares adds the rows of a rebate and a referral share. They do not name the taker's order.
func (w *View) foldFeeShares(e *core.Filled) {
	if e.Rebate != 0 {
		w.addLedger(e.MakerUser, w.roundRow(LedgerRebate, e.Rebate, e.Market))
	}
	if e.Referral != 0 {
		w.addLedger(e.Referrer, w.roundRow(LedgerReferral, e.Referral, e.Market))
	}
}

func (w *View) foldDeposited(e *core.Deposited) {
	w.addEvent(e.User, new(*e))
	w.mutableAccount(e.User).deposits.add(Deposit{ID: e.DepositID, Amount: e.Amount, Seq: w.stamp.Seq, Ts: w.stamp.Ts}, &w.scratch)
	w.addLedger(e.User, LedgerRow{Kind: LedgerDeposit, Amount: e.Amount, Ref: e.DepositID})
}

func (w *View) foldTransferred(e *core.Transferred) {
	if e.Seq != w.stamp.Seq {
		return // a repeat, which moved nothing
	}
	w.addEvent(e.From, new(*e))
	w.addEvent(e.To, new(*e))
	w.addLedger(e.From, LedgerRow{Kind: LedgerTransfer, Amount: -e.Amount, Ref: e.ClientID})
	w.addLedger(e.To, LedgerRow{Kind: LedgerTransfer, Amount: e.Amount, Ref: e.ClientID})
}

// withdrawalRow returns the row of a withdrawal in its present status, if that moves money.
func withdrawalRow(x *core.Withdrawal) (LedgerRow, bool) {
	r := LedgerRow{Kind: LedgerWithdrawal, Amount: -x.Amount, Ref: strconv.FormatUint(x.ID, 10)}
	switch x.Status {
	case core.WithdrawalPending:
		return r, true
	case core.WithdrawalRejected:
		r.Kind, r.Amount = LedgerWithdrawalReturned, x.Amount
		return r, true
	}
	return r, false
}

// Ledger iterates over the ledger rows of u with a number below from (0: all), newest first, with
// their numbers.
func (w *View) Ledger(u core.UserID, from uint64) iter.Seq2[uint64, *LedgerRow] {
	return w.account(u).ledger.newestFirst(u, from)
}

// HeldMoney reports whether u holds money or ever did: whether its ledger has had a row, kept or not.
func (w *View) HeldMoney(u core.UserID) bool {
	return w.account(u).ledger.end() > 1
}

// LedgerBalance returns the cash and reservations of u after its last row.
func (w *View) LedgerBalance(u core.UserID) core.Pips {
	return w.account(u).balance
}

// Deposits iterates over the deposits of u with a seq below from (0: all), newest first, with their
// seqs.
func (w *View) Deposits(u core.UserID, from uint64) iter.Seq2[uint64, *Deposit] {
	return func(yield func(uint64, *Deposit) bool) {
		for _, d := range w.account(u).deposits.newestFirst(u, 0) {
			if (from == 0 || d.Seq < from) && !yield(d.Seq, d) {
				return
			}
		}
	}
}

// The parts of a LedgerRow that its second byte announces.
const (
	ledgerRound     = 1 << iota // it belongs to a round
	ledgerSameRound             // that of the row before
	ledgerOrder
	ledgerFill
	ledgerRef
	ledgerEnd
)

// encode encodes the row as a difference to the row before.
func (r *LedgerRow) encode(e *encoder) {
	p := &e.lastLedger
	e.header(r.Seq, r.Ts)
	var parts byte
	if r.Market != 0 {
		parts |= ledgerRound
		if r.Market == p.Market && r.Generation == p.Generation && r.Number == p.Number && r.Category == p.Category {
			parts |= ledgerSameRound
		}
	}
	if r.Order != 0 {
		parts |= ledgerOrder
	}
	if r.FillN != 0 {
		parts |= ledgerFill
	}
	if r.Ref != "" {
		parts |= ledgerRef
	}
	e.b = append(e.b, byte(r.Kind), parts)
	e.uint(r.N - p.N)
	e.int(int64(r.Amount))
	e.int(int64(r.BalanceAfter - p.BalanceAfter - r.Amount))
	if parts&(ledgerRound|ledgerSameRound) == ledgerRound {
		e.uint(uint64(r.Market))
		e.uint(uint64(r.Generation))
		e.uint(r.Number)
		e.uint(uint64(r.Category))
	}
	if parts&ledgerOrder != 0 {
		e.relSeq(uint64(r.Order))
	}
	if parts&ledgerFill != 0 {
		e.int(int64(r.FillN - p.FillN))
	}
	if parts&ledgerRef != 0 {
		e.string(r.Ref)
	}
	*p = *r
}

func (r *LedgerRow) decode(d *decoder) {
	p := &d.lastLedger
	*r = LedgerRow{}
	r.Seq, r.Ts = d.header()
	kind, parts := d.byte(), d.byte()
	if kind >= byte(ledgerKinds) || parts >= ledgerEnd {
		d.fail(errRange)
		return
	}
	r.Kind = LedgerKind(kind)
	r.N = p.N + d.uint()
	r.Amount = d.pips()
	r.BalanceAfter = p.BalanceAfter + r.Amount + d.pips()
	switch {
	case parts&ledgerSameRound != 0:
		r.Market, r.Generation, r.Number, r.Category = p.Market, p.Generation, p.Number, p.Category
	case parts&ledgerRound != 0:
		r.Market, r.Generation, r.Number, r.Category = core.MarketID(d.u32()), d.u32(), d.uint(), d.u16()
	}
	if parts&ledgerOrder != 0 {
		r.Order = core.OrderID(d.relSeq())
	}
	if parts&ledgerFill != 0 {
		r.FillN = p.FillN + uint64(d.int())
	}
	if parts&ledgerRef != 0 {
		r.Ref = d.string()
	}
	*p = *r
}

func (x *Deposit) encode(e *encoder) {
	e.header(x.Seq, x.Ts)
	e.string(x.ID)
	e.int(int64(x.Amount))
}

func (x *Deposit) decode(d *decoder) {
	x.Seq, x.Ts = d.header()
	x.ID, x.Amount = d.string(), d.pips()
}
