package sim

import "duplex/core"

// once returns a decrease or a redeem with a client_request_id, of few so that they repeat.
func (w *workload) once() core.Command {
	id := uint64(1 + w.r.IntN(40))
	if w.r.IntN(3) == 0 {
		return &core.Redeem{User: w.user(), Market: w.market(), Qty: core.Qty(w.r.IntN(4)), RequestID: id}
	}
	x := w.order()
	return &core.DecreaseOrder{User: x.user, Order: x.order, Amount: core.Qty(w.r.IntN(4)), RequestID: id}
}

// group returns a command about the bound of a group.
func (w *workload) group() core.Command {
	u, id := w.user(), uint32(w.r.IntN(4))
	switch w.r.IntN(6) {
	case 0:
		return &core.ResetGroup{User: u, Group: id}
	case 1:
		return &core.DeleteGroup{User: u, Group: id}
	}
	return &core.SetGroup{User: u, Group: id, FillLimit: core.Qty(1 + w.r.IntN(60)), WindowMs: uint32(100 * (1 + w.r.IntN(50)))}
}
