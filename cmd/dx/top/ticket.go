package top

import (
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/trading"
	"duplex/internal/address"
	"duplex/schemas"
)

// phase is how far a ticket is.
type phase int

const (
	closed     phase = iota
	editing          // the fields can be changed
	previewing       // the venue is asked what the order would do
	confirming       // waits for y
	sending          // waits for the result; keys do nothing
)

// ticket is an order, a redemption of pairs or a cancel-all that the user is about to send. It belongs to
// one round: if that ends, the ticket closes, but for a cancel in all markets. Only y or a second enter sends it, and
// only once.
type ticket struct {
	phase   phase
	cancel  bool  // cancels all orders in the market instead of placing one
	all     bool  // cancels those in every market
	pairs   int64 // redeems so many pairs instead of placing an order
	round   schemas.Round
	series  string
	side    string
	outcome string
	field   int       // the field that keys change
	fields  [2]string // contracts, and the limit in cents; "" is a market order
	given   bool      // the contracts are not those that the ticket opened with, which a digit replaces
	order   schemas.PlaceOrder
	text    string // the preview, or what is wrong
}

const (
	qtyField = iota
	priceField
)

const maxField = 7 // characters

// openTicket opens a ticket for the selected series.
func (m *Model) openTicket(side string) {
	m.openFor(ticket{phase: editing, side: side, outcome: "yes", fields: [2]string{"10", ""}})
}

// openClose closes what is held and free in the order of the trading screen: it asks whether to redeem the
// pairs, and without pairs it asks the venue what selling would do.
func (m Model) openClose() (tea.Model, tea.Cmd) {
	p := m.positionIn(&m.rows[m.selected])
	yes, no := p.YesQty-p.YesReserved, p.NoQty-p.NoReserved
	switch pairs := min(yes, no); {
	case yes+no == 0:
		m.message = fmt.Sprintf("You hold nothing free to sell in %s.", allSeries[m.selected])
		return m, nil
	case pairs > 0:
		m.openFor(ticket{phase: confirming, pairs: pairs})
		return m, nil
	}
	outcome := "yes"
	if no > 0 {
		outcome = "no"
	}
	m.openFor(ticket{phase: editing, side: "sell", outcome: outcome, fields: [2]string{fmt.Sprint(yes + no), ""}})
	if m.ticket.phase == closed {
		return m, nil
	}
	return m.onEditKey("enter")
}

// openCancel asks whether to cancel all orders in the market of the selected series, or in all markets.
func (m *Model) openCancel(all bool) {
	if !all {
		m.openFor(ticket{phase: confirming, cancel: true})
		return
	}
	n := len(m.account.Orders)
	if n == 0 {
		m.message = "You have no resting orders."
		return
	}
	m.tickets++
	m.message = ""
	m.ticket = ticket{phase: confirming, cancel: true, all: true, series: "all markets", text: fmt.Sprintf("Cancel your %s in all markets?", trading.Count(n, "resting order"))}
}

func (m *Model) openFor(t ticket) {
	r := &m.rows[m.selected].round
	t.round, t.series = *r, allSeries[m.selected].String()
	switch {
	case r.RoundNumber == 0 || r.Status != "trading" && !(t.cancel && r.Status == "frozen"):
		m.message = t.series + " has no round that trades now."
		return
	case t.cancel:
		here := 0
		for _, o := range m.account.Orders {
			if o.MarketID == r.MarketID {
				here++
			}
		}
		if here == 0 {
			m.message = fmt.Sprintf("You have no resting orders in %s.", t.series)
			return
		}
		t.text = fmt.Sprintf("Cancel your %s in %s?", trading.Count(here, "resting order"), t.series)
	case t.pairs > 0:
		t.text = fmt.Sprintf("Redeem %s of YES and NO in %s for %s?", trading.Count(int(t.pairs), "pair"), t.series, cli.FormatDollars(t.pairs*cli.PipsPerDollar))
	}
	m.tickets++
	m.ticket, m.message = t, ""
}

// expireTicket closes a ticket whose round no longer trades, unless it has been sent.
func (m *Model) expireTicket() {
	t := &m.ticket
	if t.phase == closed || t.phase == sending {
		return
	}
	for i := range m.rows {
		r := &m.rows[i].round
		if r.Category == t.round.Category && (r.RoundNumber != t.round.RoundNumber || r.Status != "trading" && !t.cancel) {
			m.message = fmt.Sprintf("The round of %s has ended. Nothing was sent.", t.series)
			m.ticket = ticket{}
		}
	}
}

