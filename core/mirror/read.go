package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"duplex/core"
	"duplex/core/history"
	"duplex/core/view"
)

// The reads return rows newest first: those with a number below from, or all if from is 0, and at
// most limit. They end after 500 ms. The error is then, and whenever the database does not answer,
// ErrUnavailable. A filter that selects few of very many rows makes it a Cut.

// Fills returns fills of an account.
func (m *Mirror) Fills(ctx context.Context, u core.UserID, from uint64, limit int, f history.FillFilter) ([]history.Numbered[view.Fill], error) {
	var q query
	q.and("user_id = ?", int64(u))
	q.within("n", from, bound{"ts", f.Span})
	andEqual(&q, "market_id", f.Market)
	andEqual(&q, "round_number", f.Round)
	q.andNamed("side", f.Side)
	if f.Group != 0 {
		q.and(`EXISTS (SELECT 1 FROM "orders" o WHERE o.user_id = "fills".user_id AND o.created_seq = "fills".order_id AND o.group_id = ?)`, int64(f.Group))
	}
	if f.Order != nil {
		q.and("order_id = ?", int64(*f.Order))
		q.index = "fills_by_order"
	}
	return list(ctx, m, "fills", fills, q, "n DESC", limit, decodeFill)
}

func decodeFill(r *row) (x history.Numbered[view.Fill]) {
	r.int() // user_id
	f := &x.Row
	f.N = r.uint()
	x.N = f.N
	f.Seq, f.Ts, f.Market = r.uint(), r.int(), core.MarketID(r.int())
	f.Generation, f.Number, f.Category = uint32(r.int()), r.uint(), uint16(r.int())
	f.Order, f.ClientID, f.Maker = core.OrderID(r.int()), r.u64(), r.text() == roleOf(true)
	f.Side, f.Outcome, f.Qty, f.TickYes = enum(r, sides), enum(r, outcomes), core.Qty(r.int()), core.Tick(r.int())
	f.Path, f.Fee, f.APIKey = enum(r, paths), core.Pips(r.int()), r.key()
	return x
}

// Orders returns orders of an account in their last state. Their number is CreatedSeq.
func (m *Mirror) Orders(ctx context.Context, u core.UserID, from uint64, limit int, f history.OrderFilter) ([]view.Order, error) {
	var q query
	q.and("user_id = ?", int64(u))
	q.within("created_seq", from, bound{"created_ts", f.Span})
	andEqual(&q, "market_id", f.Market)
	q.andNamed("side", f.Side)
	if f.Group != 0 {
		q.and("group_id = ?", int64(f.Group))
	}
	if f.Order != nil {
		q.and("created_seq = ?", int64(*f.Order))
		q.where = append(q.where, "order_id IS NOT NULL")
	}
	if f.ClientID != nil {
		q.and("client_order_id = ?", m.unsigned(*f.ClientID))
		q.index = "orders_by_client_order_id"
	}
	q.andIn("status", f.Statuses)
	return list(ctx, m, "orders", orders, q, "created_seq DESC", limit, decodeOrder)
}

// unsigned returns the parameter for a value of 64 bits.
func (m *Mirror) unsigned(n uint64) any {
	if isPostgres(m.o.DSN) {
		return strconv.FormatUint(n, 10)
	}
	return int64(n)
}

func decodeOrder(r *row) (o view.Order) {
	o.User, o.CreatedSeq, o.CreatedTs, o.ID, o.ClientID = core.UserID(r.int()), r.uint(), r.int(), core.OrderID(r.int()), r.u64()
	o.Market, o.Generation, o.Side, o.Outcome, o.Type = core.MarketID(r.int()), uint32(r.int()), enum(r, sides), enum(r, outcomes), enum(r, types)
	o.Tick, o.Qty, o.TIF, o.Expiry, o.MaxCost = core.Tick(r.int()), core.Qty(r.int()), enum(r, tifs), r.int(), r.u64()
	o.Group, o.Flags = uint32(r.int()), core.Flags(r.int())
	o.APIKey, o.Status = r.key(), enum(r, statuses)
	switch o.Status {
	case core.Rejected:
		name, ok := r.text(), false
		if o.Reject, ok = rejects[name]; !ok {
			r.fail(name)
		}
	case core.Expired:
		r.text()
		o.Reason = core.ExpiryReached
	default:
		o.Reason = enum(r, reasons)
	}
	o.Filled, o.Left, o.UpdateSeq = core.Qty(r.int()), core.Qty(r.int()), r.uint()
	return o
}

