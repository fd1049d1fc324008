package proof

import (
	"errors"
	"fmt"
	"math/big"

	"duplex/core"
)

// state is what the lines and commands so far have made of the round. It follows the rulebook
// (docs/rules/rounds.md, docs/rules/money.md) and not the venue's code.
type state struct {
	open     *openRow
	freeze   *freezeRow
	proposal *proposeRow
	paying   bool // the payouts have begun
	settled  bool

	fees       *core.Fees  // in force; nil while unknown
	rules      *core.Rules // as the last SetRules of the bundle has them; nil before it
	minSources uint8       // of the round's feed, from the opening on
	ticks      []tick
	orders     map[core.OrderID]*order
	ordersOf   map[core.UserID][]*order     // that their account has not canceled
	held       map[core.UserID]*[2]core.Qty // YES and NO
	pairs      core.Qty
	lastPaid   core.UserID
	paid       core.Pips
}

// tick is a listed tick and the feed of its command.
type tick struct {
	*tickRow
	feed core.Feed
}

// order is a placement in the round's market.
type order struct {
	*core.PlaceOrder
	left  core.Qty  // at most this can still fill
	rate  core.Rate // the maker rate in force at the placement
	ended bool      // its account has canceled it
	quote bool      // of a quote that has not filled, see quote
}

