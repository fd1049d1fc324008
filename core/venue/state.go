package venue

import (
	"crypto/sha256"
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
	Feeds       [core.Feeds]source
	Trading     [9]core.MarketID
	Last        [9]int64
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
	Flags     core.Flags
	TickYes   core.Tick
	Left      uint32
	Unit      uint16
	MakerRate core.Rate
	Group     uint32
	Expiry    int64
}

var encoding, _ = cbor.CoreDetEncOptions().EncMode()

// Image is the state at one seq, which no later command changes. Taking it is quick;
// encoding it is not, and wants no lock.
type Image struct{ state state }

// Image takes the state as it is now.
func (v *Venue) Image() (*Image, error) {
	s := state{
		Now: v.now, Rules: v.rules, Fees: v.fees, Windows: v.windows, Ledger: v.ledger.State(), Free: slices.Clone(v.free),
		Feeds: v.feeds, Trading: v.trading, Last: v.last, Rounds: v.rounds,
	}
	for i := range s.Feeds {
		s.Feeds[i].Ring.Ticks = slices.Clone(s.Feeds[i].Ring.Ticks)
	}
	s.Accounts = slices.Grow(s.Accounts, len(v.accounts)-1)
	s.Orders = slices.Grow(s.Orders, v.Resting()) // still nil where there are none
	for i := range v.accounts[1:] {
		a := &v.accounts[i+1]
		x := accountState{User: a.User, Timeout: a.timeout, Deadline: a.deadline}
		if a.ids != nil {
			b, err := a.ids.bytes()
			if err != nil {
				return nil, fmt.Errorf("client order ids of account %d: %w", i+1, err)
			}
			x.IDs = b
		}
		s.Accounts = append(s.Accounts, x)
	}
	for _, id := range v.keyOrder {
		s.Keys = append(s.Keys, *v.keys[id])
	}
	for i := range v.markets[1:] {
		m := &v.markets[i+1]
		s.Markets = append(s.Markets, marketState{Round: m.Round, Halted: m.halted, LastTick: m.lastTick, Volume: m.volume})
		if m.book != nil {
			s.Orders = v.orderStates(s.Orders, m.book)
		}
	}
	for _, id := range sortedKeys(v.deposits) {
		s.Deposits = append(s.Deposits, v.deposits[id])
	}
	for _, id := range sortedKeys(v.withdrawals) {
		s.Withdrawals = append(s.Withdrawals, *v.withdrawals[id])
	}
	return &Image{s}, nil
}

// MarshalBinary gives the bytes of the state: the same for the same commands,
// whichever machine applied them.
func (m *Image) MarshalBinary() ([]byte, error) { return encoding.Marshal(&m.state) }

// Hash is the SHA-256 of the state.
func (m *Image) Hash() ([32]byte, error) {
	b, err := m.MarshalBinary()
	return sha256.Sum256(b), err
}

// MarshalBinary is that of the image as it is now.
func (v *Venue) MarshalBinary() ([]byte, error) {
	m, err := v.Image()
	if err != nil {
		return nil, err
	}
	return m.MarshalBinary()
}

func sortedKeys[K int | uint64 | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (v *Venue) orderStates(to []orderState, b *book.Book) []orderState {
	for _, bid := range [2]bool{true, false} {
		for r := range b.Orders(bid) {
			o, terms := v.pool.At(r), v.pool.Terms(r)
			to = append(to, orderState{
				ID: o.ID, User: o.User, Market: o.Market(), Side: o.Side(), Outcome: o.Outcome(), Flags: o.Flags(), TickYes: o.TickYes(),
				Left: o.Left, Unit: o.Unit, MakerRate: o.MakerRate, Group: terms.Group, Expiry: terms.Expiry,
			})
		}
	}
	return to
}

// Hash is the SHA-256 of the state as it is now.
func (v *Venue) Hash() ([32]byte, error) {
	m, err := v.Image()
	if err != nil {
		return [32]byte{}, err
	}
	return m.Hash()
}

// Restore makes a venue of MarshalBinary's bytes. It audits what it made.
func Restore(b []byte) (v *Venue, err error) {
	var s state
	if err := cbor.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("state of the venue: %w", err)
	}
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, fmt.Errorf("state of the venue does not hold together: %v", p)
		}
	}()
	v = New()
	v.setRules(s.Rules)
	v.now, v.fees, v.windows, v.ledger = s.Now, s.Fees, s.Windows, ledger.Restore(s.Ledger)
	v.free, v.feeds, v.trading, v.last, v.rounds = s.Free, s.Feeds, s.Trading, s.Last, s.Rounds
	v.priceHolds()
	for i := range s.Accounts {
		if err := v.restoreAccount(&s.Accounts[i]); err != nil {
			return nil, err
		}
	}
	for i := range s.Keys {
		v.keys[s.Keys[i].ID] = &s.Keys[i]
		v.keyOrder = append(v.keyOrder, s.Keys[i].ID)
	}
	for i, m := range s.Markets {
		v.markets[i+1] = market{Round: m.Round, halted: m.Halted, lastTick: m.LastTick, volume: m.Volume, moved: s.Now.Seq}
		if m.Round.Status != core.NeverOpened {
			v.markets[i+1].book = book.New(v.pool)
		}
	}
	v.restoreOrders(s.Orders)
	for _, d := range s.Deposits {
		v.deposits[d.DepositID] = d
	}
	for i := range s.Withdrawals {
		w := &s.Withdrawals[i]
		v.withdrawals[w.ID] = w
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
		r := v.pool.New(x.ID)
		o := v.pool.At(r)
		o.User, o.Left, o.Unit, o.MakerRate = x.User, x.Left, x.Unit, x.MakerRate
		o.Mark(x.Market, x.Side, x.Outcome, x.Flags)
		v.pool.SetTerms(r, book.Terms{Expiry: x.Expiry, Group: x.Group})
		v.markets[x.Market].book.Put(r, x.TickYes)
		v.ledger.Rest(x.User, x.Market, x.Side, x.Outcome, core.Qty(x.Left))
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
		v.pool.Enlist(&v.accounts[v.pool.At(r).User].orders, r)
	}
}
