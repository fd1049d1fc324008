package venue

import "duplex/core"

// clientTransfer is the owner's own id of a transfer, by which a repeat is recognized.
type clientTransfer struct {
	owner core.UserID
	id    string
}

// transfer moves free cash between an owner and one of its agents. A repeat of the client id with
// equal fields emits the first transfer again, with other fields it is rejected
// (docs/rules/agent-accounts.md#transfers).
func (v *Venue) transfer(c *core.Transfer) core.Reject {
	u := c.To
	if u == c.Owner {
		u = c.From
	}
	a := v.agent(c.Owner, u)
	if a == nil || c.From != c.Owner && c.To != c.Owner {
		return core.UnknownAgent
	}
	if seq, again := v.clientTransfers[clientTransfer{c.Owner, c.ClientID}]; again {
		was, _ := v.transfers.Get(seq)
		if was.From != c.From || was.To != c.To || was.Amount != c.Amount {
			return core.DuplicateTransferID
		}
		v.ev.Add(was)
		return core.OK
	}
	switch {
	case a.Agent.Closed:
		return core.InvalidTransition
	case v.suspended(a) || v.accounts[c.Owner].Suspended:
		return core.UserSuspended
	case c.Amount <= 0:
		return core.BadAmount
	case c.Amount > v.ledger.Cash(c.From):
		return core.InsufficientBalance
	}
	v.storeTransfer(c.Owner, v.move(core.Transferred{ClientID: c.ClientID, From: c.From, To: c.To, Amount: c.Amount}))
	return core.OK
}

// move moves free cash between two accounts of a family and emits the transfer.
func (v *Venue) move(t core.Transferred) *core.Transferred {
	t.Seq, t.Ts = v.now.Seq, v.now.Ts
	v.ledger.Transfer(t.From, t.To, t.Amount)
	v.ev.Add(&t)
	return &t
}

// storeTransfer keeps an owner's transfer for good, under its client id.
func (v *Venue) storeTransfer(owner core.UserID, t *core.Transferred) {
	v.transfers.Set(t.Seq, t)
	v.clientTransfers[clientTransfer{owner, t.ClientID}] = t.Seq
}
