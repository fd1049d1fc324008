package arena

import (
	"maps"
	"slices"

	"duplex/arena/stats"
	"duplex/core"
)

// seatFill is a fill between two seats, whose gain is known when its round ends.
type seatFill struct {
	taker, maker *seatFigures
	yes          int64 // contracts of YES that the taker gained: less than 0 if it sold YES or bought NO
	tick         core.Tick
	market       core.MarketID
}

// between is what a seat did with another one in one seed.
type between struct {
	contracts int64
	dollars   float64 // won from the other
}

// foldFill keeps a fill between two seats, and the largest bets after a fill.
func (b *replayBundle) foldFill(e *core.Filled) {
	taker, maker := b.seatOf(e.TakerUser), b.seatOf(e.MakerUser)
	for _, s := range []*seatFigures{taker, maker} {
		if s != nil {
			h := b.r.Venue.Holding(s.user, e.Market)
			net := float64(h.Contracts(core.Yes)) - float64(h.Contracts(core.No))
			s.Swing = max(s.Swing, net, -net)
		}
	}
	m, ok := b.r.Venue.Market(e.Market)
	if taker == nil || maker == nil || !ok {
		return
	}
	yes := int64(e.Qty)
	if (e.TakerSide == core.Sell) != (e.TakerOutcome == core.No) {
		yes = -yes
	}
	b.open[m.Number] = append(b.open[m.Number], seatFill{taker, maker, yes, e.TickYes, e.Market})
}

// endFills adds up the fills between seats of a round that is final.
func (b *replayBundle) endFills(r *core.Round) {
	payout := core.VoidPayout
	if r.Status == core.Settled {
		payout = 0
		if r.Winner == core.Yes {
			payout = core.Payout
		}
	}
	b.payFills(r.Number, func(core.MarketID) core.Pips { return payout })
}

// endOpenFills adds up the fills of rounds that are not final at the end, at the mark, as equity does.
func (b *replayBundle) endOpenFills() {
	for _, number := range slices.Sorted(maps.Keys(b.open)) {
		b.payFills(number, func(market core.MarketID) core.Pips {
			if t, ok := b.r.Venue.Mark(market); ok {
				return core.Pips(t)
			}
			return core.VoidPayout
		})
	}
}

// payFills adds up the fills of a round that pays so much for a contract of YES. What one wins, the other loses.
func (b *replayBundle) payFills(number uint64, payout func(core.MarketID) core.Pips) {
	for _, f := range b.open[number] {
		won := inDollars(core.Pips(f.yes) * (payout(f.market) - core.Pips(f.tick)))
		f.taker.tradeWith(f.maker, max(f.yes, -f.yes), won)
		f.maker.tradeWith(f.taker, max(f.yes, -f.yes), -won)
	}
	delete(b.open, number)
}

func (s *seatFigures) tradeWith(other *seatFigures, contracts int64, won float64) {
	for len(s.Between) < other.Number {
		s.Between = append(s.Between, between{})
	}
	x := &s.Between[other.Number-1]
	x.contracts += contracts
	x.dollars += won
}

// fromSeats returns what a seat won from all others in a seed, in dollars.
func (s *seatFigures) fromSeats() (sum float64) {
	for _, x := range s.Between {
		sum += x.dollars
	}
	return sum
}

// Between is what two seats did with each other over all seeds. Both are in the order of the file.
type Between struct {
	Seat      string  `json:"seat"`
	Other     string  `json:"other"`
	Contracts int64   `json:"contracts"`
	Dollars   float64 `json:"dollars"` // that Seat won from Other, at the payout, without fees
}

// betweenSeats returns each two seats that had fills with each other, once.
func betweenSeats(runs []*seedFigures) []Between {
	out := []Between{}
	for i, s := range runs[0].Seats {
		for _, other := range runs[0].Seats[i+1:] {
			x := Between{Seat: s.Name, Other: other.Name}
			for _, f := range runs {
				if of := f.Seats[i].Between; len(of) >= other.Number {
					x.Contracts += of[other.Number-1].contracts
					x.Dollars += of[other.Number-1].dollars
				}
			}
			if x.Contracts > 0 {
				x.Dollars = stats.Round(x.Dollars)
				out = append(out, x)
			}
		}
	}
	return out
}
