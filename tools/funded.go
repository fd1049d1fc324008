package tools

import (
	"sync"
	"sync/atomic"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// fundedAccounts remembers accounts that have held money, a bit each, which they have for good. It is safe for
// concurrent use, and a reader takes no lock.
type fundedAccounts struct {
	bits atomic.Pointer[[]atomic.Uint64]
	mu   sync.Mutex // of add
}

func (f *fundedAccounts) has(u core.UserID) bool {
	bits := f.bits.Load()
	return bits != nil && int(u/64) < len(*bits) && (*bits)[u/64].Load()>>(u%64)&1 != 0
}

func (f *fundedAccounts) add(u core.UserID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var bits []atomic.Uint64
	if p := f.bits.Load(); p != nil {
		bits = *p
	}
	if int(u/64) >= len(bits) {
		grown := make([]atomic.Uint64, max(int(u/64)+1, 2*len(bits)))
		for i := range bits {
			grown[i].Store(bits[i].Load())
		}
		bits = grown
	}
	bits[u/64].Or(1 << (u % 64))
	f.bits.Store(&bits)
}

// unfunded reports whether an account has never held money, so that every placement of it is rejected
// (docs/rules/orders.md#accounts-without-money). A member may not have applied its latest deposit, and never
// reports so.
func (v *Venue) unfunded(u core.UserID) bool {
	if v.funded.has(u) || v.Engine.SendsMarks() {
		return false
	}
	held := false
	v.Engine.Read(func(_ *venue.Venue, w *view.View) { held = w.HeldMoney(u) })
	if held {
		v.funded.add(u)
	}
	return !held
}

// Payer returns the account whose write rate an account uses (docs/rules/limits.md#account-rate): its owner
// for an agent that has never held money, else itself.
func (v *Venue) Payer(u core.UserID) core.UserID {
	if v.Engine == nil || v.funded.has(u) {
		return u
	}
	if owner := v.Engine.Owner(u); owner != u && v.unfunded(u) {
		return owner
	}
	return u
}

// unfundedRejection returns the rejection of a placement of an account that has never held money: that of its
// preview. Where it would be canceled before it needs money, it is insufficient_balance.
func (v *Venue) unfundedRejection(in *schemas.PlaceOrder, c *core.PlaceOrder) (err error) {
	err = core.InsufficientBalance
	v.Engine.Read(func(m *venue.Venue, _ *view.View) {
		if p, r := m.Preview(c, v.Config.Now()); r != core.OK {
			err = rejection(in, r, p.Violation)
		}
	})
	return err
}