// onTicketKey applies a key while a ticket is open.
func (m Model) onTicketKey(key tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	t := &m.ticket
	name := key.String()
	switch {
	case name == "ctrl+c":
		return m, tea.Quit
	case t.phase == sending:
		return m, nil
	case t.phase == confirming:
		return m.onConfirmKey(name, key.IsRepeat)
	case name == "esc":
		m.ticket, m.message = ticket{}, "Nothing was sent."
		return m, nil
	case t.phase == editing:
		return m.onEditKey(name)
	}
	return m, nil
}

// onConfirmKey sends the order on y or enter, but not on one that is held down.
func (m Model) onConfirmKey(name string, repeated bool) (tea.Model, tea.Cmd) {
	t, id := &m.ticket, m.tickets
	no := name == "n" || name == "esc"
	switch {
	case (name == "y" || name == "enter") && !repeated:
		t.phase = sending
		if t.cancel {
			market := t.round.MarketID
			return m, func() tea.Msg { return m.opt.CancelAll(id, market) }
		}
		if t.pairs > 0 {
			market, pairs := t.round.MarketID, t.pairs
			return m, func() tea.Msg { return m.opt.Redeem(id, market, pairs) }
		}
		order := t.order
		return m, func() tea.Msg { return m.opt.Place(id, order) }
	case no && t.cancel:
		m.ticket, m.message = ticket{}, "Nothing was canceled."
	case no && t.pairs > 0:
		m.ticket, m.message = ticket{}, "Nothing was redeemed."
	case no:
		t.phase, t.text = editing, ""
	}
	return m, nil
}

func (m Model) onEditKey(name string) (tea.Model, tea.Cmd) {
	t := &m.ticket
	field := &t.fields[t.field]
	switch {
	case name == "tab" || name == "shift+tab" || name == "up" || name == "down":
		t.field = 1 - t.field
	case name == "backspace":
		t.given = t.given || t.field == qtyField
		*field = (*field)[:max(len(*field)-1, 0)]
	case name == "b":
		t.side = "buy"
	case name == "s":
		t.side = "sell"
	case name == "y":
		t.outcome = "yes"
	case name == "n":
		t.outcome = "no"
	case name == "enter":
		order, err := m.buildOrder()
		if err != nil {
			t.text = address.RedactError(err)
			return m, nil
		}
		t.phase, t.text, t.order = previewing, "", order
		m.tickets++ // a preview of the order before it was edited no longer counts
		id := m.tickets
		return m, func() tea.Msg { return m.opt.Preview(id, order) }
	case len(name) == 1 && (name[0] >= '0' && name[0] <= '9' || name == "." && t.field == priceField):
		if t.field == qtyField && !t.given {
			*field, t.given = "", true
		}
		if len(*field) < maxField {
			*field += name
		}
	}
	return m, nil
}

// buildOrder returns the order of the ticket, without a client_order_id. It names the generation
// of its round, so that it cannot reach a later one.
func (m *Model) buildOrder() (o schemas.PlaceOrder, err error) {
	t := &m.ticket
	qty, err := cli.ParseWithin(t.fields[qtyField], 1, schemas.QtyMax)
	if err != nil {
		return o, fmt.Errorf("contracts: a whole number from 1 to %s", cli.Grouped(int64(schemas.QtyMax)))
	}
	o = schemas.PlaceOrder{MarketID: schemas.Int(t.round.MarketID), Generation: schemas.Int(t.round.Generation), Side: t.side, Outcome: t.outcome, Qty: schemas.Int(qty)}
	if t.fields[priceField] == "" {
		worst := m.worstPrice()
		if worst == 0 {
			return o, fmt.Errorf("nobody offers that now: give a limit price")
		}
		o.Type, o.WorstTick = "market", schemas.Ptr(schemas.Int(worst))
		if t.side == "buy" {
			o.MaxCost = schemas.U64(qty) * trading.MarketBuyCost
		}
		return o, nil
	}
	if o.Tick, err = trading.ParseLimit("limit", t.fields[priceField]); err != nil {
		return o, fmt.Errorf("limit: %w", errors.Unwrap(err))
	}
	return o, nil
}

// worstPrice is the worst price of a market order in pips of its outcome; 0 if there is no price.
func (m *Model) worstPrice() int64 {
	t := &m.ticket
	at := int(t.round.Category) - 1
	if at < 0 || at >= len(m.rows) {
		return 0
	}
	bid, ask := m.bestPrices(&m.rows[at])
	if t.outcome == "no" {
		bid, ask = opposite(ask), opposite(bid)
	}
	switch {
	case t.side == "buy" && ask > 0:
		return trading.Worst("buy", ask)
	case t.side == "sell" && bid > 0:
		return trading.Worst("sell", bid)
	}
	return 0
}

