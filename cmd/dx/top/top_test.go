package top

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"duplex/client"
	"duplex/schemas"
)

var update = flag.Bool("update", false, "rewrite the screens in testdata")

var noon = time.Date(2027, 1, 15, 12, 0, 22, 0, time.UTC)

func nano(after time.Duration) schemas.U64 { return schemas.U64(noon.Add(after).UnixNano()) }

// stage is a model in a test and the reads that it requested.
type stage struct {
	t     *testing.T
	m     Model
	reads []string

	sent     []schemas.PlaceOrder
	canceled []uint32
	redeemed [][2]int64 // market and pairs
}

func open(t *testing.T) *stage {
	s := &stage{t: t}
	s.m = New(Options{
		Address: "http://127.0.0.1:8080", Account: "trader", Now: func() time.Time { return noon },
		Refresh:    func() RefreshMsg { s.reads = append(s.reads, "refresh"); return RefreshMsg{} },
		ReadTrades: func(id uint32) TradesMsg { s.reads = append(s.reads, "trades"); return TradesMsg{Market: id} },
		Preview: func(id int, o schemas.PlaceOrder) PreviewMsg {
			s.reads = append(s.reads, "preview")
			if o.ClientOrderID == 0 {
				o.ClientOrderID = schemas.U64(len(s.reads))
			}
			return PreviewMsg{Ticket: id, Order: o}
		},
		Place: func(id int, o schemas.PlaceOrder) PlacedMsg {
			s.sent = append(s.sent, o)
			return PlacedMsg{Ticket: id, Order: o}
		},
		CancelAll: func(id int, market uint32) CanceledMsg {
			s.canceled = append(s.canceled, market)
			return CanceledMsg{Ticket: id}
		},
		Redeem: func(id int, market uint32, pairs int64) RedeemedMsg {
			s.redeemed = append(s.redeemed, [2]int64{int64(market), pairs})
			return RedeemedMsg{Ticket: id}
		},
	})
	return s
}

// send passes messages to the model and runs the commands that it returns, except that of a ClockMsg.
func (s *stage) send(msgs ...tea.Msg) *stage {
	for _, msg := range msgs {
		next, cmd := s.m.Update(msg)
		s.m = next.(Model)
		if _, clock := msg.(ClockMsg); cmd != nil && !clock {
			cmd()
		}
	}
	return s
}

func press(keys ...string) (out []tea.Msg) {
	codes := map[string]rune{"up": tea.KeyUp, "down": tea.KeyDown, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "backspace": tea.KeyBackspace}
	for _, k := range keys {
		if code, special := codes[k]; special {
			out = append(out, tea.KeyPressMsg{Code: code})
		} else {
			out = append(out, tea.KeyPressMsg{Code: rune(k[0]), Text: k})
		}
	}
	return out
}

func round(category uint16, market uint32, number schemas.U64, status string, strike schemas.U64) schemas.Round {
	return schemas.Round{MarketID: market, Category: category, RoundNumber: number, Generation: 1, Status: status, Strike: strike * 1_000_000}
}

func slot(r schemas.Round, left time.Duration, last int64, volume schemas.U64) schemas.Market {
	return schemas.Market{MarketID: r.MarketID, Generation: r.Generation, RoundNumber: r.RoundNumber, LastTickYes: last, Volume: volume, CloseTs: nano(left)}
}

// past is a final round; without a winner it is void.
func past(category uint16, number schemas.U64, winner string) schemas.Round {
	r := round(category, 2, number, "settled", 64000_00)
	r.CloseTs = nano(time.Duration(number)*time.Minute - 10*time.Minute)
	if winner == "" {
		r.Status = "void"
		return r
	}
	r.Winner, r.SettlePrice = &winner, r.Strike+12_000_000
	return r
}

