package ledger

import (
	"fmt"

	"duplex/core"
)

// Slots is the number of market slots (docs/rules/rounds.md#slots).
const Slots = 32

// ContractsMax is the greatest value that Rules.Contracts may have (docs/rules/money.md#bounds).
const ContractsMax core.Qty = 1<<31 - 1

// Holding is what an account has in one market slot, in one cache line. Arrays are
// indexed by core.Outcome; quantities are contracts.
type Holding struct {
	Cost         [2]core.Pips // paid for Held, fees included (docs/rules/money.md#average-cost)
	ReservedCash core.Pips    // by resting buys
	Held         [2]int32     // at most ContractsMax
	Reserved     [2]int32     // of Held, by resting sells
	Bidding      [2]int32     // in resting buys
	Open         uint32       // number of resting orders
	epoch        uint32       // of the last command that changed it
	listed       bool         // in Ledger.holders
}

// OpenCost is the cash that resting buys reserve and the cost of what is held: the most that
// the market can still cost.
func (h *Holding) OpenCost() core.Pips { return h.ReservedCash + h.Cost[core.Yes] + h.Cost[core.No] }

// Contracts is the number of contracts held of an outcome.
func (h *Holding) Contracts(o core.Outcome) core.Qty { return core.Qty(h.Held[o]) }

// Free is the number of contracts that no resting sell reserves.
func (h *Holding) Free(o core.Outcome) core.Qty { return core.Qty(h.Held[o] - h.Reserved[o]) }

// Exposure is the number of contracts held and bid for.
func (h *Holding) Exposure(o core.Outcome) core.Qty {
	return core.Qty(h.Held[o]) + core.Qty(h.Bidding[o])
}

// emptyHolding is the holding of an account without orders or contracts.
var emptyHolding Holding

// Account is one account's money, in one cache line. Reserved is the cash that resting buys
// reserve.
type Account struct {
	Cash, Reserved core.Pips
	cost           core.Pips           // of all positions: the sum of Holding.Cost
	realized       core.Pips           // profit and loss of all that was sold, redeemed or settled
	realizedToday  core.Pips           // the part of the UTC day `day`
	slots          *[Slots + 1]Holding // nil until the first order; by market
	day            int32               // see realizedToday and ordersToday
	ordersToday    uint32              // placements that were not rejected on the UTC day `day`
	epoch          uint32              // of the last command that changed it
	touchIndex     uint32              // index in touched, valid for the current epoch
}

// Totals are the sums of an account that no rule reads (docs/rules/money.md#profit-and-loss),
// in pips. Fees are inside the cost or the proceeds of the fills already.
type Totals struct {
	Fees         core.Pips // paid
	Rebates      core.Pips // rebates and referral shares received
	DepositsNet  core.Pips // deposits less withdrawals, pending ones included
	TransfersNet core.Pips // transfers received less transfers made
}

// Performance is the profit and loss of an account, in pips
// (docs/rules/money.md#profit-and-loss).
type Performance struct {
	Totals
	Realized      core.Pips
	RealizedToday core.Pips // of the UTC day of the last command
	Cost          core.Pips // of all positions
	OrdersToday   uint32    // placements of the UTC day that were not rejected
}

// Touch is an account's money before the command, and the cause of the change.
type Touch struct {
	User           core.UserID
	Cash, Reserved core.Pips
	Cause          core.Cause
}

// HoldingTouch names a holding that the command changed.
type HoldingTouch struct {
	User   core.UserID
	Market core.MarketID
}

// Sums are the totals over all accounts. Every movement updates them.
type Sums struct {
	Cash, Reserved, Fees  core.Pips
	Deposits, Withdrawals core.Pips // Withdrawals includes pending ones
	Pairs                 core.Qty  // open pairs of all markets
}

// Ledger keeps the money and contracts of the venue.
type Ledger struct {
	Sums
	accounts []Account // by user id; 0 is unused
	totals   []Totals  // by user id
	day      int32     // UTC day of the current command
	held     [Slots + 1][2]core.Qty
	pairs    [Slots + 1]core.Qty
	holders  [Slots + 1][]core.UserID // accounts listed in this generation of the slot, each once

	epoch    uint32 // of the current command
	touched  []Touch
	holdings []HoldingTouch
}