func opposite(pips int64) int64 {
	if pips == 0 {
		return 0
	}
	return 10_000 - pips
}

// previewAgain refreshes the preview of a ticket that waits for y, because the book moves.
func (m Model) previewAgain() tea.Cmd {
	if m.ticket.phase != confirming || m.ticket.cancel || m.ticket.pairs > 0 {
		return nil
	}
	id, order := m.tickets, m.ticket.order
	return func() tea.Msg { return m.opt.Preview(id, order) }
}

func (m *Model) onPreview(p PreviewMsg) {
	t := &m.ticket
	if p.Ticket != m.tickets || t.phase != previewing && t.phase != confirming {
		return
	}
	if p.Err != nil {
		t.phase, t.text = editing, cli.Explain(p.Err).Error()
		return
	}
	t.phase, t.order = confirming, p.Order
	t.text = trading.PreviewText(&p.Order, t.series, &p.Preview)
}

func (m *Model) onPlaced(p PlacedMsg) {
	m.onSent(p.Ticket, p.Err, trading.PlacedText(&p.Order, m.ticket.series, &p.Placed))
}

func (m *Model) onCanceled(c CanceledMsg) {
	m.onSent(c.Ticket, c.Err, fmt.Sprintf("Canceled all your orders in %s.", m.ticket.series))
}

func (m *Model) onRedeemed(r RedeemedMsg) {
	m.onSent(r.Ticket, r.Err, fmt.Sprintf("Redeemed %s in %s for %s. c sells what is left.", trading.Count(int(m.ticket.pairs), "pair"), m.ticket.series, cli.FormatDollars(m.ticket.pairs*cli.PipsPerDollar)))
}

// onSent closes the ticket that waits for a result, and shows the text of its success or its error.
func (m *Model) onSent(number int, err error, success string) {
	if number != m.tickets || m.ticket.phase != sending {
		return
	}
	m.ticket, m.message = ticket{}, success
	if err != nil {
		m.message = cli.Explain(err).Error()
	}
}

// ticketLines are the ticket: its fields, two lines of text or as many as it needs, and its keys, in at most most lines.
func (m *Model) ticketLines(most int) []string {
	t := &m.ticket
	first := bold.Render(" CANCEL") + " " + t.series
	switch {
	case t.pairs > 0:
		first = bold.Render(" REDEEM") + " " + t.series
	case !t.cancel:
		limit := "limit " + m.fieldText(priceField) + "¢"
		if t.fields[priceField] == "" {
			limit = "limit " + m.fieldText(priceField) + " at market"
			if worst := m.worstPrice(); worst > 0 {
				limit += fmt.Sprintf(", worst %s", trading.Cents(worst))
			}
		}
		first = fmt.Sprintf("%s %s %s in %s  contracts %s  %s", bold.Render(" TICKET"), t.side, outcomeStyle(t.outcome).Render(strings.ToUpper(t.outcome)), t.series, m.fieldText(qtyField), limit)
	}
	keys := map[phase]string{
		editing:    " b/s: buy or sell   y/n: YES or NO   tab: field   enter: preview   esc: close",
		previewing: " asking the venue …   esc: close",
		confirming: " y or enter: send it   n: no",
		sending:    " sent, waiting for the result …",
	}[t.phase]
	text := wrap(t.text, m.cols()-1, 2, most-2)
	style := cyan
	if t.phase == editing {
		style = red
	}
	lines := []string{truncate(first, m.cols())}
	for _, l := range text {
		lines = append(lines, " "+style.Render(l))
	}
	return append(lines, faint.Render(truncate(keys, m.cols())))
}

// fieldText is a field with a mark where keys are entered.
func (m *Model) fieldText(i int) string {
	t := &m.ticket
	if t.phase == editing && t.field == i {
		return inverted.Render("[" + t.fields[i] + "_]")
	}
	return "[" + t.fields[i] + "]"
}

// wrap breaks a text into lines of at most width characters: as many as it needs, but at least least, and at most most.
func wrap(text string, width, least, most int) []string {
	out := []string{""}
	for _, word := range strings.Fields(text) {
		if last := out[len(out)-1]; last != "" && len([]rune(last))+1+len([]rune(word)) > width && len(out) < most {
			out = append(out, "")
		}
		out[len(out)-1] = strings.TrimPrefix(out[len(out)-1]+" "+word, " ")
	}
	for i := range out {
		out[i] = truncate(out[i], width)
	}
	return append(out, make([]string, max(0, least-len(out)))...)
}