// busy is a model with content in every pane.
func busy(t *testing.T) *stage {
	one, two, five := round(1, 7, 12, "trading", 65000_10), round(2, 3, 10, "trading", 65011_00), round(5, 5, 11, "frozen", 2401_25)
	paused := round(7, 9, 13, "trading", 78_05)
	paused.Paused = true
	id := schemas.Ptr[schemas.U64]
	order := func(n schemas.U64, market uint32, side, outcome string, tick, left int64) schemas.Order {
		return schemas.Order{OrderID: id(n), MarketID: market, Side: side, Outcome: outcome, Tick: tick, RemainingQty: left, Status: "resting"}
	}
	return open(t).send(
		RefreshMsg{Rounds: []schemas.Round{paused, one, five, two, past(1, 8, "yes"), past(1, 7, ""), past(2, 6, "no"), past(1, 5, "no")},
			Markets: []schemas.Market{slot(one, 38*time.Second, 5200, 1350), slot(two, 4*time.Minute+38*time.Second, 0, 0), slot(paused, 38*time.Second, 0, 12_345_678)}, AsOf: 100},
		IndexMsg{Feed: 0, Price: 65003_40_000_000}, IndexMsg{Feed: 1, Price: 2401_25_000_000}, IndexMsg{Feed: 2, Price: 77_99_000_000},
		BookMsg{Market: 7, Seq: 140, Known: true, Book: schemas.WSBook{MarketID: 7, Generation: 1, Yes: []schemas.Level{{5200, 100}, {5000, 240}, {390, 5}}, No: []schemas.Level{{4600, 100}, {4500, 80}}}},
		BookMsg{Market: 3, Seq: 141, Known: true, Book: schemas.WSBook{MarketID: 3, Generation: 1, Yes: []schemas.Level{{4700, 1}}}},
		TradesMsg{Market: 7, AsOf: 120, Trades: []schemas.Trade{{Seq: 118, Ts: nano(-9 * time.Second), MarketID: 7, Generation: 1, TickYes: 5100, Qty: 50, TakerSide: "buy", TakerOutcome: "no"}}},
		TradeMsg{Seq: 118, MarketID: 7, Generation: 1, TickYes: 5100, Qty: 50, TakerSide: "buy", TakerOutcome: "no"}, // the read included it
		TradeMsg{Seq: 143, Ts: nano(-2 * time.Second), MarketID: 7, Generation: 1, TickYes: 5300, Qty: 10, TakerSide: "buy", TakerOutcome: "yes"},
		AccountMsg{Seq: 144, Cash: 99_939_400, Reserved: 48_000, Orders: map[schemas.U64]schemas.Order{
			130: order(130, 7, "buy", "yes", 5000, 10), 131: order(131, 7, "buy", "no", 4500, 20), 132: order(132, 3, "sell", "yes", 9750, 3),
		}, Positions: map[uint32]schemas.Position{7: {MarketID: 7, Generation: 1, YesQty: 40, NoQty: 2, Cost: 212_345}}, Deadman: schemas.Deadman{Armed: true, DeadlineTs: nano(8 * time.Second)}},
	)
}

// pnl is the profit and loss of the account of busy.
var pnl = schemas.PnL{RealizedToday: -31_250, Unrealized: 4_655, Positions: []schemas.PnLPosition{
	{MarketID: 7, Generation: 1, Outcome: "yes", Qty: 40, AvgCost: 5_073, Unrealized: 5_080}, {MarketID: 7, Generation: 1, Outcome: "no", Qty: 2, AvgCost: 4_712, Unrealized: -425},
}}

// chart are messages with the times of the selected round and prices around its strike.
func chart() []tea.Msg {
	r := round(1, 7, 12, "trading", 65000_10)
	r.OpenTs, r.CloseTs, r.TwapWindowSecs = nano(-22*time.Second), nano(38*time.Second), 10
	read := PricesMsg{}
	for n := range schemas.U64(20) {
		read.Prices = append(read.Prices, schemas.PriceRow{Ts: nano(time.Duration(n)*time.Second - 30*time.Second), Close: r.Strike + 40_000_000*(n%7) - 80_000_000})
	}
	return []tea.Msg{RoundMsg(r), read, IndexMsg{Feed: 0, Ts: nano(-2 * time.Second), Price: 65003_40_000_000}, IndexMsg{Feed: 0, Ts: nano(0), Price: 65003_90_000_000}}
}

// threeMembers is a cluster whose member c is down.
var threeMembers = MembersMsg{Members: []schemas.ClusterMember{
	{Node: "a", Role: "voter", State: "behind", Seq: 1200, Number: 88},
	{Node: "bern", Role: "leader", State: "serving", Seq: 14000, Number: 2100},
	{Node: "c", Role: "voter", State: "down"},
}}

