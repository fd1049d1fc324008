package replica

import (
	"cmp"
	"slices"

	"duplex/core"
)

// firstReceipt is the receipt of a marked command whose repeat gets the first response, with the
// events that the response shows (docs/rules/accounts.md#exact-repeats). It belongs to no hash:
// every member derives it from the log, and a snapshot has it because the log before it is gone.
type firstReceipt struct {
	Stamp      core.Stamp
	Reject     core.Reject
	Decreased  *core.OrderDecreased    `cbor:",omitempty"`
	Closed     *core.OrderClosed       `cbor:",omitempty"`
	Withdrawal *core.WithdrawalChanged `cbor:",omitempty"`
	Forecast   *core.ForecastSubmitted `cbor:",omitempty"`
	Group      *core.GroupChanged      `cbor:",omitempty"`
	Quoted     *core.Quoted            `cbor:",omitempty"`
}

// keepReceipt keeps the receipt of a marked command at least as long as its mark. A placement, a
// replace and a cancel need none: their repeat is refused.
func (r *Replica) keepReceipt(a *Applied) {
	x := firstReceipt{Stamp: a.Stamp, Reject: a.Reject}
	switch a.Command.(type) {
	case *core.PlaceOrder, *core.CancelOrder, *core.ReplaceOrder:
		return
	case *core.DecreaseOrder, *core.RequestWithdrawal, *core.SubmitForecast, *core.SetGroup, *core.ResetGroup, *core.QuoteSide:
		for _, e := range a.Events {
			switch e := e.(type) {
			case *core.OrderDecreased:
				x.Decreased = e
			case *core.OrderClosed:
				x.Closed = e
			case *core.WithdrawalChanged:
				x.Withdrawal = e
			case *core.ForecastSubmitted:
				x.Forecast = e
			case *core.GroupChanged:
				x.Group = e
			case *core.Quoted:
				x.Quoted = e
			}
		}
	}
	// An image shares the list: it is only appended to, and cut at its front.
	list := r.State.Receipts
	for len(list) > 0 && a.Stamp.Ts-list[0].Stamp.Ts > (core.MarkAheadMs+core.MarkLateMs)*core.NsPerMs {
		list = list[1:]
	}
	r.State.Receipts = append(list, x)
}

// firstReceipt returns what the marked command with a seq did. ok is false if its receipt is not
// kept.
func (r *Replica) firstReceipt(seq uint64, cmd core.Command) (a Applied, ok bool) {
	i, ok := slices.BinarySearchFunc(r.State.Receipts, seq, func(x firstReceipt, seq uint64) int { return cmp.Compare(x.Stamp.Seq, seq) })
	if !ok {
		return a, false
	}
	x := &r.State.Receipts[i]
	a = Applied{Stamp: x.Stamp, Command: cmd, Reject: x.Reject}
	if x.Decreased != nil {
		a.Events = append(a.Events, x.Decreased)
	}
	if x.Closed != nil {
		a.Events = append(a.Events, x.Closed)
	}
	if x.Withdrawal != nil {
		a.Events = append(a.Events, x.Withdrawal)
	}
	if x.Forecast != nil {
		a.Events = append(a.Events, x.Forecast)
	}
	if x.Group != nil {
		a.Events = append(a.Events, x.Group)
	}
	if x.Quoted != nil {
		a.Events = append(a.Events, x.Quoted)
	}
	return a, true
}
