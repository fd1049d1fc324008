package venue

import "duplex/core"

// The fee of a fill is core.Fee, at the taker rate in force for the taker and at the rate pinned
// to the resting order for the maker (docs/rules/money.md#pinned-rates).

// setFees puts a fee schedule in force. Resting orders keep their maker rate
// (docs/rules/money.md#fee-schedule).
func (v *Venue) setFees(c *core.SetFees) core.Reject {
	if !c.Fees.Valid() {
		return core.BadFees
	}
	v.fees = c.Fees
	v.computeReservations()
	v.ev.Add(&core.FeesChanged{Fees: c.Fees})
	return core.OK
}

// computeReservations fills the table of what a buy reserves a contract at the taker rate.
func (v *Venue) computeReservations() {
	for t := core.TickMin; t <= core.TickMax; t++ {
		v.reservation[t] = core.ReservationPerContract(v.fees.Taker, t)
	}
}

// distributeFee pays the maker's rebate and the referrer's share out of a taker's fee
// (docs/rules/money.md#fee-shares).
func (v *Venue) distributeFee(f *core.Filled) {
	if f.TakerFee == 0 || v.fees.RebatePct == 0 && v.fees.ReferPct == 0 {
		return
	}
	if p := core.Percent(f.TakerFee, v.fees.RebatePct); p > 0 {
		f.Rebate = p
		v.ledger.PayFromFees(f.MakerUser, p, core.CauseRebate)
	}
	if ref := v.accounts[f.TakerUser].Referrer; ref != 0 {
		if p := core.Percent(f.TakerFee, v.fees.ReferPct); p > 0 {
			f.Referral, f.Referrer = p, ref
			v.ledger.PayFromFees(ref, p, core.CauseReferral)
		}
	}
}