// New returns an empty ledger.
func New() *Ledger { return &Ledger{accounts: make([]Account, 1), totals: make([]Totals, 1), epoch: 1} }

// Open adds an account and returns its id.
func (l *Ledger) Open() core.UserID {
	l.accounts = append(l.accounts, Account{})
	l.totals = append(l.totals, Totals{})
	return core.UserID(len(l.accounts) - 1)
}

// Cash is an account's free cash.
func (l *Ledger) Cash(u core.UserID) core.Pips { return l.accounts[u].Cash }

// Balance returns an account's free cash and reservations.
func (l *Ledger) Balance(u core.UserID) (cash, reserved core.Pips) {
	a := &l.accounts[u]
	return a.Cash, a.Reserved
}

// Holding returns what u has in market m.
func (l *Ledger) Holding(u core.UserID, m core.MarketID) Holding { return *l.HoldingRef(u, m) }

// HoldingRef is Holding without the copy. The caller must not change the result or keep
// it after the command.
func (l *Ledger) HoldingRef(u core.UserID, m core.MarketID) *Holding {
	if s := l.accounts[u].slots; s != nil {
		return &s[m]
	}
	return &emptyHolding
}

// Pairs is the number of open pairs of a market.
func (l *Ledger) Pairs(m core.MarketID) core.Qty { return l.pairs[m] }

// Performance returns an account's profit and loss.
func (l *Ledger) Performance(u core.UserID) Performance {
	a := &l.accounts[u]
	p := Performance{Totals: l.totals[u], Realized: a.realized, Cost: a.cost}
	p.RealizedToday, p.OrdersToday = l.Today(u)
	return p
}

// Today returns the profit and loss that an account realized, in pips, and the placements of it
// that were not rejected, on the UTC day of the current command.
func (l *Ledger) Today(u core.UserID) (realized core.Pips, orders uint32) {
	if a := &l.accounts[u]; a.day == l.day {
		return a.realizedToday, a.ordersToday
	}
	return 0, 0
}

// OpenCost is the cash that an account's resting buys reserve and the cost of its positions, in
// pips.
func (l *Ledger) OpenCost(u core.UserID) core.Pips {
	a := &l.accounts[u]
	return a.Reserved + a.cost
}

// CountOrder counts a placement that was not rejected.
func (l *Ledger) CountOrder(u core.UserID) {
	a := &l.accounts[u]
	l.rollDay(a)
	a.ordersToday++
}

// rollDay resets the sums of the day when they are first used on a later day.
func (l *Ledger) rollDay(a *Account) {
	if a.day != l.day {
		a.day, a.realizedToday, a.ordersToday = l.day, 0, 0
	}
}

// realize books the profit or loss of contracts that were sold, redeemed or settled.
func (l *Ledger) realize(a *Account, n core.Pips) {
	l.rollDay(a)
	a.realized += n
	a.realizedToday += n
}

// Begin starts a command of a UTC day and empties the lists of Touched.
func (l *Ledger) Begin(day int32) {
	l.day = day
	l.epoch++
	if l.epoch == 0 {
		l.resetEpochs()
	}
	l.touched = l.touched[:0]
	l.holdings = l.holdings[:0]
}

// resetEpochs clears the epochs of all accounts and holdings after the counter wrapped.
func (l *Ledger) resetEpochs() {
	l.epoch = 1
	for i := range l.accounts {
		l.accounts[i].epoch = 0
		if s := l.accounts[i].slots; s != nil {
			for m := range s {
				s[m].epoch = 0
			}
		}
	}
}

// Touched lists the accounts and holdings that the command changed, in the order of
// their first change. The slices are valid until the next Begin.
func (l *Ledger) Touched() ([]Touch, []HoldingTouch) { return l.touched, l.holdings }

