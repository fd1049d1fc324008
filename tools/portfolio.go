package tools

import (
	"context"
	"iter"

	"duplex/core"
	"duplex/core/history"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var GetBalance = &Op[schemas.MinSeqOnly, schemas.Balance]{
	Spec: Spec{
		Name: "get_balance", Title: "Your cash", Method: "GET", Path: "/v1/portfolio/balance", Scope: core.ScopeRead, Errors: []string{"sequencing_timeout"},
		Doc: "Free and reserved cash. Contracts are in list_positions.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, _ *schemas.MinSeqOnly) (out schemas.Balance, _ error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			cash, reserved := m.Balance(caller.User)
			out = schemas.Balance{Cash: pips(cash), Reserved: pips(reserved), AsOf: asOf(m)}
		})
		return out, nil
	},
}

var ListPositions = &Op[schemas.ListPositions, schemas.PositionList]{
	Spec: Spec{
		Name: "list_positions", Title: "Your positions", Method: "GET", Path: "/v1/portfolio/positions", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "sequencing_timeout"},
		Doc: "Contracts held in unresolved rounds; others: list_settlements.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, in *schemas.ListPositions) (out schemas.PositionList, err error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			walk := func(from uint64) iter.Seq2[uint64, core.Position] {
				return func(yield func(uint64, core.Position) bool) {
					for at, s := range slots(m, from) {
						if !yield(at, m.Position(caller.User, s.Market)) {
							return
						}
					}
				}
			}
			keep := func(p core.Position) bool { return p.Yes+p.No > 0 && matchesMarket(in.MarketID, p.Market) }
			out.Positions, out.PageEnd, err = PageOf(m, "positions", caller, in, walk, keep, PositionOf)
		})
		return out, err
	},
}

// PositionOf converts a position.
func PositionOf(p core.Position) schemas.Position {
	return schemas.Position{
		MarketID: uint32(p.Market), Generation: p.Generation, RoundNumber: schemas.U64(p.Number), YesQty: int64(p.Yes), NoQty: int64(p.No),
		YesReserved: int64(p.YesReserved), NoReserved: int64(p.NoReserved), Cost: pips(p.Cost),
	}
}

var GetPnL = &Op[schemas.MinSeqOnly, schemas.PnL]{
	Spec: Spec{
		Name: "get_pnl", Title: "Your profit and loss", Method: "GET", Path: "/v1/portfolio/pnl", Scope: core.ScopeRead, Errors: []string{"sequencing_timeout"},
		Doc: "What you made, realized and unrealized, with each position at its mark price.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, _ *schemas.MinSeqOnly) (out schemas.PnL, _ error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) { out = PnLOf(m, caller.User) })
		return out, nil
	},
}

// PnLOf returns an account's profit and loss with its positions, by market, YES first
// (docs/rules/money.md#profit-and-loss).
func PnLOf(m *venue.Venue, u core.UserID) schemas.PnL {
	p := m.Performance(u)
	cash, reserved := m.Balance(u)
	equity, unrealized := cash+reserved, core.Pips(0)
	positions := []schemas.PnLPosition{}
	for id := core.MarketID(1); id <= venue.Slots; id++ {
		h := m.Holding(u, id)
		for _, o := range []core.Outcome{core.Yes, core.No} {
			if h.Held[o] == 0 {
				continue
			}
			x := pnlPosition(m, id, o, h.Contracts(o), h.Cost[o])
			equity += core.Pips(x.Value)
			unrealized += core.Pips(x.Unrealized)
			positions = append(positions, x)
		}
	}
	return schemas.PnL{
		Realized: schemas.Signed(p.Realized), RealizedUSD: schemas.SignedUSD(p.Realized), RealizedToday: schemas.Signed(p.RealizedToday), RealizedTodayUSD: schemas.SignedUSD(p.RealizedToday),
		Unrealized: schemas.Signed(unrealized), UnrealizedUSD: schemas.SignedUSD(unrealized), Fees: pips(p.Fees), Rebates: pips(p.Rebates), Equity: pips(equity), EquityUSD: schemas.USD(equity),
		OpenCost: pips(reserved + p.Cost), DepositsNet: schemas.Signed(p.DepositsNet), TransfersNet: schemas.Signed(p.TransfersNet), Positions: positions, AsOf: asOf(m),
	}
}