// bad returns an error unless a statement holds.
func bad(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// apply applies a command, after the lines of its seq.
func (s *state) apply(at sequenced) error {
	switch c := at.cmd.(type) {
	case *core.SetFees:
		if f := c.Fees; f.Maker <= f.Taker && f.Taker <= 10000 && uint(f.RebatePct)+uint(f.ReferPct) <= 100 {
			s.fees = &f
		}
	case *core.SetRules:
		if s.rules = &c.Rules; s.open != nil {
			s.minSources = c.Rules.MinSources[s.open.Feed]
		}
	case *core.PostIndex:
		return s.mustBeListed(at, &c.Tick)
	case *core.PlaceOrder:
		s.place(at.Seq, c)
	case *core.ReplaceOrder: // whether it canceled Old, no line tells
		s.place(at.Seq, &c.PlaceOrder)
	case *core.QuoteSide:
		s.quote(at.Seq, c)
	case *core.CancelOrder:
		if o := s.orders[c.Order]; o != nil && o.User == c.User {
			o.ended = true
		}
	case *core.CancelAll:
		kept := s.ordersOf[c.User][:0]
		for _, o := range s.ordersOf[c.User] {
			if o.ended = o.ended || (c.Market == 0 || c.Market == o.Market) && (c.Group == 0 || c.Group == o.Group); !o.ended {
				kept = append(kept, o)
			}
		}
		s.ordersOf[c.User] = kept
	}
	return nil
}

// take checks a line against the command of its seq and everything before it.
func (s *state) take(out *Report, at sequenced, r row) error {
	if _, ok := r.(*settlementRow); !ok && s.paying {
		if _, ok := r.(*settleRow); !ok {
			return errors.New("it comes between the payouts of the round")
		}
	}
	switch r := r.(type) {
	case *tickRow:
		return s.takeTick(at, r)
	case *openRow:
		return s.takeOpen(out, at, r)
	}
	if s.open == nil {
		return errors.New("it precedes the opening of the round")
	}
	switch r := r.(type) {
	case *fillRow:
		out.Fills++
		return s.takeFill(at, r)
	case *redeemRow:
		return s.takeRedeem(at, r)
	case *freezeRow:
		return s.takeFreeze(out, at, r)
	}
	if s.freeze == nil {
		return errors.New("it precedes the freeze of the round")
	}
	if r, ok := r.(*proposeRow); ok {
		return s.takeProposal(out, at, r)
	}
	if s.proposal == nil {
		return errors.New("it precedes the proposal of the settle price")
	}
	switch r := r.(type) {
	case *settlementRow:
		out.Accounts++
		return s.takeSettlement(at, r)
	case *settleRow:
		return s.takeSettle(out, at, r)
	}
	return errors.New("no line of this kind may stand here")
}

// byTheClock reports whether a command makes what is due happen (docs/rules/rounds.md#due).
func byTheClock(cmd core.Command) error {
	switch cmd.(type) {
	case *core.Clock, *core.PostIndex:
		return nil
	}
	return fmt.Errorf("a command %T does not advance a round", cmd)
}

// listed reports whether the newest tick is that of seq.
func (s *state) listed(seq uint64) bool {
	return len(s.ticks) > 0 && s.ticks[len(s.ticks)-1].Seq == seq
}

// accepts returns why a tick does not count, nil if it does
// (docs/rules/prices-sources.md#which-tick-counts).
func (s *state) accepts(ts int64, t *core.IndexTick) error {
	now := ts / core.NsPerSec
	switch {
	case t.Price == 0:
		return errors.New("it has no price")
	case t.Second > now+1 || t.Second < now-60:
		return errors.New("it is too early or too old")
	case s.open != nil && t.Count < s.minSources:
		return fmt.Errorf("it has %d sources and needs %d", t.Count, s.minSources)
	}
	if n := len(s.ticks); n > 0 {
		if last := s.ticks[n-1].Second; t.Second < last || t.Second == last && !t.Manual {
			return fmt.Errorf("the feed has a tick of second %d already", last)
		}
	}
	return nil
}

// mustBeListed checks that no tick that the settle price can use was left out. The bundle need not
// have the groups of older ticks, so these are not judged.
func (s *state) mustBeListed(at sequenced, t *core.IndexTick) error {
	if s.open == nil || s.freeze != nil || t.Feed != s.open.Feed || t.Second < s.firstSecond() || s.listed(at.Seq) {
		return nil
	}
	return bad(s.accepts(at.Ts, t) != nil, "the tick of second %d counts, and its line is missing", t.Second)
}

func (s *state) takeTick(at sequenced, r *tickRow) error {
	c, ok := at.cmd.(*core.PostIndex)
	if !ok || s.freeze != nil || s.listed(at.Seq) {
		return fmt.Errorf("seq %d posts no index that could count", at.Seq)
	}
	t := &c.Tick
	if r.Second != t.Second || r.Price != t.Price || r.Sources != t.Count || r.Manual != t.Manual {
		return fmt.Errorf("the command of seq %d posts the index %d of second %d", at.Seq, t.Price, t.Second)
	}
	if s.open != nil && t.Feed != s.open.Feed {
		return errors.New("the tick is of another feed")
	}
	if err := s.accepts(at.Ts, t); err != nil {
		return fmt.Errorf("the tick of second %d does not count: %w", t.Second, err)
	}
	s.ticks = append(s.ticks, tick{r, t.Feed})
	return nil
}

// firstSecond is the second of the first tick that the settle price can use.
func (s *state) firstSecond() int64 { return s.open.CloseTs/core.NsPerSec - s.open.Window - 5 }

// takeOpen checks an opening (docs/rules/rounds.md#opening, #late-opening, #strike).
func (s *state) takeOpen(out *Report, at sequenced, r *openRow) error {
	series, ok := core.SeriesOf(r.Category)
	if s.open != nil || !ok || series.Feed != r.Feed || series.Window != r.Window {
		return errors.New("the round opens twice, or not as its series does")
	}
	cadence := series.Cadence * 60 * core.NsPerSec
	begin := r.CloseTs - cadence
	inTime := r.Ts-begin < 5*core.NsPerSec || series.Cadence > 1 && r.CloseTs-r.Ts >= 60*core.NsPerSec
	fees := core.Fees{Maker: r.MakerRate, Taker: r.TakerRate, RebatePct: r.RebatePct, ReferPct: r.ReferralPct}
	if len(s.ticks) == 0 {
		return errors.New("the round has no tick for its strike")
	}
	strike := s.ticks[len(s.ticks)-1]
	for _, t := range s.ticks {
		if t.feed != r.Feed {
			return fmt.Errorf("the tick of second %d is of another feed", t.Second)
		}
	}
	if err := first(
		byTheClock(at.cmd),
		bad(r.CloseTs%cadence == 0 && r.Ts >= begin && r.Ts < r.CloseTs && inTime, "a round of category %d that closes at %d does not open at %d", r.Category, r.CloseTs, r.Ts),
		bad(strike.Seq < r.Seq && strike.Price == r.Strike, "the strike is %d, the newest index %d", r.Strike, strike.Price),
		bad(s.fees == nil || *s.fees == fees, "the fees at the opening are not those that were set before it"),
		bad(s.rules == nil || s.rules.MinSources[r.Feed] == r.MinSources, "the minimum of sources at the opening is not the one that was set before it"),
	); err != nil {
		return err
	}
	s.open, s.fees, s.minSources = r, &fees, r.MinSources
	out.Market, out.Generation, out.Category, out.Window, out.Strike = r.Market, r.Generation, r.Category, r.Window, r.Strike
	return nil
}

// place records a placement in the round's market.
func (s *state) place(seq uint64, c *core.PlaceOrder) {
	id := core.OrderID(seq)
	if s.open == nil || s.freeze != nil || c.Market != s.open.Market || c.Generation != 0 && c.Generation != s.open.Generation || s.orders[id] != nil {
		return
	}
	o := &order{PlaceOrder: c, rate: s.fees.Maker}
	if c.Qty > 0 && c.Qty <= core.QtyMax && c.Fault == core.OK {
		o.left = c.Qty
	}
	s.orders[id] = o
	s.ordersOf[c.User] = append(s.ordersOf[c.User], o)
}

// quote records a quote of one side. Whether it sells what the account holds or buys the other outcome depends on
// what was free, which no line tells: its first fill does.
func (s *state) quote(seq uint64, c *core.QuoteSide) {
	if c.Cancel {
		return
	}
	p := c.PlaceOrder
	p.Type, p.TIF, p.Flags = core.Limit, core.GTC, core.QuoteFlags
	if s.place(seq, &p); s.orders[core.OrderID(seq)] != nil {
		s.orders[core.OrderID(seq)].quote = true
	}
}

// resolve makes the order of a quote the one that its fill says, if that has the same price.
func (o *order) resolve(side core.Side, outcome core.Outcome) {
	if o.quote && core.IsBid(side, outcome) == core.IsBid(o.Side, o.Outcome) {
		o.quote = false
		o.Tick = core.InYes(outcome, core.InYes(o.Outcome, o.Tick))
		o.Side, o.Outcome = side, outcome
	}
}

// feeOf is ceil(rate × qty × p × (10000 − p) / 10^8) pips (docs/rules/money.md#fees).
func feeOf(rate core.Rate, qty core.Qty, p core.Tick) core.Pips {
	x := big.NewInt(int64(rate))
	for _, f := range []int64{int64(qty), int64(p), 10000 - int64(p)} {
		x.Mul(x, big.NewInt(f))
	}
	x.Add(x, big.NewInt(99_999_999))
	return core.Pips(x.Quo(x, big.NewInt(100_000_000)).Int64())
}

// takeFill checks a fill against the two placements (docs/rules/prices.md#one-book, #paths).
func (s *state) takeFill(at sequenced, r *fillRow) error {
	if s.freeze == nil {
		switch c := at.cmd.(type) {
		case *core.PlaceOrder:
			s.place(at.Seq, c)
		case *core.ReplaceOrder:
			s.place(at.Seq, &c.PlaceOrder)
		}
	}
	taker, maker := s.orders[core.OrderID(r.Seq)], s.orders[r.Maker]
	if taker == nil || maker == nil || taker == maker || s.freeze != nil {
		return fmt.Errorf("the fill names the orders %d and %d, and one of them is no placement in the round", r.Seq, r.Maker)
	}
	maker.resolve(core.Side(r.MakerSide), core.Outcome(r.MakerOutcome))
	yesOf := func(o *order) core.Tick { // its limit in YES
		if o.Outcome == core.No {
			return 10000 - o.Tick
		}
		return o.Tick
	}
	bids := func(o *order) bool { return (o.Side == core.Buy) == (o.Outcome == core.Yes) }
	reaches := r.YesTick >= yesOf(taker)
	if bids(taker) {
		reaches = r.YesTick <= yesOf(taker)
	}
	kind := core.Direct
	if taker.Side == maker.Side {
		kind = [...]core.Path{core.Buy: core.Mint, core.Sell: core.Merge}[taker.Side]
	}
	if err := first(
		bad(r.TakerUser == taker.User && core.Side(r.TakerSide) == taker.Side && core.Outcome(r.TakerOutcome) == taker.Outcome, "order %d is of another account, side or outcome", r.Seq),
		bad(r.MakerUser == maker.User && core.Side(r.MakerSide) == maker.Side && core.Outcome(r.MakerOutcome) == maker.Outcome, "order %d is of another account, side or outcome", r.Maker),
		bad(taker.User != maker.User && bids(taker) != bids(maker) && core.Path(r.Path) == kind, "orders %d and %d do not meet in this way", r.Seq, r.Maker),
		bad(maker.Type == core.Limit && (maker.TIF == core.GTC || maker.TIF == core.GTT) && !maker.ended, "order %d was not in the book", r.Maker),
		bad(taker.Flags&core.PostOnly == 0, "order %d is post_only and cannot take", r.Seq),
		bad(r.YesTick >= 1 && r.YesTick <= 9999 && r.YesTick == yesOf(maker), "the fill is at %d, and order %d rests at %d (YES)", r.YesTick, r.Maker, yesOf(maker)),
		bad(reaches, "the fill is at %d, beyond the limit %d (YES) of order %d", r.YesTick, yesOf(taker), r.Seq),
		bad(r.Qty > 0 && r.Qty <= taker.left && r.Qty <= maker.left, "the fill is of %d contracts, and the orders have %d and %d left", r.Qty, taker.left, maker.left),
	); err != nil {
		return err
	}
	fee := feeOf(s.fees.Taker, r.Qty, r.YesTick)
	share := func(pct uint8) core.Pips { return fee/100*core.Pips(pct) + fee%100*core.Pips(pct)/100 }
	if err := first(
		bad(r.TakerFee == fee, "the taker's fee is %d pips, by the rates %d", r.TakerFee, fee),
		bad(r.MakerFee == feeOf(maker.rate, r.Qty, r.YesTick), "the maker's fee is %d pips, by the rates %d", r.MakerFee, feeOf(maker.rate, r.Qty, r.YesTick)),
		bad(r.Rebate == share(s.fees.RebatePct), "the rebate is %d pips, by the rates %d", r.Rebate, share(s.fees.RebatePct)),
		bad(r.Referral == 0 || r.Referral == share(s.fees.ReferPct), "the referral share is %d pips, by the rates %d", r.Referral, share(s.fees.ReferPct)),
		s.move(taker, r.Qty),
		s.move(maker, r.Qty),
	); err != nil {
		return err
	}
	s.pairs += map[core.Path]core.Qty{core.Mint: r.Qty, core.Merge: -r.Qty}[kind]
	return nil
}

// move gives an order's account what it has bought, or takes what it has sold.
func (s *state) move(o *order, qty core.Qty) error {
	h := s.held[o.User]
	if h == nil {
		h = new([2]core.Qty)
		s.held[o.User] = h
	}
	o.left -= qty
	if o.Side == core.Buy {
		h[o.Outcome] += qty
		return nil
	}
	h[o.Outcome] -= qty
	return bad(h[o.Outcome] >= 0, "account %d sells %d contracts that it does not have", o.User, -h[o.Outcome])
}

// takeRedeem checks a redemption (docs/rules/money.md#redeem).
func (s *state) takeRedeem(at sequenced, r *redeemRow) error {
	c, ok := at.cmd.(*core.Redeem)
	if !ok || c.Market != s.open.Market || c.User != r.User || c.Qty != r.Qty {
		return fmt.Errorf("the command of seq %d is not this redemption", at.Seq)
	}
	h := s.held[r.User]
	if h == nil || r.Qty < 1 || r.Qty > min(h[0], h[1]) {
		return fmt.Errorf("account %d does not have %d pairs", r.User, r.Qty)
	}
	h[0], h[1], s.pairs = h[0]-r.Qty, h[1]-r.Qty, s.pairs-r.Qty
	return bad(r.Credit == 10000*core.Pips(r.Qty), "%d pairs are worth %d pips", r.Qty, 10000*r.Qty)
}

// takeFreeze recomputes the settle price (docs/rules/rounds.md#settle-price).
func (s *state) takeFreeze(out *Report, at sequenced, r *freezeRow) error {
	boundary := s.open.CloseTs / core.NsPerSec
	sum, covered, sources, newest := new(big.Int), int64(0), uint8(0), 0
	for second := boundary - s.open.Window; second < boundary; second++ {
		for newest < len(s.ticks) && s.ticks[newest].Second <= second {
			newest++
		}
		if newest > 0 && second-s.ticks[newest-1].Second <= 5 {
			sum.Add(sum, new(big.Int).SetUint64(uint64(s.ticks[newest-1].Price)))
			covered++
		}
	}
	if newest > 0 && boundary-s.ticks[newest-1].Second <= 5 {
		sources = s.ticks[newest-1].Sources
	}
	if covered > 0 {
		sum.Quo(sum, big.NewInt(covered))
	}
	again := s.freeze != nil
	s.freeze, out.Covered = r, covered
	return first(
		bad(!again, "the round freezes twice"),
		byTheClock(at.cmd),
		bad(!s.listed(r.Seq), "the freeze follows the tick of its own command"),
		bad(r.Ts >= s.open.CloseTs, "the round freezes before it closes"),
		bad(sum.IsUint64() && uint64(r.SettlePrice) == sum.Uint64() && r.Covered == covered, "the settle price is %d over %d s, from the ticks %s over %d s", r.SettlePrice, r.Covered, sum, covered),
		bad(r.Sources == sources, "the last tick before the close has %d sources, and it says %d", sources, r.Sources),
	)
}

// takeProposal names the winner (docs/rules/rounds.md#winner, #coverage, #operators-price).
func (s *state) takeProposal(out *Report, at sequenced, r *proposeRow) error {
	if r.ByOperator {
		if m, price := operatorsPrice(at.cmd); m != s.open.Market || price != r.SettlePrice {
			return fmt.Errorf("the command of seq %d is not this price of an operator", at.Seq)
		}
	} else if err := first(
		byTheClock(at.cmd),
		bad(s.proposal == nil, "the round proposes its own price twice"),
		bad(r.SettlePrice == s.freeze.SettlePrice, "the proposed price is %d, that of the freeze %d", r.SettlePrice, s.freeze.SettlePrice),
		bad(100*s.freeze.Covered >= 80*s.open.Window && s.freeze.Sources >= max(1, s.minSources), "the settle price has no coverage: %d of %d s, %d sources", s.freeze.Covered, s.open.Window, s.freeze.Sources),
	); err != nil {
		return err
	}
	winner := core.No
	if r.SettlePrice > s.open.Strike {
		winner = core.Yes
	}
	s.proposal, out.SettlePrice, out.Winner, out.ByOperator = r, r.SettlePrice, winner, r.ByOperator
	return bad(core.Outcome(r.Winner) == winner, "with the settle price %d and the strike %d, %s wins", r.SettlePrice, s.open.Strike, winner)
}

// operatorsPrice returns the market and the settle price of an operator's command, or of one that
// approves such a price (docs/rules/operation.md#two-person-approval); else it returns zeros.
func operatorsPrice(cmd core.Command) (core.MarketID, core.Price) {
	switch c := cmd.(type) {
	case *core.ProposePrice:
		return c.Market, c.Price
	case *core.DecideApproval:
		if c.Approve && c.Action.Kind == core.ApprovePrice {
			return c.Action.Market, c.Action.Price
		}
	}
	return 0, 0
}

// takeSettlement checks what one account held and received (docs/rules/money.md#payouts).
func (s *state) takeSettlement(at sequenced, r *settlementRow) error {
	h := s.held[r.User]
	if h == nil || r.User <= s.lastPaid {
		return fmt.Errorf("account %d has no contracts, or is paid twice", r.User)
	}
	payout := 10000 * core.Pips(h[s.proposal.Winner])
	s.paying, s.lastPaid, s.paid = true, r.User, s.paid+payout
	delete(s.held, r.User)
	return first(
		byTheClock(at.cmd),
		bad(r.Yes == h[core.Yes] && r.No == h[core.No], "account %d has %d YES and %d NO by its fills", r.User, h[core.Yes], h[core.No]),
		bad(r.Payout == payout, "account %d is to be paid %d pips", r.User, payout),
	)
}

// takeSettle checks the sums (docs/rules/rounds.md#settlement).
func (s *state) takeSettle(out *Report, at sequenced, r *settleRow) error {
	for u, h := range s.held {
		if h[core.Yes] != 0 || h[core.No] != 0 {
			return fmt.Errorf("account %d has %d YES and %d NO by its fills, and no payout", u, h[core.Yes], h[core.No])
		}
	}
	s.settled, out.Pairs, out.Paid = true, s.pairs, s.paid
	return first(
		byTheClock(at.cmd),
		bad(r.SettlePrice == s.proposal.SettlePrice && r.Winner == s.proposal.Winner, "the round settles on another price or winner than the proposed ones"),
		bad(r.Ts > s.proposal.Ts, "the round settles before its price is proposed"),
		bad(r.Pairs == s.pairs, "%d pairs are open by the fills, and it says %d", s.pairs, r.Pairs),
		bad(s.paid == 10000*core.Pips(s.pairs) && r.Paid == s.paid, "the payouts are %d pips, the collateral %d, and it says %d", s.paid, 10000*s.pairs, r.Paid),
	)
}
