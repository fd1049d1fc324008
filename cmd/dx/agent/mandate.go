package agent

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/trading"
	"duplex/schemas"
)

// mandateFlags are the bounds of a mandate (docs/rules/agent-accounts.md#mandate). A bound
// that is not given does not hold.
type mandateFlags struct {
	Preset          string               `help:"Begin with the bounds of a preset: careful, normal or loose. Other flags replace single bounds." enum:",careful,normal,loose" default:""`
	MaxDailyLoss    *cli.Amount          `help:"Most that it may lose in a UTC day, with what its open orders and positions can still lose." placeholder:"DOLLARS"`
	MaxOrderCost    *cli.Amount          `help:"Most that one order may cost, fees included." placeholder:"DOLLARS"`
	MaxMarketCost   *cli.Amount          `help:"Most that its open orders and positions in one market may cost." placeholder:"DOLLARS"`
	MaxOpenCost     *cli.Amount          `help:"Most that all its open orders and positions may cost." placeholder:"DOLLARS"`
	AskAbove        *cli.Amount          `help:"Most that it may have at stake in one round without asking you. An order above it waits until you decide with dx agent approve or reject." placeholder:"DOLLARS"`
	Series          []trading.SeriesFlag `help:"Trade only in these series, such as btc-60s." predictor:"series" placeholder:"NAME"`
	Collar          *int64               `help:"Buy at most so many pips above the best bid of others, and sell at most so many below their best ask; 100 pips are a cent." placeholder:"PIPS"`
	MaxOrderQty     *int64               `help:"Most contracts of one order." placeholder:"N"`
	MaxOpenOrders   *int64               `help:"Most orders that rest at once." placeholder:"N"`
	MaxOrdersPerDay *int64               `help:"Most orders in a UTC day." placeholder:"N"`
	ReduceOnly      bool                 `help:"Place only orders that reduce its positions."`
	Expires         lifetime             `help:"End after this time, such as 24h or 7d." placeholder:"TIME"`
}

// lifetime is a duration, in hours and minutes or in days.
type lifetime time.Duration

// UnmarshalText parses a duration such as 90m, 24h or 7d.
func (l *lifetime) UnmarshalText(text []byte) error {
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		n, err := cli.ParseUint(days, 16)
		*l = lifetime(time.Duration(n) * 24 * time.Hour)
		if err == nil && n > 0 {
			return nil
		}
	} else if d, err := time.ParseDuration(string(text)); err == nil && d > 0 {
		*l = lifetime(d)
		return nil
	}
	return errors.New("must be a time ahead, such as 90m, 24h or 7d")
}

// preset is a named mandate.
type preset struct {
	orderCost, openCost, dailyLoss cli.Amount
	collar                         int64
	expires                        lifetime
}

const day = 24 * lifetime(time.Hour)

// presets are the mandates of --preset; the dashboard has the same.
var presets = map[string]preset{
	"careful": {2 * cli.PipsPerDollar, 10 * cli.PipsPerDollar, 10 * cli.PipsPerDollar, 300, day},
	"normal":  {10 * cli.PipsPerDollar, 50 * cli.PipsPerDollar, 50 * cli.PipsPerDollar, 500, 7 * day},
	"loose":   {50 * cli.PipsPerDollar, 250 * cli.PipsPerDollar, 250 * cli.PipsPerDollar, 1000, 30 * day},
}

// mandate returns the mandate that the preset makes at a time.
func (p *preset) mandate(now time.Time) (m schemas.Mandate) {
	f := mandateFlags{MaxOrderCost: &p.orderCost, MaxOpenCost: &p.openCost, MaxDailyLoss: &p.dailyLoss, Collar: &p.collar, Expires: p.expires}
	f.set(&m, now)
	return m
}

// given reports whether the command names any bound.
func (f *mandateFlags) given() bool {
	return f.Preset != "" || f.MaxDailyLoss != nil || f.MaxOrderCost != nil || f.MaxMarketCost != nil || f.MaxOpenCost != nil || f.AskAbove != nil || len(f.Series) > 0 ||
		f.Collar != nil || f.MaxOrderQty != nil || f.MaxOpenOrders != nil || f.MaxOrdersPerDay != nil || f.ReduceOnly || f.Expires > 0
}

// apply changes a mandate to what the flags say: the preset without the removed bounds, then the single
// bounds. An error names the flag of a bound that the venue would reject.
func (f *mandateFlags) apply(m *schemas.Mandate, now time.Time, removed ...string) error {
	if p, ok := presets[f.Preset]; ok {
		*m = p.mandate(now)
	}
	for _, flag := range removed {
		removeBound(m, flag)
	}
	f.set(m, now)
	return checkMandate(m, now)
}

