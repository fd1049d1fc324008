package ledger

import (
	"fmt"

	"duplex/core"
)

// Slots is the size of the pool of market slots (contract core, Rounds).
const Slots = 32

// ContractsMax is the most that Rules.Contracts may allow an account to hold and bid for.
const ContractsMax core.Qty = 1<<31 - 1

// Holding is what an account has in one market slot, in one cache line. The pairs are
// indexed by core.Outcome. Quantities are contracts.
type Holding struct {
	Held     [2]core.Qty
	Cost     [2]core.Pips // paid for what is held, average cost with fees
	Reserved [2]int32     // of Held, by resting sells
	Bidding  [2]int32     // resting buys
	Open     uint32       // resting orders
	mark     uint32
	entered  bool // among the holders
}

// Free is what a sell may still take.
func (h *Holding) Free(o core.Outcome) core.Qty { return h.Held[o] - core.Qty(h.Reserved[o]) }

// Wanted is what is held and bid for.
func (h *Holding) Wanted(o core.Outcome) core.Qty { return h.Held[o] + core.Qty(h.Bidding[o]) }

// nothing is the holding of who never had one.
var nothing Holding

// Account is one account's money. Reserved is held by resting buys.
type Account struct {
	Cash, Reserved core.Pips
	slots          *[Slots + 1]Holding // nil until the first order; by market
	mark           uint32
	at             uint32 // where the account stands in touched, while marked
}

// Touch remembers how an account stood before the command.
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

// Sums over all accounts, kept with every movement.
type Sums struct {
	Cash, Reserved, Fees  core.Pips
	Deposits, Withdrawals core.Pips // Withdrawals: pending and completed
	Pairs                 core.Qty  // open pairs of all markets
}

// Ledger is the money of the venue.
type Ledger struct {
	Sums
	accounts []Account // by user id; 0 is unused
	held     [Slots + 1][2]core.Qty
	pairs    [Slots + 1]core.Qty
	holders  [Slots + 1][]core.UserID // who has ever held in this life of the slot, each once

	mark     uint32 // of the command under way
	touched  []Touch
	holdings []HoldingTouch
}

// New makes an empty ledger.
func New() *Ledger { return &Ledger{accounts: make([]Account, 1), mark: 1} }

// Open adds an account and gives its id.
func (l *Ledger) Open() core.UserID {
	l.accounts = append(l.accounts, Account{})
	return core.UserID(len(l.accounts) - 1)
}

// Cash is an account's free cash.
func (l *Ledger) Cash(u core.UserID) core.Pips { return l.accounts[u].Cash }

// Balance gives an account's free cash and reservations.
func (l *Ledger) Balance(u core.UserID) (cash, reserved core.Pips) {
	a := &l.accounts[u]
	return a.Cash, a.Reserved
}

// Holding gives what u has in market m.
func (l *Ledger) Holding(u core.UserID, m core.MarketID) Holding { return *l.See(u, m) }

// See is Holding without the copy: to read, within a command.
func (l *Ledger) See(u core.UserID, m core.MarketID) *Holding {
	if s := l.accounts[u].slots; s != nil {
		return &s[m]
	}
	return &nothing
}

// Pairs are the open pairs of a market.
func (l *Ledger) Pairs(m core.MarketID) core.Qty { return l.pairs[m] }

// Begin starts a command: what it touches is listed from here on.
func (l *Ledger) Begin() {
	l.mark++
	if l.mark == 0 {
		l.rewind()
	}
	l.touched = l.touched[:0]
	l.holdings = l.holdings[:0]
}

// rewind forgets every old mark when the counter has wrapped.
func (l *Ledger) rewind() {
	l.mark = 1
	for i := range l.accounts {
		l.accounts[i].mark = 0
		if s := l.accounts[i].slots; s != nil {
			for m := range s {
				s[m].mark = 0
			}
		}
	}
}

// Touched lists the accounts and holdings the command changed, in the order of
// their first change.
func (l *Ledger) Touched() ([]Touch, []HoldingTouch) { return l.touched, l.holdings }

