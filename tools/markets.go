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

var ListMarkets = &Op[schemas.ListMarkets, schemas.MarketList]{
	Spec: Spec{
		Name: "list_markets", Title: "List markets", Method: "GET", Path: "/v1/markets", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "sequencing_timeout"},
		Doc: "Market slots by market_id, closed too. What trades now: list_series.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, in *schemas.ListMarkets) (out schemas.MarketList, err error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			keep := func(s venue.MarketState) bool { return matchesFilter(in.Status, s.Status.String()) }
			show := func(s venue.MarketState) schemas.Market { return MarketOf(m, &s) }
			out.Markets, out.PageEnd, err = PageOf(m, "markets", caller, in, func(from uint64) iter.Seq2[uint64, venue.MarketState] { return slots(m, from) }, keep, show)
		})
		return out, err
	},
}

// slots iterates over the markets that ever opened, by ascending id. Positions descend,
// because a page continues below its cursor.
func slots(m *venue.Venue, from uint64) iter.Seq2[uint64, venue.MarketState] {
	return func(yield func(uint64, venue.MarketState) bool) {
		for id := core.MarketID(1); id <= venue.Slots; id++ {
			at := uint64(venue.Slots + 1 - id)
			if from != 0 && at >= from {
				continue
			}
			if s, ok := m.Market(id); ok && !yield(at, s) {
				return
			}
		}
	}
}

var GetMarket = &Op[schemas.GetMarket, schemas.MarketRead]{
	Spec: Spec{
		Name: "get_market", Title: "Read a market", Method: "GET", Path: "/v1/markets/{market_id}", Scope: core.ScopeRead, Errors: []string{"unknown_market", "sequencing_timeout"},
		Doc: "One market slot: status, best prices, volume, close. For depth use get_orderbook.",
	},
	Do: func(_ context.Context, v *Venue, _ Caller, in *schemas.GetMarket) (out schemas.MarketRead, err error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			s, ok := m.Market(marketID(in.MarketID))
			if !ok {
				err = core.UnknownMarket
				return
			}
			out = schemas.MarketRead{Market: MarketOf(m, &s), AsOf: asOf(m)}
		})
		return out, err
	},
}

// MarketOf converts a slot.
func MarketOf(m *venue.Venue, s *venue.MarketState) schemas.Market {
	out := schemas.Market{
		MarketID: uint32(s.Market), Generation: s.Generation, RoundNumber: schemas.U64(s.Number), Status: s.Status.String(),
		TickSize: schemas.TickSizeOf(m.Rules().Grid), LastTickYes: int64(s.LastTick), Volume: schemas.U64(s.Volume), OpenInterest: schemas.U64(s.Open),
		Paused: s.Paused, OpenTs: ns(s.OpenTs), CloseTs: ns(s.CloseTs), SecsToClose: secsToClose(&s.Round, m.Now().Ts),
	}
	bid, bidQty := s.BestLevel(true)
	ask, askQty := s.BestLevel(false)
	out.YesBid, out.YesBidQty, out.YesAsk, out.YesAskQty = int64(bid), int64(bidQty), int64(ask), int64(askQty)
	return out
}

var GetOrderbook = &Op[schemas.GetOrderbook, schemas.Orderbook]{
	Spec: Spec{
		Name: "get_orderbook", Title: "Read a book", Method: "GET", Path: "/v1/markets/{market_id}/orderbook", Scope: core.ScopeRead, Errors: []string{"unknown_market", "sequencing_timeout"},
		Doc: "Bids for YES and for NO as [tick, qty], best first, each in its own pips. YES ask = 10000 - NO bid.",
	},
	Do: func(_ context.Context, v *Venue, _ Caller, in *schemas.GetOrderbook) (out schemas.Orderbook, err error) {
		depth := int(core.TickMax)
		if in.Depth != nil {
			depth = int(*in.Depth)
		}
		var q orderbookKey
		var repeat bool
		id := marketID(in.MarketID)
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			s, ok := m.Market(id)
			if !ok {
				err = core.UnknownMarket
				return
			}
			q = orderbookKey{s.Generation, s.BookSeq, depth}
			var cached *schemas.Orderbook
			if cached, repeat = v.caches.books.get(id, q); cached != nil {
				out, repeat = *cached, false
			} else {
				out = BookOf(m, &s, depth)
			}
			out.Ts, out.AsOf = ns(m.Now().Ts), asOf(m)
		})
		if repeat && err == nil {
			out.PreEncode()
			v.caches.books.put(id, q, out)
		}
		return out, err
	},
}

// BookOf converts a slot's book, up to depth levels a side.
func BookOf(m *venue.Venue, s *venue.MarketState, depth int) schemas.Orderbook {
	levels := func(bid bool) []schemas.Level {
		out := make([]schemas.Level, 0, min(depth, s.Book.Depth(bid)))
		for l := range s.Book.Levels(bid) {
			if len(out) == depth {
				break
			}
			if !bid {
				l.Tick = l.Tick.Opposite()
			}
			out = append(out, schemas.Level{int64(l.Tick), int64(l.Qty)})
		}
		return out
	}
	return schemas.Orderbook{MarketID: uint32(s.Market), Generation: s.Generation, TickSize: schemas.TickSizeOf(m.Rules().Grid), Yes: levels(true), No: levels(false)}
}

var ListTrades = &Op[schemas.ListTrades, schemas.TradeList]{
	Spec: Spec{
		Name: "list_trades", Title: "Public trades", Method: "GET", Path: "/v1/markets/{market_id}/trades", Scope: core.ScopeRead, Errors: []string{"unknown_market", "bad_cursor", "history_behind", "sequencing_timeout"},
		Doc: "Public trades of a slot, newest first, earlier rounds too. Yours: list_fills.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ListTrades) (out schemas.TradeList, err error) {
		id := marketID(in.MarketID)
		span := spanOf(in.TimeRange)
		l := deepList[history.Numbered[view.Trade], schemas.Trade]{
			memory: func(m *venue.Venue, w *view.View) (func(uint64) iter.Seq2[uint64, history.Numbered[view.Trade]], view.Released, error) {
				if _, ok := m.Market(id); !ok {
					return nil, view.Released{}, core.UnknownMarket
				}
				return func(from uint64) iter.Seq2[uint64, history.Numbered[view.Trade]] {
					return withNumbers(w.Trades(id, from))
				}, w.TradesReleased(id), nil
			},
			keep: func(x history.Numbered[view.Trade]) bool { return span.Has(x.Row.Ts) },
			past: func(x history.Numbered[view.Trade]) bool { return x.Row.Ts < span.From },
			at:   numberOf[view.Trade],
			show: func(x history.Numbered[view.Trade]) schemas.Trade { return TradeOf(&x.Row) },
			mirror: func(ctx context.Context, below uint64, limit int) ([]history.Numbered[view.Trade], error) {
				return v.History.Trades(ctx, id, below, limit, history.TradeFilter{Span: span})
			},
		}
		out.Trades, out.PageEnd, err = l.page(ctx, v, caller, "trades", in)
		return out, err
	},
}

// TradeOf converts a public trade.
func TradeOf(t *view.Trade) schemas.Trade {
	return schemas.Trade{
		Seq: schemas.U64(t.Seq), Ts: ns(t.Ts), MarketID: uint32(t.Market), Generation: t.Generation, TickYes: int64(t.TickYes), Qty: int64(t.Qty),
		Path: t.Path.String(), TakerSide: t.TakerSide.String(), TakerOutcome: t.TakerOutcome.String(),
	}
}