// account returns an account in order to change it, and records the change.
func (l *Ledger) account(u core.UserID, c core.Cause) *Account {
	a := &l.accounts[u]
	if a.epoch != l.epoch {
		a.epoch, a.touchIndex = l.epoch, uint32(len(l.touched))
		l.touched = append(l.touched, Touch{u, a.Cash, a.Reserved, c})
		return a
	}
	t := &l.touched[a.touchIndex]
	t.Cause = max(t.Cause, c)
	return a
}

// holdingSlot returns a holding in order to change fields that positions do not show
// (Bidding, Open), and lists u among the market's holders.
func (l *Ledger) holdingSlot(u core.UserID, m core.MarketID) *Holding {
	a := &l.accounts[u]
	if a.slots == nil {
		a.slots = new([Slots + 1]Holding)
	}
	h := &a.slots[m]
	if !h.listed {
		h.listed = true
		l.holders[m] = append(l.holders[m], u)
	}
	return h
}

// holding returns a holding in order to change fields that positions show.
func (l *Ledger) holding(u core.UserID, m core.MarketID) *Holding {
	h := l.holdingSlot(u, m)
	l.touchHolding(h, u, m)
	return h
}

// touchHolding records that the command changes a holding.
func (l *Ledger) touchHolding(h *Holding, u core.UserID, m core.MarketID) {
	if h.epoch != l.epoch {
		h.epoch = l.epoch
		l.holdings = append(l.holdings, HoldingTouch{u, m})
	}
}

func violate(format string, args ...any) {
	panic(core.InvariantViolation{Detail: fmt.Sprintf(format, args...)})
}

// credit adds n to free cash. The caller books where the money comes from.
func (l *Ledger) credit(u core.UserID, n core.Pips, c core.Cause) {
	l.account(u, c).Cash += n
	l.Sums.Cash += n
}

func (l *Ledger) debit(u core.UserID, n core.Pips, c core.Cause) {
	a := l.account(u, c)
	if a.Cash < n || n < 0 {
		violate("account %d pays %d of %d", u, n, a.Cash)
	}
	a.Cash -= n
	l.Sums.Cash -= n
}

// Deposit adds n to free cash and to the deposits.
func (l *Ledger) Deposit(u core.UserID, n core.Pips) {
	l.Deposits += n
	l.totals[u].DepositsNet += n
	l.credit(u, n, core.CauseDeposit)
}

// Withdraw moves n from free cash to the withdrawals.
func (l *Ledger) Withdraw(u core.UserID, n core.Pips) {
	l.debit(u, n, core.CauseWithdrawal)
	l.totals[u].DepositsNet -= n
	l.Withdrawals += n
}

// ReturnWithdrawal moves n, of a rejected withdrawal, back to free cash.
func (l *Ledger) ReturnWithdrawal(u core.UserID, n core.Pips) {
	l.Withdrawals -= n
	l.totals[u].DepositsNet += n
	l.credit(u, n, core.CauseWithdrawal)
}

// Transfer moves n from the free cash of one account to that of another.
func (l *Ledger) Transfer(from, to core.UserID, n core.Pips) {
	l.debit(from, n, core.CauseTransfer)
	l.credit(to, n, core.CauseTransfer)
	l.totals[from].TransfersNet -= n
	l.totals[to].TransfersNet += n
}

// Reserve moves n from free cash to reservations.
func (l *Ledger) Reserve(u core.UserID, n core.Pips, c core.Cause) {
	a := l.account(u, c)
	if a.Cash < n || n < 0 {
		violate("account %d reserves %d of %d", u, n, a.Cash)
	}
	a.Cash -= n
	a.Reserved += n
	l.Sums.Cash -= n
	l.Sums.Reserved += n
}

// Release moves n from reservations to free cash.
func (l *Ledger) Release(u core.UserID, n core.Pips, c core.Cause) {
	a := l.account(u, c)
	if a.Reserved < n || n < 0 {
		violate("account %d releases %d of %d", u, n, a.Reserved)
	}
	a.Reserved -= n
	a.Cash += n
	l.Sums.Reserved -= n
	l.Sums.Cash += n
}

