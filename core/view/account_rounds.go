package view

import (
	"cmp"
	"iter"
	"slices"
	"strconv"

	"duplex/core"
)

// AccountRound is what one account traded and made in one round
// (docs/rules/money.md#results-by-round). Bought and Sold are contracts by outcome, Redeemed is
// pairs. Paid and Received are the prices of buys and sales without fees, in pips.
type AccountRound struct {
	Number                       uint64
	Market                       core.MarketID
	Generation                   uint32
	Category                     uint16
	Status                       core.RoundStatus // Trading, Frozen and Proposed are not kept up to date
	Winner                       core.Outcome     // NoOutcome until the round is final
	Bought, Sold                 [2]core.Qty
	Redeemed                     core.Qty
	Paid, Received, Fees, Payout core.Pips
	UpdateSeq                    uint64 // of the last change
}

// Profit returns what the account made in the round, in pips, and whether the round is final. It is
// 0 before.
func (x *AccountRound) Profit() (core.Pips, bool) {
	if !x.Status.Final() {
		return 0, false
	}
	return x.Received + x.Payout + core.Payout*core.Pips(x.Redeemed) - x.Paid - x.Fees, true
}

// accountRounds are the rounds of one account by rising number. Final ones never change again, so
// images share them.
type accountRounds []*AccountRound

func (l accountRounds) search(number uint64) (int, bool) {
	return slices.BinarySearchFunc(l, number, func(x *AccountRound, n uint64) int { return cmp.Compare(x.Number, n) })
}

// evictRounds drops the final rounds with the lowest numbers beyond max, and notes them as released.
func (a *account) evictRounds(max int) {
	for ; a.finalRounds > max; a.finalRounds-- {
		i := slices.IndexFunc(a.rounds, func(x *AccountRound) bool { return x.Status.Final() })
		a.roundsReleased.note(a.rounds[i].Number, a.rounds[i].UpdateSeq)
		a.rounds = slices.Delete(a.rounds, i, i+1)
	}
}

// mutableAccountRound returns the row of account u for the newest round of slot m, and the caller may change
// it. With create it adds a missing row. It returns nil if there is no row, and if the round opened before
// the view began to keep these rows.
func (w *View) mutableAccountRound(u core.UserID, m core.MarketID, create bool) *AccountRound {
	r := w.rounds.newestOf[m]
	if r == nil {
		return nil
	}
	a := w.mutableAccount(u)
	i, found := a.rounds.search(r.Number)
	switch {
	case found:
	case !create:
		return nil
	default:
		x := &AccountRound{Number: r.Number, Market: m, Generation: r.Generation, Category: r.Category, Status: core.Trading, Winner: core.NoOutcome}
		a.rounds = slices.Insert(a.rounds, i, x)
		w.traders[r.Number] = append(w.traders[r.Number], u)
	}
	x := a.rounds[i]
	x.UpdateSeq = w.stamp.Seq
	return x
}

// foldFillRound adds one side of a fill to the account's round.
func (w *View) foldFillRound(u core.UserID, f *Fill) {
	x := w.mutableAccountRound(u, f.Market, true)
	if x == nil {
		return
	}
	amount := core.Pips(f.Qty) * core.Pips(core.InYes(f.Outcome, f.TickYes))
	if f.Side == core.Buy {
		x.Bought[f.Outcome] += f.Qty
		x.Paid += amount
	} else {
		x.Sold[f.Outcome] += f.Qty
		x.Received += amount
	}
	x.Fees += f.Fee
	w.reportAccountRound(u, x)
}

func (w *View) foldRedeemed(e *core.Redeemed) {
	r := w.roundRow(LedgerRedeem, e.Credit, e.Market)
	if e.RequestID != 0 {
		r.Ref = strconv.FormatUint(e.RequestID, 10)
	}
	w.addLedger(e.User, r)
	if x := w.mutableAccountRound(e.User, e.Market, false); x != nil {
		x.Redeemed += e.Qty
		w.reportAccountRound(e.User, x)
	}
}

// endAccountRounds completes the rows of every account that traded a round which is now final.
func (w *View) endAccountRounds(r *core.Round) {
	for _, u := range w.traders[r.Number] {
		a := w.mutableAccount(u)
		i, found := a.rounds.search(r.Number)
		if !found {
			continue
		}
		x := a.rounds[i]
		x.Status, x.Winner, x.UpdateSeq = r.Status, r.Winner, w.stamp.Seq
		w.reportAccountRound(u, x)
		a.finalRounds++
		a.evictRounds(w.caps.AccountRounds)
	}
	delete(w.traders, r.Number)
}

// reportAccountRound reports a row with the status of its round.
func (w *View) reportAccountRound(u core.UserID, x *AccountRound) {
	if w.sink == nil {
		return
	}
	shown := *x
	if !shown.Status.Final() {
		shown.Status = w.statusOf(&shown)
	}
	w.sink.AccountRound(u, &shown)
}

// reportTraders reports the rows of every account that traded a round.
func (w *View) reportTraders(r *core.Round) {
	for _, u := range w.traders[r.Number] {
		if i, found := w.accounts[u].rounds.search(r.Number); found {
			w.reportAccountRound(u, w.accounts[u].rounds[i])
		}
	}
}

// AccountRounds iterates over the rounds of u with a number below from (0: all), newest first. The
// status of a row is that of its round.
func (w *View) AccountRounds(u core.UserID, from uint64) iter.Seq2[uint64, AccountRound] {
	return func(yield func(uint64, AccountRound) bool) {
		list := w.account(u).rounds
		end := len(list)
		if from != 0 {
			end, _ = list.search(from)
		}
		for i := end - 1; i >= 0; i-- {
			x := *list[i]
			if !x.Status.Final() {
				x.Status = w.statusOf(&x)
			}
			if !yield(x.Number, x) {
				return
			}
		}
	}
}

// statusOf returns the status of the round of a row that is not final: such a round is the newest of
// its slot.
func (w *View) statusOf(x *AccountRound) core.RoundStatus {
	if r := w.rounds.newestOf[x.Market]; r != nil && r.Number == x.Number {
		return r.Status
	}
	return x.Status
}

func (l accountRounds) clone() accountRounds {
	out := slices.Clone(l)
	for i, x := range out {
		if !x.Status.Final() {
			out[i] = new(*x)
		}
	}
	return out
}

func (l *accountRounds) code(c *coder) {
	codeList(c, (*[]*AccountRound)(l), func(at **AccountRound) {
		if c.reading {
			*at = new(AccountRound)
		}
		x := *at
		unsigned(c, &x.Number)
		unsigned(c, &x.Market)
		unsigned(c, &x.Generation)
		unsigned(c, &x.Category)
		octet(c, &x.Status)
		octet(c, &x.Winner)
		for _, n := range []*core.Qty{&x.Bought[0], &x.Bought[1], &x.Sold[0], &x.Sold[1], &x.Redeemed} {
			signed(c, n)
		}
		for _, p := range []*core.Pips{&x.Paid, &x.Received, &x.Fees, &x.Payout} {
			signed(c, p)
		}
		unsigned(c, &x.UpdateSeq)
		c.check(x.Status <= core.Void && (len(*l) == 0 || (*l)[len(*l)-1].Number < x.Number))
	})
}

// final returns the number of final rounds.
func (l accountRounds) final() (n int) {
	for _, x := range l {
		if x.Status.Final() {
			n++
		}
	}
	return n
}
