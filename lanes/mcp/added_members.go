package mcp

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// additions are members that a tool adds to the answer of its route, so that a model needs
// no second call and no arithmetic (docs/rules/agents.md#added-members).
type additions uint8

const (
	addRound    additions = 1 << iota // series, round_number
	addStrike                         // strike_decimal
	addAsset                          // asset
	addMoney                          // price of each fill; cost or proceeds; avg_price of a result with fills
	addForecast                       // p, p_percent
)

// rowRule says what a tool adds, and to which rows.
type rowRule struct {
	rows string // the member that holds the rows; "" if the result is the row
	add  additions
}

// rowRules are the rules of the tools that add members. The members that REST has already
// stay as they are.
var rowRules = map[string]rowRule{
	tools.PlaceOrder.Name:     {"", addRound | addStrike | addMoney},
	tools.PlaceOrders.Name:    {"results", addRound | addStrike | addMoney},
	tools.PreviewOrder.Name:   {"", addRound | addStrike | addMoney},
	tools.ReplaceOrder.Name:   {"", addRound | addStrike | addMoney},
	tools.SubmitForecast.Name: {"", addRound | addStrike | addForecast},
	tools.GetOrder.Name:       {"", addRound | addStrike},
	tools.GetMarket.Name:      {"", addRound | addStrike | addAsset},
	tools.ListMarkets.Name:    {"markets", addRound | addStrike | addAsset},
	tools.ListPositions.Name:  {"positions", addRound | addStrike},
	tools.GetPnL.Name:         {"positions", addRound | addStrike},
	tools.ListOrders.Name:     {"orders", addRound},
	tools.ListFills.Name:      {"fills", addRound | addMoney},
}

// members returns the names and types of the members, as an output schema has them.
func (a additions) members() (list members) {
	text, number := &schema{Type: "string"}, &schema{Type: "integer"}
	for _, x := range []struct {
		add  additions
		name string
		*schema
	}{
		{addRound, "series", text}, {addRound, "round_number", text}, {addStrike, "strike_decimal", text}, {addAsset, "asset", text},
		{addMoney, "cost", text}, {addMoney, "proceeds", text}, {addMoney, "avg_price", number},
		{addForecast, "p", number}, {addForecast, "p_percent", text},
	} {
		if a&x.add != 0 {
			list = append(list, namedSchema{x.name, x.schema})
		}
	}
	return list
}

// subject is what a row is about. A row without its market or side gets them from the input.
type subject struct {
	market        core.MarketID
	generation    uint32
	category      uint16
	number        uint64 // of the round
	side, outcome string
	p             schemas.Int // of a forecast
}

// subjectsOf returns the subjects that an input names, one for each of rows.
func (l *Lane) subjectsOf(c *call, in any, rows []row) []subject {
	of := func(p *schemas.PlaceOrder) subject {
		return subject{market: core.MarketID(p.MarketID), generation: uint32(p.Generation), side: p.Side, outcome: p.Outcome}
	}
	switch in := in.(type) {
	case *schemas.OrderArguments:
		return []subject{of(&in.PlaceOrder)}
	case *schemas.PlaceOrders:
		list := make([]subject, len(in.Orders))
		for i := range in.Orders {
			list[i] = of(&in.Orders[i])
		}
		return list
	case *schemas.ReplaceOrder:
		return []subject{l.subjectOfOrder(c, core.OrderID(rows[0].number("order_id")))}
	case *schemas.ForecastArguments:
		return []subject{{market: core.MarketID(in.MarketID), generation: uint32(in.Generation), p: in.P}}
	default:
		return nil
	}
}

// subjectOfOrder returns the subject of an order of the caller. The old order of a replace
// may be gone as soon as it has ended, so that the new one has to say what both are about.
func (l *Lane) subjectOfOrder(c *call, id core.OrderID) (s subject) {
	l.gate.Venue.Engine.Read(func(_ *venue.Venue, w *view.View) {
		if o := w.Order(c.Key.User, id); o != nil {
			s = subject{market: o.Market, generation: o.Generation, side: o.Side.String(), outcome: o.Outcome.String()}
		}
	})
	return s
}

// completeRows adds the members of the tool's rule to the rows of an answer, and leaves
// the defaults out of the rows of a page.
func (l *Lane) completeRows(c *call, t *tool, in any, answer jsontext.Value) jsontext.Value {
	if t.add == 0 && !t.paged {
		return answer
	}
	whole := parseRow(answer)
	rows := []row{whole}
	if t.rows != "" {
		rows = rows[:0]
		for _, x := range arrayItems(whole.value(t.rows)) {
			rows = append(rows, parseRow(x))
		}
	}
	if t.add != 0 {
		l.addMembers(t.add, rows, l.subjectsOf(c, in, rows))
	}
	if t.rows == "" {
		return rows[0].encode()
	}
	list := jsontext.Value{'['}
	for i, r := range rows {
		if i > 0 {
			list = append(list, ',')
		}
		if t.paged {
			r = r.withoutDefaults()
		}
		list = append(list, r.encode()...)
	}
	whole.set(t.rows, append(list, ']'))
	return whole.encode()
}