// AddResting books a resting order: a buy that bids for n contracts and reserves unit pips for
// each, or a sell that reserves them.
func (l *Ledger) AddResting(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty, unit core.Pips) {
	h := l.holdingSlot(u, m)
	h.Open++
	l.adjustResting(h, u, m, s, o, n, unit)
}

// RemoveResting removes a resting order that has n contracts left.
func (l *Ledger) RemoveResting(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty, unit core.Pips) {
	h := l.holdingSlot(u, m)
	h.Open--
	l.adjustResting(h, u, m, s, o, -n, unit)
}

// ReduceResting takes n contracts off a resting order.
func (l *Ledger) ReduceResting(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty, unit core.Pips) {
	l.adjustResting(l.holdingSlot(u, m), u, m, s, o, -n, unit)
}

// SetAside books a resting order as removed and its reservation as released. PutBack or ConfirmAside
// must follow in the same command.
func (l *Ledger) SetAside(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty, unit core.Pips) {
	l.account(u, core.CauseCancel) // records what the account had
	l.shiftResting(u, m, s, o, -n, unit)
	l.accounts[u].slots[m].Open--
}

// PutBack undoes SetAside with the same arguments.
func (l *Ledger) PutBack(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty, unit core.Pips) {
	l.shiftResting(u, m, s, o, n, unit)
	l.accounts[u].slots[m].Open++
}

// ConfirmAside leaves the order removed.
func (l *Ledger) ConfirmAside(u core.UserID, m core.MarketID, s core.Side) {
	if s == core.Sell {
		l.touchHolding(&l.accounts[u].slots[m], u, m)
	}
}

// shiftResting adds n contracts to what the account has in resting orders, and their reservation.
func (l *Ledger) shiftResting(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty, unit core.Pips) {
	a := &l.accounts[u]
	h := &a.slots[m]
	if s == core.Sell {
		h.Reserved[o] += int32(n)
		return
	}
	h.Bidding[o] += int32(n)
	cash := core.Pips(n) * unit
	h.ReservedCash += cash
	a.Reserved += cash
	a.Cash -= cash
	l.Sums.Reserved += cash
	l.Sums.Cash -= cash
}

func (l *Ledger) adjustResting(h *Holding, u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty, unit core.Pips) {
	if s == core.Buy {
		h.Bidding[o] += int32(n)
		h.ReservedCash += core.Pips(n) * unit
		return
	}
	if n == 0 { // a fully filled sell has no reservation left
		return
	}
	l.touchHolding(h, u, m)
	if h.Reserved[o] += int32(n); h.Reserved[o] < 0 || h.Free(o) < 0 {
		violate("account %d reserves %d contracts of %d", u, h.Reserved[o], h.Held[o])
	}
}

// Buy adds n contracts and pays their price and fee from free cash.
func (l *Ledger) Buy(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty, price, fee core.Pips) {
	l.debit(u, price+fee, core.CauseFill)
	l.addContracts(u, m, o, n, price, fee)
}

// BuyFromReservation adds n contracts and pays their price and fee from the held pips
// that a resting order reserved for them. The remainder becomes free cash.
func (l *Ledger) BuyFromReservation(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty, price, fee, held core.Pips) {
	a := l.account(u, core.CauseFill)
	back := held - price - fee
	if back < 0 || a.Reserved < held {
		violate("account %d pays %d of a reservation of %d", u, price+fee, held)
	}
	a.Reserved -= held
	a.Cash += back
	l.Sums.Reserved -= held
	l.Sums.Cash += back
	h := l.addContracts(u, m, o, n, price, fee)
	h.Bidding[o] -= int32(n)
	h.ReservedCash -= held
}

func (l *Ledger) addContracts(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty, price, fee core.Pips) *Holding {
	h := l.holding(u, m)
	h.Held[o] += int32(n)
	h.Cost[o] += price + fee
	l.accounts[u].cost += price + fee
	l.payFee(u, fee)
	l.held[m][o] += n
	return h
}

