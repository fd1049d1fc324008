package venue

import (
	"testing"

	"duplex/core"
)

// forecastOf returns a forecast of user 1 in market 1, changed by change.
func forecastOf(change func(*core.SubmitForecast)) *core.SubmitForecast {
	c := &core.SubmitForecast{User: 1, Market: 1, Generation: 1, P: 6200}
	change(c)
	return c
}

// TestForecastChecks tests docs/rules/forecasts.md#order-of-checks: each reject, and that the earlier one
// counts of several.
func TestForecastChecks(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionNewest)
	want := func(why string, c *core.SubmitForecast, want core.Reject) {
		t.Helper()
		if r := v.do(c); r != want {
			t.Errorf("%s: %v, want %v", why, r, want)
		}
		if n := len(v.ev.List); (n == 1) != (want == core.OK) || n > 1 {
			t.Errorf("%s: events %+v", why, v.ev.List)
		}
	}
	same := func(*core.SubmitForecast) {}
	want("accepted", forecastOf(same), core.OK)
	if e := v.ev.List[0].(*core.ForecastSubmitted); *e != (core.ForecastSubmitted{User: 1, Market: 1, Generation: 1, P: 6200}) {
		t.Errorf("the event is %+v, want the forecast 6200 of account 1 for generation 1", e)
	}
	want("no account", forecastOf(func(c *core.SubmitForecast) { c.User = 99 }), core.UnknownUser)
	want("no market", forecastOf(func(c *core.SubmitForecast) { c.Market = 30 }), core.UnknownMarket)
	want("no slot", forecastOf(func(c *core.SubmitForecast) { c.Market = 1 << 20 }), core.UnknownMarket)
	want("an earlier life", forecastOf(func(c *core.SubmitForecast) { c.Generation = 0 }), core.StaleGeneration)
	want("a later life", forecastOf(func(c *core.SubmitForecast) { c.Generation = 2 }), core.StaleGeneration)
	v.must(&core.PauseMarket{Market: 1})
	want("paused", forecastOf(same), core.OK)
	v.must(&core.SuspendUser{User: 1})
	want("suspended, earlier life", forecastOf(func(c *core.SubmitForecast) { c.Generation = 2 }), core.StaleGeneration)
	want("suspended", forecastOf(same), core.UserSuspended)
	m, _ := v.Market(1)
	v.st.Ts = m.CloseTs - 2 // the command is stamped one later
	v.must(&core.SuspendUser{User: 1, Lift: true})
	v.st.Ts = m.CloseTs - 2
	want("in the last moment", forecastOf(same), core.OK)
	want("at the close, before the freeze", forecastOf(same), core.MarketNotTrading)
	v.must(&core.SuspendUser{User: 1})
	want("suspended after the close", forecastOf(same), core.UserSuspended)
	v.must(&core.SuspendUser{User: 1, Lift: true})
	v.must(&core.Clock{})
	want("frozen", forecastOf(same), core.MarketNotTrading)
	v.must(&core.VoidMarket{Market: 1})
	want("void", forecastOf(same), core.MarketNotTrading)
}

// TestForecastRevision tests that an older revision knows no forecasts.
func TestForecastRevision(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionReplace)
	if r := v.do(forecastOf(func(*core.SubmitForecast) {})); r != core.UnknownMarket {
		t.Errorf("revision %d: %v", core.RevisionReplace, r)
	}
	v.must(&core.ActivateRules{Revision: core.RevisionForecasts})
	v.must(forecastOf(func(*core.SubmitForecast) {}))
}

// TestForecastChangesNothing tests that a venue has the same state after a forecast as after a command
// that does nothing (docs/rules/forecasts.md#fields).
func TestForecastChangesNothing(t *testing.T) {
	a, b := newReplaceVenue(t, core.RevisionNewest), newReplaceVenue(t, core.RevisionNewest)
	for i := range 50 {
		a.must(forecastOf(func(c *core.SubmitForecast) { c.User, c.P = core.UserID(1+i%3), core.Probability(200*i) }))
		b.must(&core.Attest{})
	}
	got, err := a.Hash()
	if err != nil {
		t.Fatal(err)
	}
	if want, err := b.Hash(); err != nil || got != want {
		t.Errorf("state %x after forecasts, %x without them, %v", got, want, err)
	}
}