func (l *Ledger) account(u core.UserID, c core.Cause) *Account {
	a := &l.accounts[u]
	if a.mark != l.mark {
		a.mark, a.at = l.mark, uint32(len(l.touched))
		l.touched = append(l.touched, Touch{u, a.Cash, a.Reserved, c})
		return a
	}
	t := &l.touched[a.at]
	t.Cause = max(t.Cause, c)
	return a
}

// slot gives the holding to change what is not shown of it (bids, counts), and
// enters u among the market's holders.
func (l *Ledger) slot(u core.UserID, m core.MarketID) *Holding {
	a := &l.accounts[u]
	if a.slots == nil {
		a.slots = new([Slots + 1]Holding)
	}
	h := &a.slots[m]
	if !h.entered {
		h.entered = true
		l.holders[m] = append(l.holders[m], u)
	}
	return h
}

// holding gives the holding to change what its owner sees.
func (l *Ledger) holding(u core.UserID, m core.MarketID) *Holding {
	h := l.slot(u, m)
	l.show(h, u, m)
	return h
}

// show lists a holding among those that the command changes.
func (l *Ledger) show(h *Holding, u core.UserID, m core.MarketID) {
	if h.mark != l.mark {
		h.mark = l.mark
		l.holdings = append(l.holdings, HoldingTouch{u, m})
	}
}

func broken(format string, args ...any) {
	panic(core.Broken{What: fmt.Sprintf(format, args...)})
}

// credit adds to free cash; what it comes from is the caller's to book.
func (l *Ledger) credit(u core.UserID, n core.Pips, c core.Cause) {
	l.account(u, c).Cash += n
	l.Sums.Cash += n
}

func (l *Ledger) debit(u core.UserID, n core.Pips, c core.Cause) {
	a := l.account(u, c)
	if a.Cash < n || n < 0 {
		broken("account %d pays %d of %d", u, n, a.Cash)
	}
	a.Cash -= n
	l.Sums.Cash -= n
}

// Deposit brings money in.
func (l *Ledger) Deposit(u core.UserID, n core.Pips) {
	l.Deposits += n
	l.credit(u, n, core.CauseDeposit)
}

// Withdraw takes money out of free cash until the request is decided.
func (l *Ledger) Withdraw(u core.UserID, n core.Pips) {
	l.debit(u, n, core.CauseWithdrawal)
	l.Withdrawals += n
}

// Return gives a refused withdrawal back.
func (l *Ledger) Return(u core.UserID, n core.Pips) {
	l.Withdrawals -= n
	l.credit(u, n, core.CauseWithdrawal)
}

// Hold moves free cash into reservations, Release back.
func (l *Ledger) Hold(u core.UserID, n core.Pips, c core.Cause) {
	a := l.account(u, c)
	if a.Cash < n || n < 0 {
		broken("account %d reserves %d of %d", u, n, a.Cash)
	}
	a.Cash -= n
	a.Reserved += n
	l.Sums.Cash -= n
	l.Sums.Reserved += n
}

func (l *Ledger) Release(u core.UserID, n core.Pips, c core.Cause) {
	a := l.account(u, c)
	if a.Reserved < n || n < 0 {
		broken("account %d releases %d of %d", u, n, a.Reserved)
	}
	a.Reserved -= n
	a.Cash += n
	l.Sums.Reserved -= n
	l.Sums.Cash += n
}

// Rest books a resting order: n contracts bid for, or reserved by a sell.
func (l *Ledger) Rest(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty) {
	h := l.slot(u, m)
	h.Open++
	l.rest(h, u, m, s, o, n)
}

// Unrest takes a resting order off with n contracts left.
func (l *Ledger) Unrest(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty) {
	h := l.slot(u, m)
	h.Open--
	l.rest(h, u, m, s, o, -n)
}

// Shrink lowers a resting order by n contracts.
func (l *Ledger) Shrink(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty) {
	l.rest(l.slot(u, m), u, m, s, o, -n)
}

func (l *Ledger) rest(h *Holding, u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty) {
	if s == core.Buy {
		h.Bidding[o] += int32(n)
		return
	}
	if n == 0 { // a sell that filled to its end reserves nothing any more
		return
	}
	l.show(h, u, m)
	if h.Reserved[o] += int32(n); h.Reserved[o] < 0 || h.Free(o) < 0 {
		broken("account %d reserves %d contracts of %d", u, h.Reserved[o], h.Held[o])
	}
}

