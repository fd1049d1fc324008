package top

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"duplex/client"
	"duplex/schemas"
)

// play sends keys, and passes the results of what they request to the model.
func (s *stage) play(keys ...string) *stage {
	for _, key := range press(keys...) {
		next, cmd := s.m.Update(key)
		s.m = next.(Model)
		for cmd != nil {
			msg := cmd()
			if msg == nil {
				break
			}
			next, cmd = s.m.Update(msg)
			s.m = next.(Model)
		}
	}
	return s
}

// TestTicketSendsOnce checks that an order is previewed, sent on y alone and once, for the round of
// the ticket, with one client_order_id.
func TestTicketSendsOnce(t *testing.T) {
	s := busy(t).play("b", "n", "backspace", "tab", "4", "6", "enter")
	if s.m.ticket.phase != confirming || len(s.sent) != 0 {
		t.Fatalf("phase %d, sent %v", s.m.ticket.phase, s.sent)
	}
	id := s.m.ticket.order.ClientOrderID
	if s.play("b", "down", "space"); len(s.sent) != 0 || s.m.ticket.phase != confirming {
		t.Fatalf("a key other than y and enter sent %v", s.sent)
	}
	for _, held := range []tea.KeyPressMsg{{Code: 'y', Text: "y", IsRepeat: true}, {Code: tea.KeyEnter, IsRepeat: true}} {
		if next, _ := s.m.Update(held); next.(Model).ticket.phase != confirming {
			t.Errorf("a held %s sent the order", held)
		}
	}
	if s := busy(t).play("b", "enter", "enter"); s.m.ticket.phase != closed || len(s.sent) != 1 {
		t.Errorf("enter sent %v, want the order", s.sent)
	}
	next, send := s.m.Update(press("y")[0])
	s.m = next.(Model)
	s.play("y", "y", "esc", "n") // while it is under way
	if s.m.ticket.phase != sending {
		t.Fatalf("phase %d while the order is under way", s.m.ticket.phase)
	}
	s.send(send())
	s.play("y", "enter")
	want := schemas.PlaceOrder{ClientOrderID: id, MarketID: 7, Generation: 1, Side: "buy", Outcome: "no", Tick: schemas.Ptr(schemas.Int(4600)), Qty: 1}
	if len(s.sent) != 1 || fmt.Sprint(*s.sent[0].Tick, s.sent[0].ClientOrderID, s.sent[0].MarketID, s.sent[0].Generation, s.sent[0].Side, s.sent[0].Outcome, s.sent[0].Qty) != fmt.Sprint(*want.Tick, id, 7, 1, "buy", "no", 1) || id == 0 {
		t.Fatalf("sent %+v, want %+v", s.sent, want)
	}
	if s.m.ticket.phase != closed || !strings.Contains(s.m.message, "Order 0.") {
		t.Errorf("phase %d, message %q", s.m.ticket.phase, s.m.message)
	}
}

// TestTicketOfARoundThatEnds checks that a ticket closes with its round, unless it was sent.
func TestTicketOfARoundThatEnds(t *testing.T) {
	frozen, next := round(1, 7, 12, "frozen", 65000_10), round(1, 2, 14, "trading", 65000_10)
	for _, r := range []schemas.Round{frozen, next} {
		for _, keys := range [][]string{{"b"}, {"b", "enter"}} {
			s := busy(t).play(keys...)
			s.send(RoundMsg(round(2, 3, 15, "trading", 1))) // of another series
			if s.m.ticket.phase == closed {
				t.Fatal("the ticket closed with another series' round")
			}
			s.send(RoundMsg(r))
			if s.play("y"); s.m.ticket.phase != closed || len(s.sent) != 0 || !strings.Contains(s.m.message, "Nothing was sent") {
				t.Errorf("%v: phase %d, sent %v, message %q", keys, s.m.ticket.phase, s.sent, s.m.message)
			}
		}
	}
	s := busy(t).play("b", "enter")
	s.m.ticket.phase = sending
	if s.send(RoundMsg(frozen)); s.m.ticket.phase != sending {
		t.Error("an order under way was forgotten")
	}
	if s := busy(t).play("j", "j", "b"); s.m.ticket.phase != closed || s.m.message != "BTC 15m has no round that trades now." {
		t.Errorf("a ticket without a round: %q", s.m.message)
	}
}