// TestScreens compares screens, without color, with golden files. -update rewrites them.
func TestScreens(t *testing.T) {
	many := client.Account{Orders: map[schemas.U64]schemas.Order{}}
	for n := schemas.U64(1); n <= 30; n++ {
		many.Orders[n] = schemas.Order{OrderID: schemas.Ptr(n), MarketID: 7, Side: "buy", Outcome: "yes", Tick: 100 + 10*n.Int64(), RemainingQty: 1}
	}
	for name, s := range map[string]*stage{
		"nothing known yet":       open(t),
		"trading":                 busy(t),
		"another selected":        busy(t).send(press("down")...),
		"frozen":                  busy(t).send(press("j", "j", "j", "j")...),
		"no round":                busy(t).send(press("up")...),
		"broken":                  busy(t).send(DisconnectedMsg{errors.New("gone")}),
		"help":                    busy(t).send(tea.WindowSizeMsg{Width: 80, Height: 18}).send(press("?")...),
		"could not be read":       busy(t).send(RefreshMsg{Err: errors.New("draining (503)")}),
		"160 by 50":               busy(t).send(tea.WindowSizeMsg{Width: 160, Height: 50}).send(chart()...).send(ProfitMsg{PnL: pnl}),
		"thousands":               thousands(busy(t)).send(tea.WindowSizeMsg{Width: 80, Height: 30}),
		"thousands at 160 by 50":  thousands(busy(t)).send(tea.WindowSizeMsg{Width: 160, Height: 50}),
		"a profit":                busy(t).send(ProfitMsg{PnL: pnl}),
		"120 by 40":               busy(t).send(tea.WindowSizeMsg{Width: 120, Height: 40}).send(chart()...),
		"200 by 50":               busy(t).send(tea.WindowSizeMsg{Width: 200, Height: 50}).send(chart()...),
		"tall without prices":     busy(t).send(tea.WindowSizeMsg{Width: 80, Height: 36}),
		"100 by 24":               busy(t).send(tea.WindowSizeMsg{Width: 100, Height: 24}),
		"150 by 30":               busy(t).send(tea.WindowSizeMsg{Width: 150, Height: 30}),
		"a ticket":                busy(t).send(press("b", "n", "5", "tab", "4", "6")...),
		"a market order":          busy(t).send(press("s")...),
		"a preview":               busy(t).send(append(press("b"), tea.WindowSizeMsg{Width: 80, Height: 18})...).send(press("enter")...).send(PreviewMsg{Ticket: 2, Order: schemas.PlaceOrder{Side: "buy", Outcome: "yes", Qty: 10}, Preview: schemas.Preview{Status: "executed", Fills: []schemas.OutcomeFill{{TickYes: 5400, Qty: 10}}, Fee: 622, WorstLoss: 54_622, BestPayout: 100_000, CashAfter: 99_884_778}}),
		"a bad preview":           busy(t).send(press("b", "enter")...).send(PreviewMsg{Ticket: 2, Err: &client.Error{Wire: schemas.ErrorOf("insufficient_balance"), Status: 409}}),
		"a cancel":                busy(t).send(press("x")...),
		"a redemption":            busy(t).send(press("c")...),
		"short":                   busy(t).send(tea.WindowSizeMsg{Width: 80, Height: 18}),
		"too small":               busy(t).send(tea.WindowSizeMsg{Width: 60, Height: 20}),
		"more orders":             busy(t).send(AccountMsg(many)),
		"an earlier round":        busy(t).send(AccountMsg{Positions: map[uint32]schemas.Position{4: {MarketID: 4, Generation: 1, RoundNumber: 9, NoQty: 5, Cost: 20_000}, 7: {MarketID: 7, Generation: 1, RoundNumber: 12, YesQty: 40, Cost: 212_345}}}),
		"a minute later":          busy(t).send(ClockMsg(noon.Add(time.Minute))),
		"the next life of a slot": busy(t).send(RoundMsg(round(1, 7, 14, "trading", 65010_00))),
		"members":                 busy(t).send(tea.WindowSizeMsg{Width: 100, Height: 30}, threeMembers),
		"members where it is low": busy(t).send(tea.WindowSizeMsg{Width: 80, Height: 18}, threeMembers),
		"members with a chart":    busy(t).send(tea.WindowSizeMsg{Width: 120, Height: 40}, threeMembers).send(chart()...),
		"members not known":       busy(t).send(threeMembers, MembersMsg{Err: errors.New("connection\nrefused")}),
		"behind a gap":            busy(t).send(BookMsg{Market: 7, Seq: 150}),
		"an older transition":     busy(t).send(RoundMsg(round(1, 2, 5, "void", 64000_00))),
	} {
		t.Run(name, func(t *testing.T) {
			got := ansi.Strip(s.m.View().Content) + "\n"
			wide, high := s.m.width-1, s.m.height
			if s.m.width < minWidth {
				wide, high = s.m.width, 3
			}
			lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			if len(lines) != high {
				t.Errorf("%d lines of %d", len(lines), high)
			}
			for _, l := range lines {
				if w := lipgloss.Width(l); w > wide {
					t.Errorf("%d wide: %s", w, l)
				}
			}
			golden(t, strings.ReplaceAll(name, " ", "-"), got)
		})
	}
}

