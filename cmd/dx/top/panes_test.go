package top

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"duplex/schemas"
)

// thousands gives a model numbers above a thousand in every pane.
func thousands(s *stage) *stage {
	order := func(n schemas.U64, left int64) schemas.Order {
		return schemas.Order{OrderID: &n, MarketID: 7, Side: "sell", Outcome: "yes", Tick: 9750, RemainingQty: left, Status: "resting"}
	}
	return s.send(
		BookMsg{Market: 7, Seq: 150, Known: true, Book: schemas.WSBook{MarketID: 7, Generation: 1, Yes: []schemas.Level{{5200, 1_500}, {5000, 12_345_678}}, No: []schemas.Level{{4600, 999_999}, {250, 1_000_000}}}},
		TradeMsg{Seq: 151, Ts: nano(-time.Second), MarketID: 7, Generation: 1, TickYes: 9990, Qty: 1_000_000, TakerSide: "buy", TakerOutcome: "yes"},
		TradeMsg{Seq: 152, Ts: nano(0), MarketID: 7, Generation: 1, TickYes: 390, Qty: 12_345, TakerSide: "buy", TakerOutcome: "no"},
		AccountMsg{Seq: 153, Cash: 1_234_567_850, Reserved: 150, Orders: map[schemas.U64]schemas.Order{160: order(160, 1_500), 161: order(161, 1_000_000)},
			Positions: map[uint32]schemas.Position{7: {MarketID: 7, Generation: 1, YesQty: 1_000_000, NoQty: 1_500}}},
		ProfitMsg{PnL: schemas.PnL{RealizedToday: -5_787_765, Unrealized: 12_345_650, Positions: []schemas.PnLPosition{
			{MarketID: 7, Generation: 1, Outcome: "yes", Qty: 1_000_000, AvgCost: 10_123, Unrealized: -5_000_050_050}, {MarketID: 7, Generation: 1, Outcome: "no", Qty: 1_500, AvgCost: 4_712, Unrealized: 50},
		}}},
	)
}

// TestPositions checks that positions are shown whole, counted one by one, and those of the selected series first.
func TestPositions(t *testing.T) {
	s := busy(t)
	held, profit := map[uint32]schemas.Position{}, schemas.PnL{}
	for i, market := range []uint32{7, 3, 5, 9} { // the series are 0, 1, 4 and 6
		held[market] = schemas.Position{MarketID: market, Generation: 1, YesQty: int64(10 + i), NoQty: int64(20 + i)}
		for outcome, qty := range map[string]int64{"yes": int64(10 + i), "no": int64(20 + i)} {
			profit.Positions = append(profit.Positions, schemas.PnLPosition{MarketID: market, Generation: 1, Outcome: outcome, Qty: qty, AvgCost: 5_000, Unrealized: 10_000})
		}
	}
	s.send(AccountMsg{Positions: held}, ProfitMsg{PnL: profit}).send(press("down")...)
	for n := range 22 {
		lines := s.m.ownLines(26, n)
		if len(lines) > max(n, 1) {
			t.Errorf("%d lines of %d", len(lines), n)
		}
		text := ansi.Strip(strings.Join(lines, "\n"))
		shown, profits, more := strings.Count(text, " YES\n")+strings.Count(text, " NO\n"), strings.Count(text, "+$1.00"), 0
		if at := strings.LastIndex(text, "and "); at >= 0 {
			if _, err := fmt.Sscanf(text[at:], "and %d more", &more); err != nil {
				t.Errorf("%v in\n%s", err, text)
			}
		}
		switch {
		case shown != profits:
			t.Errorf("%d lines: %d positions with %d profits\n%s", n, shown, profits, text)
		case shown > 0 && (shown+more != 8 || !strings.Contains(text, "MY POSITIONS\nBTC 5m   11 YES\n")):
			t.Errorf("%d lines: %d positions and %d more, want 8, those of BTC 5m first\n%s", n, shown, more, text)
		case n >= 6 && shown == 0, n >= 19 && shown < 8:
			t.Errorf("%d lines: %d positions\n%s", n, shown, text)
		case n > 1 && n < 6 && shown == 0 && !strings.Contains(text, "8 positions"):
			t.Errorf("%d lines do not say that there are positions\n%s", n, text)
		}
	}
}

// TestKeysAreInTheHelp checks that the list of the keys has each key that does something, in the last line too.
func TestKeysAreInTheHelp(t *testing.T) {
	for _, name := range []string{"1-9", "↑ ↓", "b, s", "c  ", "x, X", "y, enter, n", "q, esc", "?"} {
		if !strings.Contains(Help(), name) {
			t.Errorf("no %s in\n%s", name, Help())
		}
	}
	if line := keyLine(); lipgloss.Width(line) > minWidth-1 {
		t.Errorf("%q is too wide", line)
	}
}

// TestProfit checks when the profit is read: after each change of the account, and every 5 s while contracts are held,
// one read at a time.
func TestProfit(t *testing.T) {
	s := busy(t)
	s.m.opt.ReadProfit = func() ProfitMsg { return ProfitMsg{} }
	now := noon
	reads := func(after time.Duration) bool {
		now = now.Add(after)
		before := s.m.profit.reading
		s.send(ClockMsg(now))
		return !before && s.m.profit.reading
	}
	for i, c := range []struct {
		before []tea.Msg
		after  time.Duration
		want   bool
	}{
		{nil, time.Second, true},
		{nil, time.Second, false}, // it is under way
		{[]tea.Msg{ProfitMsg{Err: errors.New("draining")}}, time.Second, true},
		{[]tea.Msg{ProfitMsg{}}, time.Minute, false}, // nothing is held
		{[]tea.Msg{AccountMsg{Seq: 150}}, time.Second, true},
		{[]tea.Msg{AccountMsg{Seq: 151}, ProfitMsg{PnL: pnl}}, time.Second, true}, // it changed meanwhile
		{[]tea.Msg{ProfitMsg{PnL: pnl}}, markEvery - time.Second, false},
		{nil, time.Second, true},
	} {
		if s.send(c.before...); reads(c.after) != c.want {
			t.Errorf("%d: a read: %t, want %t", i, !c.want, c.want)
		}
	}
	if s := open(t); s.send(ClockMsg(noon)).m.profit.reading {
		t.Error("a read before the account is known")
	}
}