// Sell removes n contracts and credits price less fee. With resting set they are
// contracts that a resting order reserved.
func (l *Ledger) Sell(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty, price, fee core.Pips, resting bool) {
	h, cost := l.removeContracts(u, m, o, n)
	if resting {
		h.Reserved[o] -= int32(n)
	}
	if h.Reserved[o] < 0 || h.Free(o) < 0 {
		violate("account %d sells reserved contracts", u)
	}
	l.credit(u, price-fee, core.CauseFill)
	l.realize(&l.accounts[u], price-fee-cost)
	l.payFee(u, fee)
}

// payFee counts a fee that is part of the cost or of the proceeds of a fill.
func (l *Ledger) payFee(u core.UserID, fee core.Pips) {
	if fee != 0 { // spares the cache line of Totals
		l.totals[u].Fees += fee
	}
}

// removeContracts removes n contracts and returns their cost.
func (l *Ledger) removeContracts(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty) (*Holding, core.Pips) {
	h := l.holding(u, m)
	held := h.Contracts(o)
	if n <= 0 || held < n {
		violate("account %d gives %d contracts of %d", u, n, held)
	}
	cost := core.ProRata(h.Cost[o], n, held)
	h.Cost[o] -= cost
	l.accounts[u].cost -= cost
	h.Held[o] -= int32(n)
	l.held[m][o] -= n
	return h, cost
}

// AddPairs creates (n > 0) or destroys (n < 0) pairs. Their collateral is what the two
// sides of the fill pay or receive.
func (l *Ledger) AddPairs(m core.MarketID, n core.Qty) {
	l.pairs[m] += n
	l.Sums.Pairs += n
}

// CollectFees adds n to the venue's fees.
func (l *Ledger) CollectFees(n core.Pips) { l.Fees += n }

// PayFromFees pays a share of a fee to u (docs/rules/money.md#fee-shares).
func (l *Ledger) PayFromFees(u core.UserID, n core.Pips, c core.Cause) {
	l.Fees -= n
	l.totals[u].Rebates += n
	l.credit(u, n, c)
}

// Redeem exchanges n unreserved pairs of u for cash and returns the amount
// (docs/rules/money.md#redeem).
func (l *Ledger) Redeem(u core.UserID, m core.MarketID, n core.Qty) core.Pips {
	_, yes := l.removeContracts(u, m, core.Yes, n)
	_, no := l.removeContracts(u, m, core.No, n)
	l.AddPairs(m, -n)
	p := core.Pips(n) * core.Payout
	l.credit(u, p, core.CauseRedeem)
	l.realize(&l.accounts[u], p-yes-no)
	return p
}

// Settle pays every holder of a market, in the order of their ids, and empties the
// market. pay returns the pips for one contract of an outcome; for both outcomes together
// they must be 10000. each is called for every account that held contracts. It panics if
// an order rests in the market. See docs/rules/money.md#payouts.
func (l *Ledger) Settle(m core.MarketID, pay func(core.Outcome) core.Pips, each func(u core.UserID, h Holding, paid core.Pips)) {
	for _, u := range l.Holders(m) {
		h := &l.accounts[u].slots[m]
		was := *h
		if h.Open != 0 || h.ReservedCash != 0 || h.Bidding != [2]int32{} || h.Reserved != [2]int32{} {
			violate("account %d has orders in a market that settles", u)
		}
		paid := core.Pips(h.Held[core.Yes])*pay(core.Yes) + core.Pips(h.Held[core.No])*pay(core.No)
		if was.Held != [2]int32{} {
			l.holding(u, m)
			l.held[m][core.Yes] -= was.Contracts(core.Yes)
			l.held[m][core.No] -= was.Contracts(core.No)
			l.credit(u, paid, core.CauseSettlement)
			cost := was.Cost[core.Yes] + was.Cost[core.No]
			l.accounts[u].cost -= cost
			l.realize(&l.accounts[u], paid-cost)
			each(u, was, paid)
		}
		*h = Holding{}
	}
	l.holders[m] = l.holders[m][:0]
	l.AddPairs(m, -l.pairs[m])
}