func golden(t *testing.T, name, got string) {
	path := filepath.Join("testdata", name+".txt")
	var lines []string
	for l := range strings.SplitSeq(got, "\n") {
		lines = append(lines, strings.TrimRight(l, " "))
	}
	got = strings.Join(lines, "\n")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the screen is\n%s\nwant\n%s", got, want)
	}
}

// TestSelected checks that the selection shows without color and wraps at both ends.
func TestSelected(t *testing.T) {
	s := open(t)
	for i := range 10 {
		for n, line := range strings.Split(ansi.Strip(s.m.screen()), "\n")[2:11] {
			if selected := strings.HasPrefix(line, ">"); selected != (n == i%9) {
				t.Fatalf("after %d: %s", i, line)
			}
		}
		s.send(press("down")...)
	}
	for i := range 9 {
		if s.send(press(string(rune('9' - i)))...); s.m.selected != 8-i {
			t.Errorf("%d selects row %d", 9-i, s.m.selected)
		}
	}
	if s.send(press("0")...); s.m.selected != 0 {
		t.Errorf("0 selects row %d", s.m.selected)
	}
	s.send(press("down", "up", "up")...)
	if s.m.selected != 8 {
		t.Errorf("row %d is selected, want 8", s.m.selected)
	}
}

// TestReads checks that a round that starts trading causes a refresh, that refreshes do not
// overlap, and that a market's trades are read once, when it is selected.
func TestReads(t *testing.T) {
	s := open(t)
	s.send(RoundMsg(round(1, 7, 14, "trading", 1)), RoundMsg(round(2, 8, 15, "trading", 1)), RoundMsg(round(3, 9, 16, "frozen", 1)))
	if got := strings.Join(s.reads, " "); got != "refresh" {
		t.Errorf("reads %s", got)
	}
	s.send(RefreshMsg{}) // the second round started after the request
	if got := strings.Join(s.reads, " "); got != "refresh refresh" {
		t.Errorf("reads %s", got)
	}
	s.reads = nil
	s.send(RefreshMsg{}, TradesMsg{Market: 7, AsOf: 1})
	s.send(press("down", "up", "x")...)
	if got := strings.Join(s.reads, " "); got != "trades trades" {
		t.Errorf("reads %s", got) // of markets 7 and 8
	}
}

// TestRefreshAfterAFailure checks that the next second refreshes after a disconnect and
// after a failed refresh.
func TestRefreshAfterAFailure(t *testing.T) {
	s := open(t)
	for _, msg := range []tea.Msg{DisconnectedMsg{errors.New("gone")}, RefreshMsg{Err: errors.New("draining")}} {
		s.send(msg, ClockMsg(noon))
		if !s.m.refreshing {
			t.Errorf("no refresh after %T", msg)
		}
		if s.send(ClockMsg(noon)); s.m.refreshAgain {
			t.Error("two refreshes overlap")
		}
		s.send(RefreshMsg{}, ClockMsg(noon))
		if s.m.refreshing {
			t.Error("a refresh without a reason")
		}
	}
}

// TestReconnect checks that everything is read anew once the stream is back, also if a read before that
// succeeded: what happened between the two is in neither.
func TestReconnect(t *testing.T) {
	s := busy(t).send(DisconnectedMsg{errors.New("gone")}, ClockMsg(noon), RefreshMsg{}, ClockMsg(noon))
	if s.m.refreshing {
		t.Error("a refresh without a reason")
	}
	s.reads = nil
	s.send(IndexMsg{Feed: 0, Price: 1}, ClockMsg(noon))
	if !s.m.refreshing {
		t.Error("no refresh after the stream is back")
	}
	if s.send(RefreshMsg{}); !slices.Contains(s.reads, "trades") {
		t.Errorf("reads %v, and no trades", s.reads)
	}
}