// Buy pays price and fee of n contracts out of free cash and adds them.
func (l *Ledger) Buy(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty, price, fee core.Pips) {
	l.debit(u, price+fee, core.CauseFill)
	l.gain(u, m, o, n, price+fee)
}

// BuyHeld is Buy out of a resting order's reservation of `held` pips for these n
// contracts; what is not used becomes free cash.
func (l *Ledger) BuyHeld(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty, price, fee, held core.Pips) {
	a := l.account(u, core.CauseFill)
	back := held - price - fee
	if back < 0 || a.Reserved < held {
		broken("account %d pays %d of a reservation of %d", u, price+fee, held)
	}
	a.Reserved -= held
	a.Cash += back
	l.Sums.Reserved -= held
	l.Sums.Cash += back
	h := l.gain(u, m, o, n, price+fee)
	h.Bidding[o] -= int32(n)
}

func (l *Ledger) gain(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty, paid core.Pips) *Holding {
	h := l.holding(u, m)
	h.Held[o] += n
	h.Cost[o] += paid
	l.held[m][o] += n
	return h
}

// Sell gives n contracts up for price less fee. Of a resting order they come out
// of its reservation.
func (l *Ledger) Sell(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty, price, fee core.Pips, resting bool) {
	h := l.lose(u, m, o, n)
	if resting {
		h.Reserved[o] -= int32(n)
	}
	if h.Reserved[o] < 0 || h.Free(o) < 0 {
		broken("account %d sells reserved contracts", u)
	}
	l.credit(u, price-fee, core.CauseFill)
}

func (l *Ledger) lose(u core.UserID, m core.MarketID, o core.Outcome, n core.Qty) *Holding {
	h := l.holding(u, m)
	if n <= 0 || h.Held[o] < n {
		broken("account %d gives %d contracts of %d", u, n, h.Held[o])
	}
	h.Cost[o] -= core.Share(h.Cost[o], n, h.Held[o])
	h.Held[o] -= n
	l.held[m][o] -= n
	return h
}

// Pair creates (n > 0) or destroys (n < 0) pairs: the collateral they stand for
// comes from or goes to the two sides of the fill.
func (l *Ledger) Pair(m core.MarketID, n core.Qty) {
	l.pairs[m] += n
	l.Sums.Pairs += n
}

// Fee books what both sides paid, less the shares of it that go on.
func (l *Ledger) Fee(n core.Pips) { l.Fees += n }

// Pay passes on a share of a fee.
func (l *Ledger) Pay(u core.UserID, n core.Pips, c core.Cause) {
	l.Fees -= n
	l.credit(u, n, c)
}

// Redeem turns n pairs that u holds free of reservations into cash.
func (l *Ledger) Redeem(u core.UserID, m core.MarketID, n core.Qty) core.Pips {
	l.lose(u, m, core.Yes, n)
	l.lose(u, m, core.No, n)
	l.Pair(m, -n)
	p := core.Pips(n) * core.Payout
	l.credit(u, p, core.CauseRedeem)
	return p
}

// Settle pays every holder of a market and empties it. `pay` gives what one
// contract of an outcome is worth; over a pair it must come to 10000. No order
// may rest in the market. Holders are visited in the order of their id.
func (l *Ledger) Settle(m core.MarketID, pay func(core.Outcome) core.Pips, each func(u core.UserID, h Holding, paid core.Pips)) {
	for _, u := range l.Holders(m) {
		h := &l.accounts[u].slots[m]
		was := *h
		if h.Open != 0 || h.Bidding != [2]int32{} || h.Reserved != [2]int32{} {
			broken("account %d has orders in a market that settles", u)
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
	l.Pair(m, -l.pairs[m])
}

// Fetch reads an account and its holding in a market, as a command on them will, and
// gives something of both so that it is not left out.
func (l *Ledger) Fetch(u core.UserID, m core.MarketID) uint32 {
	a := &l.accounts[u]
	if a.slots == nil {
		return a.mark
	}
	return a.mark + a.slots[m].mark
}