// Order returns an order of an account by its id, or nil.
func (m *Mirror) Order(ctx context.Context, u core.UserID, id core.OrderID) (*view.Order, error) {
	list, err := m.Orders(ctx, u, 0, 1, history.OrderFilter{Order: &id})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// Trades returns the public trades of a slot.
func (m *Mirror) Trades(ctx context.Context, market core.MarketID, from uint64, limit int, f history.TradeFilter) ([]history.Numbered[view.Trade], error) {
	var q query
	q.and("market_id = ?", int64(market))
	q.within("n", from, bound{"ts", f.Span})
	return list(ctx, m, "trades", trades, q, "n DESC", limit, decodeTrade)
}

func decodeTrade(r *row) (x history.Numbered[view.Trade]) {
	t := &x.Row
	t.Market, x.N = core.MarketID(r.int()), r.uint()
	t.Seq, t.Ts, t.Generation, t.TickYes = r.uint(), r.int(), uint32(r.int()), core.Tick(r.int())
	t.Qty, t.Path, t.TakerSide, t.TakerOutcome = core.Qty(r.int()), enum(r, paths), enum(r, sides), enum(r, outcomes)
	return x
}

// Settlements returns settlements of an account.
func (m *Mirror) Settlements(ctx context.Context, u core.UserID, from uint64, limit int, f history.SettlementFilter) ([]history.Numbered[view.Settlement], error) {
	var q query
	q.and("user_id = ?", int64(u))
	q.within("n", from, bound{"ts", f.Span})
	andEqual(&q, "round_number", f.Round)
	return list(ctx, m, "settlements", settlements, q, "n DESC", limit, decodeSettlement)
}

func decodeSettlement(r *row) (x history.Numbered[view.Settlement]) {
	r.int() // user_id
	x.N = r.uint()
	s := &x.Row
	s.Seq, s.Ts, s.Market, s.Generation, s.Number = r.uint(), r.int(), core.MarketID(r.int()), uint32(r.int()), r.uint()
	s.Category, s.Status, s.Winner = uint16(r.int()), enum(r, phases), decodeWinner(r)
	s.Yes, s.No, s.Payout, s.Cost = core.Qty(r.int()), core.Qty(r.int()), core.Pips(r.int()), core.Pips(r.int())
	s.SettlePrice, s.Strike = core.Price(r.int()), core.Price(r.int())
	return x
}

// forecastState are the columns of what follows from the commands up to a seq: whether there is no
// later forecast of the round, and the end of the round. A final round never changes again.
const forecastState = `, NOT EXISTS (SELECT 1 FROM forecasts AS later WHERE later.user_id = forecasts.user_id AND later.round_number = forecasts.round_number AND later.n > forecasts.n AND later.seq <= ?)` +
	`, (SELECT status FROM rounds WHERE number = forecasts.round_number AND seq <= ? AND status IN ('settled', 'void'))` +
	`, (SELECT winner FROM rounds WHERE number = forecasts.round_number AND seq <= ? AND status = 'settled')`

// Forecasts returns forecasts of an account as they were after the command asOf. Their number is N.
func (m *Mirror) Forecasts(ctx context.Context, u core.UserID, from uint64, limit int, asOf uint64, f history.ForecastFilter) ([]view.Forecast, error) {
	q := query{more: forecastState, args: []any{int64(asOf), int64(asOf), int64(asOf)}, moreArgs: 3}
	q.and("user_id = ?", int64(u))
	q.within("n", from, bound{"ts", f.Span})
	andEqual(&q, "market_id", f.Market)
	andEqual(&q, "round_number", f.Round)
	return list(ctx, m, "forecasts", forecasts, q, "n DESC", limit, decodeForecast)
}

func decodeForecast(r *row) (f view.Forecast) {
	r.int() // user_id
	f.N, f.Seq, f.Ts, f.Market, f.Generation = r.uint(), r.uint(), r.int(), core.MarketID(r.int()), uint32(r.int())
	f.Number, f.Category, f.P = r.uint(), uint16(r.int()), core.Probability(r.int())
	f.Counts, f.Final, f.Winner = r.bool(), r.text() != "", decodeWinner(r)
	return f
}

// Ledger returns ledger rows of an account. Their number is N.
func (m *Mirror) Ledger(ctx context.Context, u core.UserID, from uint64, limit int, f history.LedgerFilter) ([]view.LedgerRow, error) {
	ctx, cancel := context.WithTimeout(ctx, m.limit) // of all that follows
	defer cancel()
	rows, err := m.ledgerRows(ctx, "ledger", u, from, limit, f)
	if cut, ok := errors.AsType[*history.Cut](err); ok {
		at, atErr := m.ledgerRows(ctx, "ledger_row", u, cut.Below+1, 1, history.LedgerFilter{})
		if atErr != nil || len(at) == 0 {
			return nil, errors.Join(history.ErrUnavailable, atErr)
		}
		cut.Seq = at[0].Seq
	}
	return rows, err
}

func (m *Mirror) ledgerRows(ctx context.Context, route string, u core.UserID, from uint64, limit int, f history.LedgerFilter) ([]view.LedgerRow, error) {
	var q query
	q.and("user_id = ?", int64(u))
	bySeq := history.Span{To: int64(f.BelowSeq)}
	if f.Order != nil { // an order has no row from before its own command
		bySeq.From = int64(*f.Order)
	}
	q.within("n", from, bound{"ts", f.Span}, bound{"seq", bySeq})
	andEqual(&q, "market_id", f.Market)
	andEqual(&q, "round_number", f.Round)
	andEqual(&q, "order_id", f.Order)
	q.andIn("kind", f.Kinds)
	return list(ctx, m, route, ledger, q, "n DESC", limit, decodeLedger)
}

func decodeLedger(r *row) (x view.LedgerRow) {
	r.int() // user_id
	x.N, x.Seq, x.Ts, x.Kind, x.Amount, x.BalanceAfter = r.uint(), r.uint(), r.int(), enum(r, ledgerKinds), core.Pips(r.int()), core.Pips(r.int())
	x.Market, x.Generation, x.Number, x.Category = core.MarketID(r.int()), uint32(r.int()), r.uint(), uint16(r.int())
	x.Order, x.FillN, x.Ref = core.OrderID(r.int()), r.uint(), r.text()
	return x
}

// AccountRounds returns the rounds that an account traded. Their number is Number.
func (m *Mirror) AccountRounds(ctx context.Context, u core.UserID, from uint64, limit int, f history.AccountRoundFilter) ([]view.AccountRound, error) {
	var q query
	q.and("user_id = ?", int64(u))
	q.from("number", from)
	andEqual(&q, "category", f.Category)
	andEqual(&q, "number", f.Number)
	return list(ctx, m, "portfolio_rounds", userRounds, q, "number DESC", limit, decodeAccountRound)
}

func decodeAccountRound(r *row) (x view.AccountRound) {
	r.int() // user_id
	x.Number, x.Market, x.Generation, x.Category, x.Status, x.Winner = r.uint(), core.MarketID(r.int()), uint32(r.int()), uint16(r.int()), enum(r, phases), decodeWinner(r)
	x.Bought[core.Yes], x.Bought[core.No], x.Sold[core.Yes], x.Sold[core.No] = core.Qty(r.int()), core.Qty(r.int()), core.Qty(r.int()), core.Qty(r.int())
	x.Redeemed, x.Paid, x.Received, x.Fees, x.Payout = core.Qty(r.int()), core.Pips(r.int()), core.Pips(r.int()), core.Pips(r.int()), core.Pips(r.int())
	r.int() // profit
	x.UpdateSeq = r.uint()
	return x
}

// PriceTicks returns index ticks of a feed with a second of at least first and below before; 0 is no
// bound.
func (m *Mirror) PriceTicks(ctx context.Context, f core.Feed, first, before int64, limit int) ([]view.PriceTick, error) {
	var q query
	q.and("feed = ?", int64(f))
	q.andSeconds(first, before)
	return list(ctx, m, "oracle_history", ticks, q, "second DESC", limit, func(r *row) (t view.PriceTick) {
		r.int() // feed
		t.Second, t.Price, t.Sources = r.int(), core.Price(r.int()), uint8(r.int())
		return t
	})
}

// RoundSeconds returns the states of a round by the second, with a second of at least first and below
// before; 0 is no bound.
func (m *Mirror) RoundSeconds(ctx context.Context, number uint64, first, before int64, limit int) ([]view.RoundSecond, error) {
	var q query
	q.and("number = ?", int64(number))
	q.andSeconds(first, before)
	return list(ctx, m, "round_history", roundSeconds, q, "second DESC", limit, func(r *row) (s view.RoundSecond) {
		r.int() // number
		s.Second, s.Index, s.Bid, s.Ask, s.Last, s.Volume = r.int(), core.Price(r.int()), core.Tick(r.int()), core.Tick(r.int()), core.Tick(r.int()), core.Qty(r.int())
		return s
	})
}

// decodeWinner returns NoOutcome for NULL, because that is its name.
func decodeWinner(r *row) core.Outcome { return enum(r, outcomes) }

// Rounds returns rounds without their evidence. Their number is Number.
func (m *Mirror) Rounds(ctx context.Context, from uint64, limit int, f history.RoundFilter) ([]view.Round, error) {
	var q query
	q.from("number", from)
	andEqual(&q, "market_id", f.Market)
	andEqual(&q, "category", f.Category)
	andEqual(&q, "number", f.Number)
	return list(ctx, m, "rounds", rounds, q, "number DESC", limit, decodeRound)
}

func decodeRound(r *row) (x view.Round) {
	x.Number, x.Market, x.Generation, x.Category, x.Feed = r.uint(), core.MarketID(r.int()), uint32(r.int()), uint16(r.int()), core.Feed(r.int())
	x.Window, x.Status, x.Strike, x.Settle, x.Winner = r.int(), enum(r, phases), core.Price(r.int()), core.Price(r.int()), decodeWinner(r)
	x.FreshCount, x.Gen, x.OpenTs, x.CloseTs, x.FreezeTs = uint8(r.int()), uint32(r.int()), r.int(), r.int(), r.int()
	x.ResolveTs, x.ProposedTs, x.Paused, x.Covered, x.ByOperator, x.Seq = r.int(), r.int(), r.bool(), r.int(), r.bool(), r.uint()
	return x
}

// Round returns a round with its evidence, or nil. Number 0 means the newest round of the slot.
func (m *Mirror) Round(ctx context.Context, market core.MarketID, number uint64) (*view.Round, error) {
	f := history.RoundFilter{Market: &market}
	found, err := m.Rounds(ctx, 0, 1, f)
	if number != 0 {
		found, err = m.Rounds(ctx, number+1, 1, f)
	}
	if err != nil || len(found) == 0 || number != 0 && found[0].Number != number {
		return nil, err
	}
	r := &found[0]
	if r.Strikes, err = m.evidence(ctx, r.Number, strikeEvidence); err != nil {
		return nil, err
	}
	r.Evidence, err = m.evidence(ctx, r.Number, settleEvidence)
	return r, err
}

// maxEvidence is more than the number of ticks of any round.
const maxEvidence = 100_000

// evidence returns the ticks of one kind of evidence, oldest first.
func (m *Mirror) evidence(ctx context.Context, number uint64, kind string) ([]core.IndexTick, error) {
	var q query
	q.and("number = ?", int64(number))
	q.and("kind = ?", kind)
	return list(ctx, m, "evidence", evidence, q, "second", maxEvidence, decodeEvidence)
}

func decodeEvidence(r *row) (t core.IndexTick) {
	r.int()  // number
	r.text() // kind
	t.Second, t.Feed, t.Price, t.Count, t.Manual = r.int(), core.Feed(r.int()), core.Price(r.int()), uint8(r.int()), r.bool()
	var list []sourcePrice
	if err := json.Unmarshal([]byte(r.text()), &list); err != nil {
		r.fail(err)
	}
	for _, s := range list {
		t.Sources = append(t.Sources, core.SourcePrice{Name: s.Source, Price: s.Price})
	}
	return t
}

// Actions returns actions of operators and accounts. Their number is Seq.
func (m *Mirror) Actions(ctx context.Context, from uint64, limit int, f history.ActionFilter) ([]view.Action, error) {
	var q query
	q.from("seq", from)
	if f.Who != "" {
		q.and("who = ?", f.Who)
	}
	if f.Action != "" {
		q.and("action = ?", f.Action)
	}
	andEqual(&q, "user_id", f.User)
	return list(ctx, m, "admin_audit", actions, q, "seq DESC", limit, decodeAction)
}

func decodeAction(r *row) (a view.Action) {
	a.Seq, a.Ts, a.Who, a.Why, a.Name = r.uint(), r.int(), r.text(), r.text(), r.text()
	a.User, a.Market = core.UserID(r.int()), core.MarketID(r.int())
	if detail := r.text(); detail != "" {
		if err := json.Unmarshal([]byte(detail), &a.Detail); err != nil {
			r.fail(err)
		}
	}
	if refused := r.text(); refused != "" {
		a.Reject = rejects[refused]
	}
	return a
}
