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
	Held     [2]core.Qty
	Cost     [2]core.Pips // paid for Held, fees included (docs/rules/money.md#average-cost)
	Reserved [2]int32     // of Held, by resting sells
	Bidding  [2]int32     // in resting buys
	Open     uint32       // number of resting orders
	epoch    uint32       // of the last command that changed it
	listed   bool         // in Ledger.holders
}

// Free is the number of contracts that no resting sell reserves.
func (h *Holding) Free(o core.Outcome) core.Qty { return h.Held[o] - core.Qty(h.Reserved[o]) }

// Exposure is the number of contracts held and bid for.
func (h *Holding) Exposure(o core.Outcome) core.Qty { return h.Held[o] + core.Qty(h.Bidding[o]) }

// emptyHolding is the holding of an account without orders or contracts.
var emptyHolding Holding

// Account is one account's money. Reserved is the cash that resting buys reserve.
type Account struct {
	Cash, Reserved core.Pips
	slots          *[Slots + 1]Holding // nil until the first order; by market
	epoch          uint32              // of the last command that changed it
	touchIndex     uint32              // index in touched, valid for the current epoch
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
	held     [Slots + 1][2]core.Qty
	pairs    [Slots + 1]core.Qty
	holders  [Slots + 1][]core.UserID // accounts listed in this generation of the slot, each once

	epoch    uint32 // of the current command
	touched  []Touch
	holdings []HoldingTouch
}

// New returns an empty ledger.
func New() *Ledger { return &Ledger{accounts: make([]Account, 1), epoch: 1} }

// Open adds an account and returns its id.
func (l *Ledger) Open() core.UserID {
	l.accounts = append(l.accounts, Account{})
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

// Begin starts a command and empties the lists of Touched.
func (l *Ledger) Begin() {
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
	l.credit(u, n, core.CauseDeposit)
}

// Withdraw moves n from free cash to the withdrawals.
func (l *Ledger) Withdraw(u core.UserID, n core.Pips) {
	l.debit(u, n, core.CauseWithdrawal)
	l.Withdrawals += n
}

// ReturnWithdrawal moves n, of a rejected withdrawal, back to free cash.
func (l *Ledger) ReturnWithdrawal(u core.UserID, n core.Pips) {
	l.Withdrawals -= n
	l.credit(u, n, core.CauseWithdrawal)
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

// AddResting books a resting order: a buy that bids for n contracts, or a sell that
// reserves them.
func (l *Ledger) AddResting(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty) {
	h := l.holdingSlot(u, m)
	h.Open++
	l.adjustResting(h, u, m, s, o, n)
}

// RemoveResting removes a resting order that has n contracts left.
func (l *Ledger) RemoveResting(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty) {
	h := l.holdingSlot(u, m)
	h.Open--
	l.adjustResting(h, u, m, s, o, -n)
}

// ReduceResting takes n contracts off a resting order.
func (l *Ledger) ReduceResting(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty) {
	l.adjustResting(l.holdingSlot(u, m), u, m, s, o, -n)
}

func (l *Ledger) adjustResting(h *Holding, u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty) {
	if s == core.Buy {
		h.Bidding[o] += int32(n)
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
	l.addContracts(u, m, o, n, price+fee)
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
	h := l.addContracts(u, m, o, n, price+fee)
	h.Bidding[o] -= int32(n)
}

func (l *Ledger) addContracts(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty, paid core.Pips) *Holding {
	h := l.holding(u, m)
	h.Held[o] += n
	h.Cost[o] += paid
	l.held[m][o] += n
	return h
}

// Sell removes n contracts and credits price less fee. With resting set they are
// contracts that a resting order reserved.
func (l *Ledger) Sell(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty, price, fee core.Pips, resting bool) {
	h := l.removeContracts(u, m, o, n)
	if resting {
		h.Reserved[o] -= int32(n)
	}
	if h.Reserved[o] < 0 || h.Free(o) < 0 {
		violate("account %d sells reserved contracts", u)
	}
	l.credit(u, price-fee, core.CauseFill)
}

func (l *Ledger) removeContracts(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty) *Holding {
	h := l.holding(u, m)
	if n <= 0 || h.Held[o] < n {
		violate("account %d gives %d contracts of %d", u, n, h.Held[o])
	}
	h.Cost[o] -= core.ProRata(h.Cost[o], n, h.Held[o])
	h.Held[o] -= n
	l.held[m][o] -= n
	return h
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
	l.credit(u, n, c)
}

// Redeem exchanges n unreserved pairs of u for cash and returns the amount
// (docs/rules/money.md#redeem).
func (l *Ledger) Redeem(u core.UserID, m core.MarketID, n core.Qty) core.Pips {
	l.removeContracts(u, m, core.Yes, n)
	l.removeContracts(u, m, core.No, n)
	l.AddPairs(m, -n)
	p := core.Pips(n) * core.Payout
	l.credit(u, p, core.CauseRedeem)
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
		if h.Open != 0 || h.Bidding != [2]int32{} || h.Reserved != [2]int32{} {
			violate("account %d has orders in a market that settles", u)
		}
		paid := core.Pips(h.Held[core.Yes])*pay(core.Yes) + core.Pips(h.Held[core.No])*pay(core.No)
		if was.Held != [2]core.Qty{} {
			l.holding(u, m)
			l.held[m][core.Yes] -= was.Held[core.Yes]
			l.held[m][core.No] -= was.Held[core.No]
			l.credit(u, paid, core.CauseSettlement)
			each(u, was, paid)
		}
		*h = Holding{}
	}
	l.holders[m] = l.holders[m][:0]
	l.AddPairs(m, -l.pairs[m])
}

// Prefetch reads the cache lines of an account and of its holding in a market, which a
// later command will need. The result has no meaning; returning it keeps the compiler
// from removing the reads.
func (l *Ledger) Prefetch(u core.UserID, m core.MarketID) uint32 {
	a := &l.accounts[u]
	if a.slots == nil {
		return a.epoch
	}
	return a.epoch + a.slots[m].epoch
}