// set sets each bound that has a flag.
func (f *mandateFlags) set(m *schemas.Mandate, now time.Time) {
	for _, x := range []struct {
		field **schemas.U64
		flag  *cli.Amount
	}{{&m.MaxDailyLoss, f.MaxDailyLoss}, {&m.MaxOrderCost, f.MaxOrderCost}, {&m.MaxMarketCost, f.MaxMarketCost}, {&m.MaxOpenCost, f.MaxOpenCost}, {&m.AskAbove, f.AskAbove}} {
		if x.flag != nil {
			*x.field = schemas.Ptr(schemas.U64(*x.flag))
		}
	}
	for _, x := range []struct {
		field **schemas.Int
		flag  *int64
	}{{&m.PriceCollar, f.Collar}, {&m.MaxOrderQty, f.MaxOrderQty}, {&m.MaxOpenOrders, f.MaxOpenOrders}, {&m.MaxOrdersPerDay, f.MaxOrdersPerDay}} {
		if x.flag != nil {
			*x.field = schemas.Ptr(schemas.Int(*x.flag))
		}
	}
	if len(f.Series) > 0 {
		m.Categories = nil
		for _, s := range f.Series {
			m.Categories = append(m.Categories, schemas.Int(s.Category()))
		}
	}
	m.ReduceOnly = m.ReduceOnly || f.ReduceOnly
	if f.Expires > 0 {
		m.ExpiresTs = schemas.Ptr(schemas.U64(now.Add(time.Duration(f.Expires)).UnixNano()))
	}
}

// boundFlags are the flags of the fields of a mandate, in the order in which they are shown.
var boundFlags = []struct{ field, flag string }{
	{"max_daily_loss", "max-daily-loss"}, {"max_order_cost", "max-order-cost"}, {"max_market_cost", "max-market-cost"}, {"max_open_cost", "max-open-cost"}, {"ask_above", "ask-above"},
	{"categories", "series"}, {"price_collar", "collar"}, {"max_order_qty", "max-order-qty"}, {"max_open_orders", "max-open-orders"},
	{"max_orders_per_day", "max-orders-per-day"}, {"reduce_only", "reduce-only"}, {"expires_ts", "expires"},
}

// checkMandate makes the venue's check of a mandate (docs/rules/agent-accounts.md#mandate).
func checkMandate(m *schemas.Mandate, now time.Time) error {
	text, err := schemas.Append(nil, m)
	if err != nil {
		return err
	}
	if _, fault := schemas.DecodeMandate(text); fault != nil {
		field := strings.TrimPrefix(fault.Field, "mandate.")
		return badBound(field, fmt.Errorf("%s of the mandate must be %s", field, fault.Limit))
	}
	if m.ExpiresTs != nil && m.ExpiresTs.Int64() <= now.UnixNano() {
		return badBound("expires_ts", errors.New("expires_ts of the mandate must be a time ahead"))
	}
	return nil
}

// badBound returns the error of the flag that sets a field of a mandate.
func badBound(field string, err error) error {
	field, _, _ = strings.Cut(field, "[") // categories[1]
	for _, b := range boundFlags {
		if b.field == field {
			return cli.BadFlag(b.flag, err)
		}
	}
	return err
}

// removeBound removes the bound of a flag from a mandate. It reports false if there is no such
// flag.
func removeBound(m *schemas.Mandate, flag string) bool {
	switch strings.TrimPrefix(flag, "--") {
	case "max-daily-loss":
		m.MaxDailyLoss = nil
	case "max-order-cost":
		m.MaxOrderCost = nil
	case "max-market-cost":
		m.MaxMarketCost = nil
	case "max-open-cost":
		m.MaxOpenCost = nil
	case "ask-above":
		m.AskAbove = nil
	case "series":
		m.Categories = nil
	case "collar":
		m.PriceCollar = nil
	case "max-order-qty":
		m.MaxOrderQty = nil
	case "max-open-orders":
		m.MaxOpenOrders = nil
	case "max-orders-per-day":
		m.MaxOrdersPerDay = nil
	case "reduce-only":
		m.ReduceOnly = false
	case "expires":
		m.ExpiresTs = nil
	default:
		return false
	}
	return true
}

// describe returns the bounds of a mandate in words, one each.
func describe(m *schemas.Mandate, zone cli.Zone) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, x := range []struct {
		value *schemas.U64
		text  string
	}{
		{m.MaxDailyLoss, "loses at most %s a day"}, {m.MaxOrderCost, "pays at most %s for an order"},
		{m.MaxMarketCost, "has at most %s in one market"}, {m.MaxOpenCost, "has at most %s in open orders and positions"},
		{m.AskAbove, "asks you before it has more than %s at stake in one round"},
	} {
		if x.value != nil {
			add(x.text, cli.FormatDollars(x.value.Int64()))
		}
	}
	if len(m.Categories) > 0 {
		var names []string
		for _, c := range m.Categories {
			names = append(names, trading.SeriesName(uint16(c)))
		}
		add("trades only in %s", strings.Join(names, ", "))
	}
	if m.PriceCollar != nil {
		add("stays within %s pips of the best price of others", cli.Grouped(*m.PriceCollar))
	}
	if m.MaxOrderQty != nil {
		add("orders at most %s contracts at once", cli.Grouped(*m.MaxOrderQty))
	}
	if m.MaxOpenOrders != nil {
		add("has at most %s resting orders", cli.Grouped(*m.MaxOpenOrders))
	}
	if m.MaxOrdersPerDay != nil {
		add("places at most %s orders a day", cli.Grouped(*m.MaxOrdersPerDay))
	}
	if m.ReduceOnly {
		add("only reduces positions")
	}
	if m.ExpiresTs != nil {
		add("trades until %s %s", zone.Format(*m.ExpiresTs, time.DateTime), zone)
	}
	if len(lines) == 0 {
		add("has no bounds: it can lose all of its money")
	}
	return lines
}
