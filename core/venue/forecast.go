package venue

import "duplex/core"

// forecast accepts a forecast or returns the first rule that refuses it, in the order of
// docs/rules/forecasts.md#order-of-checks. A paused market takes forecasts. The venue keeps
// nothing of it: the event is the record.
func (v *Venue) forecast(c *core.SubmitForecast) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	m, a := v.market(c.Market), &v.accounts[c.User]
	switch {
	case v.rules.Revision < core.RevisionForecasts || m == nil:
		return core.UnknownMarket
	case c.Generation != m.Generation:
		return core.StaleGeneration
	case a.Suspended || a.Agent != nil && v.suspended(a):
		return core.UserSuspended
	case m.Status != core.Trading || v.closed(m, v.now.Ts):
		return core.MarketNotTrading
	}
	v.ev.Add(&core.ForecastSubmitted{User: c.User, Market: c.Market, Generation: c.Generation, P: c.P})
	return core.OK
}