// addMembers adds members to rows. named are the subjects that the input names, if any.
func (l *Lane) addMembers(add additions, rows []row, named []subject) {
	subjects, rounds := make([]subject, len(rows)), map[roundKey]*core.Round{}
	for i, r := range rows {
		if i < len(named) {
			subjects[i] = named[i]
		}
		s := &subjects[i]
		s.readRow(r)
		if s.generation != 0 && (s.category == 0 || s.number == 0 || add&addStrike != 0) {
			rounds[s.round()] = nil
		}
	}
	findRounds(l.gate.Venue.Engine, rounds)
	for i := range rows {
		r, s := &rows[i], &subjects[i]
		if r.value("error") != nil { // a rejected item of a batch
			continue
		}
		s.addRound(r, add, rounds[s.round()])
		if add&addMoney != 0 && s.side != "" && r.value("approval_id") == nil { // what waits has no fill
			s.addMoney(r)
		}
		if add&addForecast != 0 {
			r.set("p", numberValue(uint64(s.p)))
			r.set("p_percent", textValue(fmt.Sprintf("%d.%02d", s.p/100, s.p%100)))
		}
	}
}

// roundKey names a round: the life of a slot.
type roundKey struct {
	market     core.MarketID
	generation uint32
}

func (s *subject) round() roundKey { return roundKey{s.market, s.generation} }

// readRow reads what the row itself says.
func (s *subject) readRow(r row) {
	if r.value("market_id") != nil {
		s.market, s.generation = core.MarketID(r.number("market_id")), uint32(r.number("generation"))
	}
	s.category, s.number = uint16(r.number("category")), r.number("round_number")
	if r.value("side") != nil {
		s.side, s.outcome = r.text("side"), r.text("outcome")
	}
}

// findRounds sets the rounds that memory keeps.
func findRounds(e *engine.Engine, wanted map[roundKey]*core.Round) {
	if len(wanted) == 0 {
		return
	}
	e.Read(func(_ *venue.Venue, w *view.View) {
		left := len(wanted)
		found := func(r *view.Round) {
			if x, ok := wanted[roundKey{r.Market, r.Generation}]; ok && x == nil {
				copied := r.Round
				wanted[roundKey{r.Market, r.Generation}] = &copied
				left--
			}
		}
		for k := range wanted { // most rows are of the newest round of their slot
			if r := w.Round(k.market); r != nil {
				found(r)
			}
		}
		for r := range w.Rounds(0) {
			if left == 0 {
				return
			}
			found(r)
		}
	})
}

// addRound adds the members about the round, as far as the row or the round, which may be
// nil, tells them.
func (s *subject) addRound(r *row, add additions, round *core.Round) {
	if round != nil {
		s.category, s.number = round.Category, round.Number
	}
	series, ok := core.SeriesOf(s.category)
	if ok {
		r.set("series", textValue(tools.SeriesName(series)))
	}
	if s.number != 0 {
		r.set("round_number", digitsValue(s.number))
	}
	if round != nil && add&addStrike != 0 {
		r.set("strike_decimal", textValue(schemas.Decimal(round.Strike).String()))
	}
	if ok && add&addAsset != 0 {
		r.set("asset", textValue(series.Feed.String()))
	}
}

// addMoney adds the price of each fill and what the fills cost or brought, fees included.
// The row is a fill, or has fills.
func (s *subject) addMoney(r *row) {
	var sum, qty uint64
	price := func(fill *row) {
		p := ownPrice(s.outcome, fill.number("tick_yes"))
		sum, qty = sum+p*fill.number("qty"), qty+fill.number("qty")
		fill.set("price", numberValue(p))
	}
	fills := r.value("fills")
	if fills == nil {
		price(r)
	} else {
		list := jsontext.Value{'['}
		for i, x := range arrayItems(fills) {
			if i > 0 {
				list = append(list, ',')
			}
			fill := parseRow(x)
			price(&fill)
			list = append(list, fill.encode()...)
		}
		r.set("fills", append(list, ']'))
	}
	if fee := r.number("fee"); s.side == core.Buy.String() {
		r.set("cost", digitsValue(sum+fee))
	} else {
		r.set("proceeds", digitsValue(sum-min(sum, fee)))
	}
	if fills != nil && qty > 0 {
		r.set("avg_price", numberValue(sum/qty))
	}
}

// ownPrice returns the price of an outcome, in pips, of a fill at a price of YES.
func ownPrice(outcome string, tickYes uint64) uint64 {
	if outcome == core.No.String() {
		return uint64(core.Payout) - tickYes
	}
	return tickYes
}
