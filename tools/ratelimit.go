package tools

import (
	"context"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// DefaultReadRate is the default of the read bucket, in tokens a second; its burst is
// twice that. The other buckets grow with volume.
const DefaultReadRate = 100

// WriteRate returns the write rate of an account, in tokens a second, for a 30-day volume
// in contracts. The cancel rate is twice as much. Both bursts equal their rates
// (docs/rules/limits.md#write-rate).
func (t *Config) WriteRate(volume core.Qty) int64 {
	return min(max(t.WriteCap, t.WriteFloor), t.WriteFloor+int64(volume)/t.UsdPerExtraRps)
}

// DefaultAccountRate is AccountRate where accounts are opened by others than the operator; it grows.
const DefaultAccountRate = 100

// SharedRate returns the write tokens a second that all keys of an account have together, of which each has
// a write rate; 0 is no such bound. The cancel rate is twice as much, and the bursts equal the rates
// (docs/rules/limits.md#account-rate).
func (t *Config) SharedRate(write int64) int64 {
	if t.AccountRateGrows {
		return max(t.AccountRate, write)
	}
	return t.AccountRate
}

// Volume30 returns the trailing 30-day volume of an account, in contracts.
func (v *Venue) Volume30(u core.UserID) (n core.Qty) {
	v.Engine.Read(func(_ *venue.Venue, w *view.View) { n = w.Volume30(u, v.Config.Now()) })
	return n
}

var GetLimits = &Op[schemas.None, schemas.Limits]{
	Spec: Spec{
		Name: "get_limits", Title: "Rate limits", Method: "GET", Path: "/v1/account/limits", Scope: core.ScopeRead,
		Doc: "Scopes and token buckets of your key; read it once.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, _ *schemas.None) (schemas.Limits, error) {
		volume := v.Volume30(caller.User)
		write := v.Config.WriteRate(volume)
		if shared := v.Config.SharedRate(write); shared > 0 {
			write = min(write, shared) // what one key can have, if the others of its account rest
		}
		return schemas.Limits{
			Scopes: caller.Key.Scopes.Names(), Read: schemas.Bucket{SustainedRatePerS: v.Config.ReadRate, Burst: 2 * v.Config.ReadRate},
			Write: schemas.Bucket{SustainedRatePerS: write, Burst: write}, Cancel: schemas.Bucket{SustainedRatePerS: 2 * write, Burst: 2 * write},
			TrailingVolume30d: schemas.U64(volume), WriteFloor: v.Config.WriteFloor, UsdPerExtraRps: v.Config.UsdPerExtraRps,
			BatchCap: schemas.BatchCap, ResponseBudgetMs: v.Config.ResponseBudget,
		}, nil
	},
}
