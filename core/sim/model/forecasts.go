package model

import "duplex/core"

// Forecast is a forecast that the venue should accept: whose, of which life of which slot, and the
// probability of YES in basis points.
type Forecast struct {
	User       core.UserID
	Market     core.MarketID
	Generation uint32
	P          core.Probability
}

// forecast checks and records a forecast (docs/rules/forecasts.md#order-of-checks).
func (v *Venue) forecast(c *core.SubmitForecast) core.Reject {
	m, opened := v.markets[c.Market]
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case !opened || v.rules.Revision < core.RevisionForecasts:
		return core.UnknownMarket
	case m.Generation != c.Generation:
		return core.StaleGeneration
	case v.suspended(c.User):
		return core.UserSuspended
	case m.Status != core.Trading || v.now.Ts >= m.CloseTs:
		return core.MarketNotTrading
	}
	v.out.Forecast = &Forecast{c.User, c.Market, c.Generation, c.P}
	return core.OK
}
