package guides

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/core/venue"
)

var update = flag.Bool("update", false, "rewrite the figures in rounds.md")

// block matches a block of the page: ```text NAME, the lines of the chapter NAME, ```.
var block = regexp.MustCompile("(?s)(```text (\\w+)\n)(.*?)(```\n)")

// TestRounds plays the page's round on a venue and compares every block with the venue's
// results. It does not check the prose between the blocks, which repeats only figures of rules.
func TestRounds(t *testing.T) {
	page, err := os.ReadFile("rounds.md")
	if err != nil {
		t.Fatal(err)
	}
	chapters := tellStory(t)
	seen := map[string]bool{}
	fresh := block.ReplaceAllFunc(page, func(old []byte) []byte {
		m := block.FindSubmatch(old)
		name := string(m[2])
		seen[name] = true
		if chapters[name] == "" {
			t.Errorf("no chapter %q for this block of the page", name)
		}
		return []byte(string(m[1]) + chapters[name] + string(m[4]))
	})
	for name := range chapters {
		if !seen[name] {
			t.Errorf("the page has no block %q", name)
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile("rounds.md", fresh, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(page, fresh) {
		t.Errorf("rounds.md must be\n%s", fresh)
	}
}

const (
	opens        = int64(1_800_000_000) // 2027-01-15 08:00:00 UTC
	market       = core.MarketID(1)     // the 60 s series of BTC opens first
	ann, ben, cy = core.UserID(1), core.UserID(2), core.UserID(3)
	funds        = core.Pips(1_000_000)
)

var people = []string{"", "Ann", "Ben", "Cy"}

// story plays the page's round on a venue and writes the block of each chapter to out.
type story struct {
	t     *testing.T
	v     *venue.Venue
	at    core.Stamp
	out   *strings.Builder
	round core.Round
	paid  map[core.UserID]*core.AccountSettled
}

func tellStory(t *testing.T) map[string]string {
	chapters := map[string]string{}
	s := begin(t)
	chapter := func(name string, do func()) {
		s.out = &strings.Builder{}
		do()
		chapters[name] = s.out.String()
	}
	chapter("index", s.index)
	chapter("mint", s.mint)
	chapter("direct", s.direct)
	chapter("merge", s.merge)
	chapter("twap", s.mean)
	chapter("settled", s.settle)
	chapter("sums", s.sums)

	s = begin(t) // the same round, but it ends in a void
	s.out = &strings.Builder{}
	s.index()
	s.mint()
	s.direct()
	s.merge()
	chapter("void", s.void)
	return chapters
}

func begin(t *testing.T) *story {
	s := &story{t: t, v: venue.New(), at: core.Stamp{Ts: opens * core.NsPerSec}, paid: map[core.UserID]*core.AccountSettled{}}
	for _, u := range []core.UserID{ann, ben, cy} {
		s.do(&core.CreateUser{Name: people[u]})
		s.do(&core.Deposit{User: u, DepositID: people[u], Amount: funds})
	}
	s.do(&core.SetSession{Feed: core.BTC, Open: true})
	return s
}

func (s *story) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// do applies a command and fails the test if the venue rejects it.
func (s *story) do(c core.Command) *core.Events {
	s.t.Helper()
	s.at.Seq++
	s.at.Ts++
	ev := &core.Events{}
	if r := s.v.Apply(s.at, c, ev); r != core.OK {
		s.t.Fatalf("%T: %v", c, r)
	}
	s.v.Audit()
	for _, e := range ev.List {
		switch e := e.(type) {
		case *core.RoundChanged:
			if e.Round.Market == market && e.Round.Generation == 1 {
				s.round = e.Round
			}
		case *core.AccountSettled:
			s.paid[e.User] = e
		}
	}
	return ev
}

// tick posts the index price of a second, counted from the opening of the round.
func (s *story) tick(second int64, price core.Price, count uint8) {
	s.at.Ts = max(s.at.Ts, (opens+second)*core.NsPerSec)
	s.do(&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: opens + second, Price: price, Count: count}})
}

func dollars(p core.Price) string { return fmt.Sprintf("%d.%02d", p/100_000_000, p/1_000_000%100) }

// cents converts cents to a price, which is in dollars scaled by 1e8.
func cents(c uint64) core.Price { return core.Price(c) * 1_000_000 }

func (s *story) index() {
	now := opens*core.NsPerSec + 5*core.NsPerMs
	var x feed.Index
	heard := []struct {
		name  string
		price core.Price
		age   int64 // ms
	}{{"bitstamp", cents(64999_90), 400}, {"coinbase", cents(65000_10), 150}, {"gemini", cents(66500_00), 900}, {"kraken", cents(65000_30), 250}, {"slow", cents(64990_00), 9000}}
	for _, h := range heard {
		x.Update(core.BTC, h.name, h.price, now-h.age*core.NsPerMs)
	}
	tick, gap := x.Tick(core.BTC, now)
	if gap != feed.NoGap {
		s.t.Fatal("no index: ", gap)
	}
	for _, h := range heard {
		why := "left out"
		for _, c := range tick.Sources {
			if c.Name == h.name {
				why = "counts"
			}
		}
		s.say("%-9s %s  %4d ms old  %s", h.name, dollars(h.price), h.age, why)
	}
	s.tick(0, tick.Price, tick.Count)
	s.do(&core.Clock{})
	if s.round.Status != core.Trading {
		s.t.Fatal("no round")
	}
	s.say("index     %s, the median of %d, is the strike", dollars(s.round.Strike), tick.Count)
}

// order places an order and writes its reservation and fills.
func (s *story) order(o core.PlaceOrder) {
	o.ClientID, o.Market = s.at.Seq, market
	kind := fmt.Sprintf("at %d", o.Tick)
	if o.Type == core.Market {
		kind = fmt.Sprintf("at market, for at most %d", o.MaxCost)
	}
	s.say("%s: %s %d %s %s", people[o.User], o.Side, o.Qty, o.Outcome, kind)
	if o.Side == core.Buy && o.Type == core.Limit {
		fee := core.Fee(s.v.Fees().Taker, 1, o.Tick)
		s.say("  at admission   %d × (%d + %d) = %d reserved", o.Qty, o.Tick, fee, core.Pips(o.Qty)*core.ReservationPerContract(s.v.Fees().Taker, o.Tick))
	}
	for _, e := range s.do(&o).List {
		if f, ok := e.(*core.Filled); ok {
			s.fill(f)
		}
	}
	if _, reserved := s.v.Balance(o.User); reserved > 0 {
		s.say("  while it rests %d reserved", reserved)
	}
}

func (s *story) fill(f *core.Filled) {
	p := f.TickYes
	s.say("  fill           %d at YES %d, NO %d: %s", f.Qty, p, p.Opposite(), f.Path)
	s.say("  fee of %-7s ceil(%d × %d × %d × %d / 10^8) = %d", people[f.TakerUser], s.v.Fees().Taker, f.Qty, p, p.Opposite(), f.TakerFee)
	for _, side := range []struct {
		user    core.UserID
		side    core.Side
		outcome core.Outcome
		fee     core.Pips
	}{{f.TakerUser, f.TakerSide, f.TakerOutcome, f.TakerFee}, {f.MakerUser, f.MakerSide, f.MakerOutcome, f.MakerFee}} {
		at := p
		if side.outcome == core.No {
			at = p.Opposite()
		}
		amount := core.Pips(f.Qty) * core.Pips(at)
		if side.side == core.Buy {
			s.say("  %-4s pays      %d × %d + %d = %d", people[side.user], f.Qty, at, side.fee, amount+side.fee)
		} else {
			s.say("  %-4s gets      %d × %d − %d = %d", people[side.user], f.Qty, at, side.fee, amount-side.fee)
		}
	}
	pairs := s.v.Sums().Pairs
	s.say("  open pairs     %d, so %d pips of collateral", pairs, core.Pips(pairs)*core.Payout)
}

func (s *story) mint() {
	s.order(core.PlaceOrder{User: ben, Side: core.Buy, Outcome: core.No, Tick: 4800, Qty: 10})
	s.order(core.PlaceOrder{User: ann, Side: core.Buy, Outcome: core.Yes, Tick: 5300, Qty: 10})
}

func (s *story) direct() {
	s.order(core.PlaceOrder{User: ann, Side: core.Sell, Outcome: core.Yes, Tick: 6000, Qty: 4})
	s.order(core.PlaceOrder{User: cy, Side: core.Buy, Outcome: core.Yes, Type: core.Market, TIF: core.IOC, Tick: 9999, Qty: 4, MaxCost: 30_000})
}

func (s *story) merge() {
	s.order(core.PlaceOrder{User: ann, Side: core.Sell, Outcome: core.Yes, Tick: 5500, Qty: 3})
	s.order(core.PlaceOrder{User: ben, Side: core.Sell, Outcome: core.No, Tick: 4500, Qty: 3})
}

// mean posts the ticks of the minute, all but that of second 53, and writes the settle price.
func (s *story) mean() {
	for second := int64(1); second < 50; second++ {
		s.tick(second, cents(65000_00+uint64(second)), 3)
	}
	last := map[int64]core.Price{50: cents(65000_60), 51: cents(65000_20), 52: cents(64999_80), 54: cents(64999_90), 55: cents(65000_40), 56: cents(65000_90), 57: cents(65001_10), 58: cents(65000_70), 59: cents(65000_30)}
	var ticks []core.IndexTick
	for second := int64(50); second < 60; second++ {
		if price, there := last[second]; there {
			s.tick(second, price, 3)
			ticks = append(ticks, core.IndexTick{Feed: core.BTC, Second: opens + second, Price: price, Count: 3})
		}
	}
	counted := feed.CountedSeconds(ticks, opens+60, s.round.Window)
	for i, k := range ticks {
		s.say("08:00:%02d  %s  × %d", k.Second-opens, dollars(k.Price), counted[i])
	}
	s.tick(60, cents(65009_99), 3) // moves the clock to the boundary; this tick is too late to count
	if s.round.Status != core.Frozen {
		s.t.Fatalf("%v at the boundary", s.round.Status)
	}
	price, covered := feed.TWAP(ticks, opens+60, s.round.Window)
	if price != s.round.Settle || covered != s.round.Covered {
		s.t.Fatalf("the venue has %d over %d s", s.round.Settle, s.round.Covered)
	}
	s.say("mean      %s over %d of %d seconds", dollars(price), covered, s.round.Window)
}

// clock advances the time by d and checks the status of the round after that.
func (s *story) clock(d time.Duration, want core.RoundStatus) {
	s.at.Ts += int64(d)
	s.do(&core.Clock{})
	if s.round.Status != want {
		s.t.Fatalf("%v, want %v", s.round.Status, want)
	}
}

func (s *story) settle() {
	s.clock(100*time.Millisecond, core.Proposed)
	s.say("settle    %s is over the strike of %s: %s wins", dollars(s.round.Settle), dollars(s.round.Strike), s.round.Winner)
	s.clock(time.Duration(s.v.Rules().DisputeNs), core.Settled)
	s.pay(func(yes, no core.Qty) (string, core.Pips) {
		return fmt.Sprintf("%d × %d", yes, core.Payout), core.Pips(yes) * core.Payout
	})
}

func (s *story) void() {
	s.do(&core.VoidMarket{Market: market, Audit: core.Audit{Who: "operator"}})
	s.pay(func(yes, no core.Qty) (string, core.Pips) {
		return fmt.Sprintf("%d × %d", yes+no, core.VoidPayout), core.Pips(yes+no) * core.VoidPayout
	})
}

func (s *story) pay(formula func(yes, no core.Qty) (string, core.Pips)) {
	var sum core.Pips
	for _, u := range []core.UserID{ann, ben, cy} {
		paid := s.paid[u]
		text, want := formula(paid.Yes, paid.No)
		if paid.Payout != want {
			s.t.Errorf("%s is paid %d, not %d", people[u], paid.Payout, want)
		}
		sum += paid.Payout
		s.say("%-4s held %d YES, %d NO: %s = %d", people[u], paid.Yes, paid.No, text, paid.Payout)
	}
	s.say("paid      %d", sum)
}

func (s *story) sums() {
	var all core.Pips
	for _, u := range []core.UserID{ann, ben, cy} {
		cash, reserved := s.v.Balance(u)
		all += cash + reserved
		s.say("%-4s %7d  %+d", people[u], cash, cash-funds)
	}
	fees := s.v.Sums().Fees
	s.say("fees %7d", fees)
	s.say("sum  %7d, of which %d were deposited", all+fees, 3*funds)
	if all+fees != 3*funds {
		s.t.Error("the sum differs from the deposits")
	}
}