// pnlPosition returns the position of qty contracts, at least 1, of an outcome.
func pnlPosition(m *venue.Venue, id core.MarketID, o core.Outcome, qty core.Qty, cost core.Pips) schemas.PnLPosition {
	s, _ := m.Market(id)
	out := schemas.PnLPosition{
		MarketID: uint32(id), Generation: s.Generation, RoundNumber: schemas.U64(s.Number), Category: s.Category, Outcome: o.String(), Qty: int64(qty),
		Cost: pips(cost), AvgCost: pips(cost / core.Pips(qty)), Value: pips(cost),
	}
	if mark, ok := m.Mark(id); ok {
		if o == core.No {
			mark = core.TickMax + 1 - mark
		}
		value := core.Pips(qty) * core.Pips(mark)
		out.Mark, out.Value, out.Unrealized = schemas.Ptr(int64(mark)), pips(value), schemas.Signed(value-cost)
	}
	return out
}

var ListFills = &Op[schemas.ListFills, schemas.FillList]{
	Spec: Spec{
		Name: "list_fills", Title: "Your fills", Method: "GET", Path: "/v1/portfolio/fills", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "history_behind", "sequencing_timeout"},
		Doc: "Your fills, newest first. tick_yes is the price of YES; that of NO is 10000 minus it.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ListFills) (out schemas.FillList, err error) {
		span := spanOf(in.TimeRange)
		l := deepList[*view.Fill, schemas.Fill]{
			memory: func(_ *venue.Venue, w *view.View) (func(uint64) iter.Seq2[uint64, *view.Fill], view.Released, error) {
				released := w.FillsReleased(caller.User)
				if in.OrderID != nil && hasAllFills(w, caller.User, core.OrderID(*in.OrderID)) {
					released = view.Released{}
				}
				return func(from uint64) iter.Seq2[uint64, *view.Fill] { return w.Fills(caller.User, from) }, released, nil
			},
			keep: func(f *view.Fill) bool {
				return matchesMarket(in.MarketID, f.Market) && (in.OrderID == nil || core.OrderID(*in.OrderID) == f.Order) &&
					span.Has(f.Ts) && matchesRound(in.RoundNumber, f.Number) && matchesFilter(in.Side, f.Side.String()) && (in.GroupID == 0 || in.GroupID == schemas.Int(f.Group))
			},
			past: func(f *view.Fill) bool { return f.Ts < span.From },
			show: FillOf, at: func(f *view.Fill) uint64 { return f.N },
			mirror: func(ctx context.Context, below uint64, limit int) (out []*view.Fill, _ error) {
				rows, err := v.History.Fills(ctx, caller.User, below, limit, history.FillFilter{
					Span: span, Market: marketFilter(in.MarketID), Order: (*core.OrderID)(in.OrderID), Round: (*uint64)(in.RoundNumber), Side: in.Side, Group: uint32(in.GroupID),
				})
				for i := range rows {
					out = append(out, &rows[i].Row)
				}
				return out, err
			},
		}
		out.Fills, out.PageEnd, err = l.page(ctx, v, caller, "fills", in)
		return out, err
	},
}

// hasAllFills reports whether memory has an order and all of its fills.
func hasAllFills(w *view.View, u core.UserID, id core.OrderID) bool {
	o := w.Order(u, id)
	if o == nil {
		return false
	}
	left := o.Filled
	for _, f := range w.Fills(u, 0) {
		if left == 0 || f.Seq < uint64(id) {
			break
		}
		if f.Order == id {
			left -= f.Qty
		}
	}
	return left == 0
}

// FillOf converts a fill.
func FillOf(f *view.Fill) schemas.Fill {
	role := "taker"
	if f.Maker {
		role = "maker"
	}
	return schemas.Fill{
		N: schemas.U64(f.N), Seq: schemas.U64(f.Seq), Ts: ns(f.Ts), MarketID: uint32(f.Market), Generation: f.Generation, RoundNumber: schemas.U64(f.Number), Category: f.Category,
		OrderID: schemas.U64(f.Order), ClientOrderID: schemas.U64(f.ClientID), Role: role,
		Side: f.Side.String(), Outcome: f.Outcome.String(), Qty: int64(f.Qty), TickYes: int64(f.TickYes), Path: f.Path.String(), Fee: pips(f.Fee), APIKey: f.APIKey,
	}
}

