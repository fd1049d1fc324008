package tools

import (
	"context"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// ReadRate is the read bucket's default, per second; its burst is twice that (spec
// 8). The others scale with volume.
const ReadRate = 100

// WriteRate is the effective write rate of an account: it grows with its trailing
// 30-day volume in shares. The cancel rate is twice as much, bursts equal rates.
func (t *Terms) WriteRate(volume core.Qty) int64 {
	return min(max(t.WriteCap, t.WriteFloor), t.WriteFloor+int64(volume)/t.UsdPerExtraRps)
}

// Volume30 is an account's trailing 30-day volume in shares.
func (v *Venue) Volume30(u core.UserID) (n core.Qty) {
	v.Engine.Read(func(_ *venue.Venue, w *view.View) { n = w.Volume30(u, v.Terms.Now()) })
	return n
}

var GetLimits = &Op[schemas.None, schemas.Limits]{
	Facts: Facts{
		Name: "get_limits", Title: "Scopes and rate limits", Method: "GET", Path: "/v1/account/limits", Scope: core.ScopeRead,
		Doc: "Your key's scopes, its three token buckets as granted now, the batch cap and the time a request may take. Read it once at start and after 429; not before every call.",
	},
	Do: func(_ context.Context, v *Venue, who Caller, _ *schemas.None) (schemas.Limits, error) {
		volume := v.Volume30(who.User)
		write := v.Terms.WriteRate(volume)
		return schemas.Limits{
			Scopes: who.Key.Scopes.Names(), Read: schemas.Bucket{SustainedRatePerS: v.Terms.ReadRate, Burst: 2 * v.Terms.ReadRate},
			Write: schemas.Bucket{SustainedRatePerS: write, Burst: write}, Cancel: schemas.Bucket{SustainedRatePerS: 2 * write, Burst: 2 * write},
			TrailingVolume30d: schemas.U64(volume), WriteFloor: v.Terms.WriteFloor, UsdPerExtraRps: v.Terms.UsdPerExtraRps,
			BatchCap: int64(v.Terms.BatchCap), ResponseBudgetMs: v.Terms.ResponseBudget,
		}, nil
	},
}