// TestTradesOfAnotherGeneration checks that the trades of an earlier life of a slot, which a read includes,
// are not shown.
func TestTradesOfAnotherGeneration(t *testing.T) {
	next := round(1, 7, 14, "trading", 65010_00)
	next.Generation = 2
	s := busy(t).send(RoundMsg(next), TradesMsg{Market: 7, AsOf: 150, Trades: []schemas.Trade{
		{Seq: 149, MarketID: 7, Generation: 2, TickYes: 3100, Qty: 1}, {Seq: 143, MarketID: 7, Generation: 1, TickYes: 5300, Qty: 10},
	}})
	if got := s.m.tradeLines(24, 9); len(got) != 1 || !strings.Contains(ansi.Strip(got[0]), "31¢") {
		t.Errorf("the trades are %q, want that of generation 2 alone, at 31 cents", got)
	}
}

// TestHelp checks that the help shows every key, and that any key leaves it without doing anything else.
func TestHelp(t *testing.T) {
	s := busy(t).send(press("?", "b")...)
	if s.m.help || s.m.ticket.phase != closed {
		t.Errorf("help %v, phase %d", s.m.help, s.m.ticket.phase)
	}
}

// TestQuit checks that q, escape and Ctrl-C quit, and the end of the stream.
func TestQuit(t *testing.T) {
	gone := errors.New("unauthorized")
	for _, msg := range []tea.Msg{tea.KeyPressMsg{Code: 'q', Text: "q"}, tea.KeyPressMsg{Code: tea.KeyEscape}, tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}, StreamEndedMsg{gone}} {
		next, cmd := open(t).m.Update(msg)
		if cmd == nil {
			t.Fatalf("%v does not quit", msg)
		}
		if _, quits := cmd().(tea.QuitMsg); !quits {
			t.Errorf("%v does not quit", msg)
		}
		_, failed := msg.(StreamEndedMsg)
		if err := next.(Model).Err(); (err != nil) != failed {
			t.Errorf("the error after %v: %v, want one: %t", msg, err, failed)
		}
	}
}

// TestUpdateDoesNotChangeItsModel checks that the screen of the old model stays the same.
func TestUpdateDoesNotChangeItsModel(t *testing.T) {
	s := busy(t)
	before := s.m.screen()
	old := s.m
	s.send(press("down")...)
	s.send(BookMsg{Market: 7, Seq: 200}, TradeMsg{Seq: 201, MarketID: 7, Generation: 1, TickYes: 100, Qty: 1}, RoundMsg(round(1, 7, 20, "trading", 1)), DisconnectedMsg{})
	if after := old.screen(); after != before {
		t.Errorf("the old model changed from\n%s\nto\n%s", before, after)
	}
}

// TestMessages checks the message of each type of event.
func TestMessages(t *testing.T) {
	s := client.Must(client.New("http://127.0.0.1:1", "k", make([]byte, schemas.SecretLen))).Stream(client.StreamOptions{})
	for _, c := range []struct {
		typ, msg string
		ok       func(tea.Msg) bool
	}{
		{"trade", `{"seq":"5","market_id":3,"tick_yes":4700}`, func(m tea.Msg) bool { t, is := m.(TradeMsg); return is && t.TickYes == 4700 }},
		{"oracle", `{"feed":2,"price":"7"}`, func(m tea.Msg) bool { t, is := m.(IndexMsg); return is && t.Price == 7 }},
		{"round", `{"market_id":3,"category":9}`, func(m tea.Msg) bool { r, is := m.(RoundMsg); return is && r.Category == 9 }},
		{"orderbook_delta", `{"market_id":3}`, func(m tea.Msg) bool { b, is := m.(BookMsg); return is && b.Market == 3 && !b.Known && b.Seq == 8 }},
		{"user", `{}`, func(m tea.Msg) bool { _, is := m.(AccountMsg); return is }},
		{"weather", `{}`, func(m tea.Msg) bool { return m == nil }},
	} {
		if m, err := eventMsg(s, client.StreamEvent{Type: c.typ, Seq: 8, Msg: json.RawMessage(c.msg)}); err != nil || !c.ok(m) {
			t.Errorf("an event %s becomes %#v, %v", c.typ, m, err)
		}
	}
	if _, err := eventMsg(s, client.StreamEvent{Type: "trade", Msg: []byte(`{"seq":true}`)}); err == nil {
		t.Error("a malformed trade returned no error")
	}
}
