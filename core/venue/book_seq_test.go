package venue

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"duplex/core"
	"duplex/core/book"
)

// TestBookSeqOfEveryChange checks that BookSeq rises with every change of what a book shows, so that a
// cached book is current as long as BookSeq is unchanged. A restored venue has a new BookSeq.
func TestBookSeqOfEveryChange(t *testing.T) {
	shown := func(v *Venue, s *MarketState) string {
		return fmt.Sprint(s.Generation, v.Rules().Grid, slices.Collect[book.Level](s.Book.Levels(true)), slices.Collect[book.Level](s.Book.Levels(false)))
	}
	rapid.Check(t, func(t *rapid.T) {
		v, s, _ := begin(t)
		was, bookSeq := map[core.MarketID]string{}, map[core.MarketID]uint64{}
		for m := core.MarketID(1); m <= Slots; m++ {
			if x, ok := v.Market(m); ok {
				was[m], bookSeq[m] = shown(v, &x), x.BookSeq
			}
		}
		for range 1 + s.fair(60, "commands") {
			st := s.stamp()
			cmd := s.command()
			if s.fair(20, "rules") == 0 {
				rules := v.Rules()
				rules.Grid = pick(s, "grid", core.Full(), core.DefaultRules().Grid)
				cmd = &core.SetRules{Rules: rules}
			}
			if r := v.Apply(st, cmd, &core.Events{}); r == core.OK {
				if _, ok := cmd.(*core.PlaceOrder); ok {
					s.ids = append(s.ids, core.OrderID(st.Seq))
				}
			}
			for m := core.MarketID(1); m <= Slots; m++ {
				x, ok := v.Market(m)
				if !ok {
					continue
				}
				is := shown(v, &x)
				if was[m] != is && x.BookSeq != st.Seq {
					t.Fatalf("%T at %d: BookSeq %d, from %s to %s", cmd, st.Seq, x.BookSeq, was[m], is)
				}
				if x.BookSeq < bookSeq[m] || x.BookSeq > st.Seq {
					t.Fatalf("BookSeq %d, %d before, seq %d", x.BookSeq, bookSeq[m], st.Seq)
				}
				was[m], bookSeq[m] = is, x.BookSeq
			}
		}
		again := restored(t, v)
		for m := range was {
			if x, _ := again.Market(m); x.BookSeq != v.now.Seq {
				t.Fatalf("restored at %d, BookSeq %d", v.now.Seq, x.BookSeq)
			}
		}
	})
}

// TestBookSeqAtOpening checks that the opening of a round counts as a change of its empty book.
func TestBookSeqAtOpening(t *testing.T) {
	v, st := streamVenue(t) // its first rounds open, in slots that were never used
	for m := core.MarketID(1); m <= streamMarkets; m++ {
		if x, ok := v.Market(m); !ok || x.BookSeq == 0 || x.BookSeq > st.Seq {
			t.Errorf("market %d: BookSeq %d", m, x.BookSeq)
		}
	}
}