// TestTicketFields checks the order of a ticket, or what it says is wrong.
func TestTicketFields(t *testing.T) {
	for _, c := range []struct {
		keys string
		want string // side outcome qty type tick worst max_cost, or part of the text
	}{
		{"b enter", "buy yes 10 market - 5600 103000"},
		{"b n enter", "buy no 10 market - 5000 103000"},
		{"s enter", "sell yes 10 market - 5000 0"},
		{"s n enter", "sell no 10 market - 4400 0"},
		{"s b s 5 enter", "sell yes 5 market - 5000 0"},
		{"b 1 0 enter", "buy yes 10 market - 5600 103000"},
		{"b backspace 5 enter", "buy yes 15 market - 5600 154500"},
		{"b tab tab 2 5 enter", "buy yes 25 market - 5600 257500"},
		{"b enter n 3 enter", "buy yes 3 market - 5600 30900"},
		{"b tab 3 . 5 enter", "buy yes 10  350 - 0"},
		{"b down 9 9 backspace x ! enter", "buy yes 10  900 - 0"},
		{"b . enter", "buy yes 10 market - 5600 103000"},
		{"b backspace backspace backspace enter", "contracts: a whole number"},
		{"b 0 enter", "contracts: a whole number from 1 to 1,000,000"},
		{"b 1 0 0 0 0 0 1 enter", "contracts: a whole number from 1 to 1,000,000"},
		{"b tab 1 0 0 enter", "limit: prices are in cents"},
		{"b tab 5 0 . 5 enter", "limit: prices are 1 to 99.9 cents"},
		{"b tab . . enter", "limit: prices are in cents"},
		{"j b enter", "nobody offers that now"},
	} {
		s := busy(t).play(strings.Fields(c.keys)...)
		o := s.m.ticket.order
		got := fmt.Sprintf("%s %s %d %s %s %s %d", o.Side, o.Outcome, o.Qty, o.Type, number(o.Tick), number(o.WorstTick), o.MaxCost)
		if s.m.ticket.phase == editing {
			got = s.m.ticket.text
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.keys, got, c.want)
		}
	}
	if s := busy(t).play("b", "1", "1", "1", "1", "1", "1", "1", "1"); len(s.m.ticket.fields[qtyField]) != maxField {
		t.Errorf("the field has %q", s.m.ticket.fields[qtyField])
	}
}

