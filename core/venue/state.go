package venue

import (
	"fmt"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"duplex/core"
	"duplex/core/book"
	"duplex/core/ledger"
)

// state is the whole machine as a snapshot keeps it. Everything is in an order
// that the commands alone decide, so equal machines have equal bytes. Fields are
// only ever added at the end.
type state struct {
	_           struct{} `cbor:",toarray"`
	Now         core.Stamp
	Rules       core.Rules
	Fees        core.Fees
	Windows     []core.Window
	Ledger      ledger.State
	Accounts    []accountState
	Keys        []core.Key
	Markets     []marketState
	Free        []core.MarketID
	Feeds       [core.Feeds]feedState
	Trading     [core.SeriesCount]core.MarketID
	Last        [core.SeriesCount]int64
	Rounds      uint64
	Orders      []orderState // by market, bids first, in price-time order
	Deposits    []core.Deposited
	Withdrawals []core.Withdrawal
}

type accountState struct {
	_        struct{} `cbor:",toarray"`
	User     core.User
	IDs      []byte
	Timeout  uint32
	Deadline int64
}

type marketState struct {
	_        struct{} `cbor:",toarray"`
	Round    core.Round
	Halted   bool
	LastTick core.Tick
	Volume   core.Qty
}

type orderState struct {
	_         struct{} `cbor:",toarray"`
	ID        core.OrderID
	User      core.UserID
	Market    core.MarketID
	Side      core.Side
	Outcome   core.Outcome
	Flags     core.Flags // and flagClipped
	TickYes   core.Tick
	Left      uint32
	Unit      uint16
	MakerRate core.Rate
	Group     uint32
	Expiry    int64
}

// flagClipped marks an order that reduce_only took contracts from.
const flagClipped core.Flags = 1 << 7

var encoding, _ = cbor.CoreDetEncOptions().EncMode()

// Restore makes a venue of MarshalBinary's bytes. It audits what it made.
func Restore(b []byte) (v *Venue, err error) {
	var s state
	if err := cbor.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("state of the venue: %w", err)
	}
	return restore(&s)
}

func restore(s *state) (v *Venue, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, fmt.Errorf("state of the venue does not hold together: %v", p)
		}
	}()
	v = New()
	v.setRules(s.Rules)
	v.now, v.fees, v.windows, v.ledger = s.Now, s.Fees, s.Windows, ledger.Restore(s.Ledger)
	v.free, v.feeds, v.trading, v.last, v.rounds = s.Free, s.Feeds, s.Trading, s.Last, s.Rounds
	v.computeReservations()
	for i := range s.Accounts {
		if err := v.restoreAccount(&s.Accounts[i]); err != nil {
			return nil, err
		}
	}
	for i := range s.Keys {
		v.enter(&s.Keys[i])
	}
	for i, m := range s.Markets {
		v.markets[i+1] = market{Round: m.Round, halted: m.Halted, lastTick: m.LastTick, volume: m.Volume, bookSeq: s.Now.Seq}
		if m.Round.Status != core.NeverOpened {
			v.markets[i+1].book = book.New(v.pool)
		}
	}
	v.restoreOrders(s.Orders)
	for _, d := range s.Deposits {
		v.deposits.Set(d.DepositID, d)
	}
	for i := range s.Withdrawals {
		w := &s.Withdrawals[i]
		v.withdrawals.Set(w.ID, w)
		v.clientWds[clientWithdrawal{w.User, w.ClientID}] = w.ID
	}
	v.Audit()
	return v, nil
}

func (v *Venue) restoreAccount(x *accountState) error {
	a := account{User: x.User, timeout: x.Timeout, deadline: x.Deadline}
	if x.IDs != nil {
		ids, err := restoreIDSet(x.IDs)
		if err != nil {
			return fmt.Errorf("client order ids of account %d: %w", x.User.ID, err)
		}
		a.ids = ids
	}
	v.accounts = append(v.accounts, a)
	if a.deadline != 0 {
		v.deadmen.add(a.deadline, uint64(a.ID))
	}
	return nil
}

// restoreOrders rebuilds books and reservations. An account's list runs from its
// oldest order, so orders are entered in the order of their ids at last.
func (v *Venue) restoreOrders(orders []orderState) {
	refs := make([]book.Ref, 0, len(orders))
	for i := range orders {
		x := &orders[i]
		r := v.pool.Alloc(x.ID)
		o := v.pool.At(r)
		o.User, o.Left, o.Unit, o.MakerRate = x.User, x.Left, x.Unit, x.MakerRate
		o.SetAttributes(x.Market, x.Side, x.Outcome, x.Flags&core.AllFlags)
		if x.Flags.Has(flagClipped) {
			o.Clip()
		}
		v.pool.SetTerms(r, book.Terms{Expiry: x.Expiry, Group: x.Group})
		v.markets[x.Market].book.Add(r, x.TickYes)
		v.ledger.AddResting(x.User, x.Market, x.Side, x.Outcome, core.Qty(x.Left))
		if x.Expiry != 0 {
			v.expiries.add(x.Expiry, uint64(x.ID))
		}
		refs = append(refs, r)
	}
	slices.SortFunc(refs, func(a, b book.Ref) int {
		if v.pool.At(a).ID < v.pool.At(b).ID {
			return -1
		}
		return 1
	})
	for _, r := range refs {
		v.pool.AddToAccount(&v.accounts[v.pool.At(r).User].orders, r)
	}
}
