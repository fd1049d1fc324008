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
	Ref          string // id of the deposit or the withdrawal, or the client's id of the transfer or the redeem
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

// withdrawalRow returns the row of a withdrawal in its present state, if that moves money.
func withdrawalRow(x *core.Withdrawal) (LedgerRow, bool) {
	r := LedgerRow{Kind: LedgerWithdrawal, Amount: -x.Amount, Ref: strconv.FormatUint(x.ID, 10)}
	switch x.State {
	case core.WithdrawalPending:
		return r, true
	case core.WithdrawalRejected, core.WithdrawalFailed:
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

// code codes the row as a difference to the row before.
func (r *LedgerRow) code(c *coder) {
	p := &c.lastLedger
	if c.reading {
		*r = LedgerRow{}
	}
	c.header(&r.Seq, &r.Ts)
	octet(c, &r.Kind)
	c.check(r.Kind < ledgerKinds)
	round := r.Market != 0
	same := round && r.Market == p.Market && r.Generation == p.Generation && r.Number == p.Number && r.Category == p.Category
	order, fill, ref := r.Order != 0, r.FillN != 0, r.Ref != ""
	c.flags(&round, &same, &order, &fill, &ref)
	step := r.N - p.N
	unsigned(c, &step)
	signed(c, &r.Amount)
	delta(c, &r.BalanceAfter, p.BalanceAfter+r.Amount)
	switch {
	case same && c.reading:
		r.Market, r.Generation, r.Number, r.Category = p.Market, p.Generation, p.Number, p.Category
	case round && !same:
		unsigned(c, &r.Market)
		unsigned(c, &r.Generation)
		unsigned(c, &r.Number)
		unsigned(c, &r.Category)
	}
	if order {
		delta(c, &r.Order, core.OrderID(c.seq))
	}
	if fill {
		delta(c, &r.FillN, p.FillN)
	}
	if ref {
		c.string(&r.Ref)
	}
	if c.reading {
		r.N = p.N + step
	}
	*p = *r
}

func (x *Deposit) code(c *coder) {
	c.header(&x.Seq, &x.Ts)
	c.string(&x.ID)
	signed(c, &x.Amount)
}