func number(n *schemas.Int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// TestPreviews checks that the preview of a ticket follows the book while it waits for y, that a
// rejected one can be edited, and that those of earlier tickets are ignored.
func TestPreviews(t *testing.T) {
	s := busy(t)
	if s.m.previewAgain() != nil {
		t.Error("a preview without a ticket")
	}
	s.play("b", "enter")
	again := s.m.previewAgain()
	if again == nil {
		t.Fatal("the preview does not follow the book")
	}
	id := s.m.ticket.order.ClientOrderID
	s.send(again())
	if s.m.ticket.order.ClientOrderID != id {
		t.Error("another preview changed the client_order_id")
	}
	s.send(PreviewMsg{Ticket: s.m.tickets - 1, Err: errors.New("late")})
	if s.m.ticket.phase != confirming {
		t.Error("a late preview counted")
	}
	s.send(PreviewMsg{Ticket: s.m.tickets, Err: errors.New("draining")})
	if s.m.ticket.phase != editing || s.m.ticket.text != "draining" {
		t.Errorf("the ticket after a failed preview: %+v, want editing, with the error", s.m.ticket)
	}
	if s.play("esc"); s.m.ticket.phase != closed || s.m.message != "Nothing was sent." {
		t.Errorf("the ticket after esc: %+v %q, want it closed and nothing sent", s.m.ticket, s.m.message)
	}
	if s.play("b", "enter", "n"); s.m.ticket.phase != editing {
		t.Errorf("the ticket after n: %+v, want editing", s.m.ticket)
	}
	late := s.m.tickets
	s.play("tab", "4", "enter")
	if s.send(PreviewMsg{Ticket: late, Order: schemas.PlaceOrder{Qty: 99}}); s.m.ticket.order.Qty == 99 {
		t.Error("the preview of the order before it was edited replaced it")
	}
	s.m.ticket.phase = sending
	if s.send(PlacedMsg{Ticket: s.m.tickets, Err: errors.New("market_paused")}); s.m.ticket.phase != closed || s.m.message != "market_paused" {
		t.Errorf("the ticket after a failed order: %+v %q, want it closed, with the error", s.m.ticket, s.m.message)
	}
}

// TestTicketThatWaits checks that an order that waits for its owner is not shown as placed.
func TestTicketThatWaits(t *testing.T) {
	s := busy(t).play("b", "enter")
	s.m.ticket.phase = sending
	done := PlacedMsg{Ticket: s.m.tickets}
	done.Placed.Await(&schemas.Waiting{Status: "waiting", ApprovalID: 9, Cost: 20_000, ExpiresTs: 1_800_000_060_000_000_000, ApproveURL: "http://portal/#/approvals/9"})
	const want = "Not placed yet: it waits for its owner until 08:01:00 UTC, who decides at http://portal/#/approvals/9 (approval 9). It would cost at most $2.00."
	if s.send(done); s.m.ticket.phase != closed || s.m.message != want {
		t.Errorf("phase %d, message %q, want %q", s.m.ticket.phase, s.m.message, want)
	}
}

// TestCancelAll checks that x asks, and cancels in the selected market only.
func TestCancelAll(t *testing.T) {
	s := busy(t).play("x", "n")
	if len(s.canceled) != 0 || s.m.message != "Nothing was canceled." {
		t.Errorf("x, n cancels %v, says %q, want nothing canceled", s.canceled, s.m.message)
	}
	if s.play("x", "y"); !slices.Equal(s.canceled, []uint32{7}) || s.m.message != "Canceled all your orders in BTC 60s." || s.m.ticket.phase != closed {
		t.Errorf("x, y cancels %v, says %q, want market 7 alone, and the ticket closed", s.canceled, s.m.message)
	}
	s.send(AccountMsg{})
	if s.play("x", "y"); len(s.canceled) != 1 || s.m.message != "You have no resting orders in BTC 60s." {
		t.Errorf("x, y without orders cancels %v in all, says %q, want no second cancel", s.canceled, s.m.message)
	}
	s = busy(t).play("j", "j", "X") // in a series without a round
	if s.m.ticket.text != "Cancel your 3 resting orders in all markets?" {
		t.Errorf("X asks %q", s.m.ticket.text)
	}
	s.send(RoundMsg(round(1, 2, 14, "trading", 65000_10))) // it is about no round
	if s.play("enter"); !slices.Equal(s.canceled, []uint32{0}) || s.m.message != "Canceled all your orders in all markets." {
		t.Errorf("X, enter cancels %v, says %q, want all markets", s.canceled, s.m.message)
	}
	if s.send(AccountMsg{}).play("X"); s.m.message != "You have no resting orders." || s.m.ticket.phase != closed {
		t.Errorf("X without orders says %q", s.m.message)
	}
	s = busy(t).play("x")
	s.m.ticket.phase = sending
	if s.send(CanceledMsg{s.m.tickets, errors.New("draining")}); s.m.message != "draining" {
		t.Error(s.m.message)
	}
}

// TestTicketKeysQuit checks that Ctrl-C quits at every phase of a ticket, and q at none.
func TestTicketKeysQuit(t *testing.T) {
	for _, keys := range [][]string{{"b"}, {"b", "enter"}} {
		s := busy(t).play(keys...)
		if s.play("q"); s.m.ticket.phase == closed {
			t.Error("q closed a ticket")
		}
		_, cmd := s.m.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
		if cmd == nil {
			t.Fatal("Ctrl-C does not quit")
		}
		if _, quits := cmd().(tea.QuitMsg); !quits {
			t.Error("Ctrl-C does not quit")
		}
	}
}

// TestResults checks that the results of a series are in order, once each, and bounded.
func TestResults(t *testing.T) {
	s := open(t)
	for _, n := range []schemas.U64{5, 9, 7, 9, 2} {
		s.send(RoundMsg(past(1, n, "yes")))
	}
	s.send(RoundMsg(past(1, 9, "no")), RoundMsg(round(1, 7, 11, "trading", 1)), RoundMsg(past(77, 3, "yes")))
	var got []schemas.U64
	for _, r := range s.m.rows[0].results {
		got = append(got, r.RoundNumber)
	}
	if !slices.Equal(got, []schemas.U64{9, 7, 5, 2}) || ansi.Strip(s.m.rows[0].resultLetters(3)) != "NYY" {
		t.Errorf("the results are %v %s, want rounds 9, 7, 5, 2 as NYYY", got, s.m.rows[0].resultLetters(9))
	}
	for n := range schemas.U64(2 * maxRounds) {
		s.send(RoundMsg(past(1, 20+n, "yes")))
	}
	if n := len(s.m.rows[0].results); n != maxRounds {
		t.Errorf("%d results are kept", n)
	}
}

// TestChance checks the number that the page shows: what others quote makes it, own orders do not.
func TestChance(t *testing.T) {
	for _, c := range []struct {
		yes, no []schemas.Level
		own     []schemas.Order
		want    string
	}{
		{[]schemas.Level{{5200, 1}}, []schemas.Level{{4600, 1}}, nil, "53.0%"},
		{[]schemas.Level{{9840, 1}}, nil, nil, "≥98.4%"},
		{nil, []schemas.Level{{9860, 1}}, nil, "≤1.4%"},
		{nil, nil, nil, "-"},
		{[]schemas.Level{{4700, 1}}, []schemas.Level{{5200, 1}}, nil, "47.5%"},
		{[]schemas.Level{{9780, 1}}, []schemas.Level{{110, 1}}, nil, "98.4%"}, // 98.35
		{[]schemas.Level{{5200, 3}, {5000, 1}}, []schemas.Level{{4600, 3}}, []schemas.Order{{MarketID: 7, Side: "buy", Outcome: "yes", Tick: 5200, RemainingQty: 2}}, "53.0%"},
		{[]schemas.Level{{5200, 3}, {5000, 1}}, []schemas.Level{{4600, 3}}, []schemas.Order{{MarketID: 7, Side: "buy", Outcome: "yes", Tick: 5200, RemainingQty: 3}}, "52.0%"},
		{[]schemas.Level{{100, 5}}, []schemas.Level{{100, 5}}, []schemas.Order{{MarketID: 7, Side: "buy", Outcome: "yes", Tick: 100, RemainingQty: 5}, {MarketID: 7, Side: "sell", Outcome: "yes", Tick: 9900, RemainingQty: 5}}, "-"},
		{[]schemas.Level{{100, 5}}, nil, []schemas.Order{{MarketID: 3, Side: "buy", Outcome: "yes", Tick: 100, RemainingQty: 5}}, "≥1.0%"},
	} {
		own := map[schemas.U64]schemas.Order{}
		for i, o := range c.own {
			o.OrderID = schemas.Ptr(schemas.U64(i))
			own[schemas.U64(i)] = o
		}
		s := busy(t).send(AccountMsg{Orders: own}, BookMsg{Market: 7, Seq: 200, Known: true, Book: schemas.WSBook{MarketID: 7, Generation: 1, Yes: c.yes, No: c.no}})
		if got, _ := s.m.chance(&s.m.rows[0]); got != c.want {
			t.Errorf("%v %v %v: %s, want %s", c.yes, c.no, c.own, got, c.want)
		}
	}
}

// TestClose checks that c asks to redeem the pairs that are held and free, then to sell the rest, and that
// nothing held opens no ticket.
func TestClose(t *testing.T) {
	s := busy(t).play("c", "n") // holds 40 YES and 2 NO
	if len(s.redeemed) != 0 || s.m.message != "Nothing was redeemed." || s.m.ticket.phase != closed {
		t.Errorf("c, n redeems %v, says %q, want nothing redeemed, and the ticket closed", s.redeemed, s.m.message)
	}
	if s.play("c"); s.m.ticket.text != "Redeem 2 pairs of YES and NO in BTC 60s for $2.00?" || s.m.previewAgain() != nil {
		t.Errorf("c asks %q, want 2 pairs for $2.00, and no preview", s.m.ticket.text)
	}
	if s.play("y"); !slices.Equal(s.redeemed, [][2]int64{{7, 2}}) || len(s.sent) != 0 || s.m.message != "Redeemed 2 pairs in BTC 60s for $2.00. c sells what is left." {
		t.Errorf("y redeems %v, sends %v, says %q, want 2 pairs of market 7 and no order", s.redeemed, s.sent, s.m.message)
	}
	holds := func(p schemas.Position) {
		p.MarketID, p.Generation = 7, 1
		s.send(AccountMsg{Positions: map[uint32]schemas.Position{7: p}})
	}
	holds(schemas.Position{YesQty: 38})
	s.play("c")
	o := s.m.ticket.order
	if s.m.ticket.phase != confirming || *o.WorstTick != 5000 {
		t.Fatalf("phase %d, %+v, want a sale to confirm, at 5000 or better", s.m.ticket.phase, o)
	}
	if o.Side != "sell" || o.Outcome != "yes" || o.Qty != 38 {
		t.Fatalf("the order is %+v, want a sale of 38 YES", o)
	}
	if s.play("y"); len(s.sent) != 1 {
		t.Errorf("sent %v", s.sent)
	}
	holds(schemas.Position{YesQty: 40, YesReserved: 40, NoQty: 2})
	if s.play("c"); s.m.ticket.outcome != "no" || s.m.ticket.order.Qty != 2 {
		t.Errorf("c with YES all reserved: %+v, want a sale of 2 NO", s.m.ticket)
	}
	if s := busy(t).play("j", "c"); s.m.ticket.phase != closed || s.m.message != "You hold nothing free to sell in BTC 5m." {
		t.Errorf("phase %d, %q", s.m.ticket.phase, s.m.message)
	}
	s = busy(t).play("c")
	s.m.ticket.phase = sending
	if s.send(RedeemedMsg{s.m.tickets, errors.New("draining")}); s.m.message != "draining" || s.m.ticket.phase != closed {
		t.Errorf("after a failed redemption: %q, want the error and the ticket closed", s.m.message)
	}
}

// TestNoPreviewIsCut checks that all of a preview is on the screen, whatever its size: the next key sends the order.
func TestNoPreviewIsCut(t *testing.T) {
	long := schemas.Preview{Status: "partially_filled", NeedsApproval: true, Fills: []schemas.OutcomeFill{{TickYes: 5450, Qty: 600_000}, {TickYes: 5590, Qty: 399_998}}, Fee: 123_456_789, WorstLoss: 5_876_543_211, BestPayout: 9_999_990_000, CashAfter: 987_654_321_098}
	rejected := &client.Error{Wire: schemas.ErrorOf("mandate_violation"), Status: 403}
	rejected.Details = &schemas.Details{"rule": "ask_above", "used": "123456789", "asked": "987654321", "limit": "100000"}
	for _, c := range []struct {
		width, height int
		members       bool
	}{{80, 18, false}, {80, 18, true}, {80, 24, false}, {80, 24, true}, {100, 24, true}, {160, 18, true}, {160, 50, true}} {
		for _, p := range []PreviewMsg{
			{Order: schemas.PlaceOrder{Side: "buy", Outcome: "yes", Qty: 1_000_000, Tick: schemas.Ptr(schemas.Int(5590)), WorstTick: schemas.Ptr(schemas.Int(5590))}, Preview: long},
			{Order: schemas.PlaceOrder{Side: "sell", Outcome: "yes", Qty: 1_500, WorstTick: schemas.Ptr(schemas.Int(4550))}, Preview: schemas.Preview{Status: "executed", Fills: []schemas.OutcomeFill{{TickYes: 4700, Qty: 1_500}}, Fee: 62_212, WorstLoss: 2_931_234, CashAfter: 99_884_778}},
			{Err: rejected},
		} {
			s := busy(t).send(tea.WindowSizeMsg{Width: c.width, Height: c.height})
			if c.members {
				s.send(threeMembers)
			}
			s.play("b", "enter")
			p.Ticket = s.m.tickets
			s.send(p)
			screen := ansi.Strip(s.m.screen())
			if !strings.Contains(strings.Join(strings.Fields(screen), " "), strings.Join(strings.Fields(s.m.ticket.text), " ")) || len(s.m.ticket.text) < 100 {
				t.Errorf("%d by %d: not all of %q in\n%s", c.width, c.height, s.m.ticket.text, screen)
			}
			if n := strings.Count(screen, "\n") + 1; n != c.height {
				t.Errorf("%d by %d: %d lines", c.width, c.height, n)
			}
		}
	}
}

// TestMessageOfALongOrder checks that what an order did is not cut either.
func TestMessageOfALongOrder(t *testing.T) {
	s := busy(t).play("b", "enter")
	s.m.ticket.phase = sending
	s.send(PlacedMsg{Ticket: s.m.tickets, Order: schemas.PlaceOrder{Side: "buy", Outcome: "yes", Qty: 1_500, WorstTick: schemas.Ptr(schemas.Int(5590))}, Placed: schemas.Placed{Outcome: schemas.Outcome{OrderID: 12345, Status: "executed", FilledQty: 1_500, Fills: []schemas.OutcomeFill{{TickYes: 5450, Qty: 1_500}}, Fee: 62_212}}})
	const want = "Bought 1,500 YES in BTC 60s at 54.5¢ for $817.50, plus a fee of $6.2212. Highest price: 55.9¢. Order 12345."
	if screen := strings.Join(strings.Fields(ansi.Strip(s.m.screen())), " "); s.m.message != want || !strings.Contains(screen, want) {
		t.Errorf("%q, and on the screen\n%s", s.m.message, screen)
	}
}