var ListSettlements = &Op[schemas.ListSettlements, schemas.SettlementList]{
	Spec: Spec{
		Name: "list_settlements", Title: "Your settlements", Method: "GET", Path: "/v1/portfolio/settlements", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "history_behind", "sequencing_timeout"},
		Doc: "Payouts of finished rounds, newest first; others: list_positions.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ListSettlements) (out schemas.SettlementList, err error) {
		span := spanOf(in.TimeRange)
		l := deepList[history.Numbered[view.Settlement], schemas.Settlement]{
			memory: func(_ *venue.Venue, w *view.View) (func(uint64) iter.Seq2[uint64, history.Numbered[view.Settlement]], view.Released, error) {
				walk := func(from uint64) iter.Seq2[uint64, history.Numbered[view.Settlement]] {
					return withNumbers(w.Settlements(caller.User, from))
				}
				return walk, w.SettlementsReleased(caller.User), nil
			},
			keep: func(x history.Numbered[view.Settlement]) bool {
				return span.Has(x.Row.Ts) && matchesRound(in.RoundNumber, x.Row.Number)
			},
			past: func(x history.Numbered[view.Settlement]) bool { return x.Row.Ts < span.From },
			at:   numberOf[view.Settlement],
			show: func(x history.Numbered[view.Settlement]) schemas.Settlement { return SettlementOf(&x.Row) },
			mirror: func(ctx context.Context, below uint64, limit int) ([]history.Numbered[view.Settlement], error) {
				return v.History.Settlements(ctx, caller.User, below, limit, history.SettlementFilter{Span: span, Round: (*uint64)(in.RoundNumber)})
			},
		}
		out.Settlements, out.PageEnd, err = l.page(ctx, v, caller, "settlements", in)
		return out, err
	},
}

// SettlementOf converts a settlement.
func SettlementOf(s *view.Settlement) schemas.Settlement {
	out := schemas.Settlement{
		Seq: schemas.U64(s.Seq), Ts: ns(s.Ts), MarketID: uint32(s.Market), Generation: s.Generation, RoundNumber: schemas.U64(s.Number),
		OutcomeStatus: s.Status.String(), Winner: winner(s.Winner), YesQty: int64(s.Yes), NoQty: int64(s.No), Payout: pips(s.Payout),
		Category: s.Category, SettlePrice: schemas.U64(s.SettlePrice), Strike: schemas.U64(s.Strike),
	}
	if s.Category != 0 {
		out.Cost, out.Profit = schemas.Ptr(pips(s.Cost)), schemas.Ptr(schemas.Signed(s.Profit()))
	}
	return out
}

var RedeemPairs = &Op[schemas.Redeem, schemas.Redeemed]{
	Spec: Spec{
		Name: "redeem_pairs", Title: "Redeem pairs", Method: "POST", Path: "/v1/portfolio/redeem", Scope: core.ScopeTrade, Bucket: Write, Deduplicated: true, Destructive: true,
		Errors: append([]string{"unknown_market", "market_not_trading", "bad_qty", "insufficient_position", "duplicate_client_request_id"}, writeErrors...),
		Doc:    "Turn pairs of YES and NO that you hold into 10000 pips each, without a fee.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.Redeem) (out schemas.Redeemed, err error) {
		r, err := Accepted(v.submit(ctx, &caller, &core.Redeem{User: caller.User, Key: caller.KeyNumber(), Market: marketID(in.MarketID), Qty: core.Qty(in.Qty), RequestID: uint64(in.ClientRequestID)}))
		if err != nil {
			return out, err
		}
		return schemas.Redeemed{MarketID: uint32(in.MarketID), Qty: int64(in.Qty), Credit: pips(core.Pips(in.Qty) * core.Payout), Seq: schemas.U64(r.Stamp.Seq)}, nil
	},
}
