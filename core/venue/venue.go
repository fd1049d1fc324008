package venue

import (
	"github.com/tidwall/btree"

	"duplex/core"
	"duplex/core/book"
	"duplex/core/feed"
	"duplex/core/ledger"
)

// Slots is the size of the pool of markets (docs/rules/rounds.md#slots).
const Slots = ledger.Slots

const _ = uint8(Slots) // an order in the book has no more room for its market

// account is what the venue keeps of a user beside money.
type account struct {
	core.User
	ids      idSet      // client order ids used, for good
	orders   book.Queue // that rest
	timeout  uint32     // dead-man, ms
	deadline int64      // dead-man, ns; 0 disarmed

	keys *btree.Map[uint64, *core.Key] // that are not revoked, by number; nil: it never had one
}

// market is one slot.
type market struct {
	core.Round
	book     *book.Book // nil until the slot's first life
	halted   bool       // paused by an operator
	lastTick core.Tick
	volume   core.Qty
	bookSeq  uint64 // see Slot
}

// feedState is what the venue knows of a feed.
type feedState struct {
	Ring    feed.Ring
	FreshAt int64 `cbor:"Fresh"` // stamp of the last fresh index tick, ns; the tag keeps the encoding of older snapshots
	Stale   bool
	Open    bool // session
	Until   int64
}

// Venue is the machine.
type Venue struct {
	now         core.Stamp
	rules       core.Rules
	legal       [core.TickMax + 1]bool // the grid, looked up
	fees        core.Fees
	reservation [core.TickMax + 1]core.Pips // Hold at the taker rate, by tick
	windows     []core.Window
	ledger      *ledger.Ledger
	pool        *book.Pool
	accounts    []account // by user id
	keys        keys
	markets     [Slots + 1]market
	free        []core.MarketID // longest free first
	feeds       [core.Feeds]feedState
	trading     [core.SeriesCount]core.MarketID // by series
	last        [core.SeriesCount]int64         // start of the stretch that had the series' last round
	rounds      uint64
	expiries    timers
	deadmen     timers

	// Deposits and withdrawals are kept for good. Trees are copied on write, and what they
	// point to is never written to: an image shares both.
	deposits    btree.Map[string, core.Deposited]
	withdrawals btree.Map[uint64, *core.Withdrawal]
	clientWds   map[clientWithdrawal]uint64

	ev    *core.Events
	level *core.LevelChanged // last emitted, to fold the next change of the same level into

	prefetched uint32 // keeps Fetch's reads from being left out
}

type clientWithdrawal struct {
	user core.UserID
	id   string
}

// New makes an empty venue under the default rules of the first revision: a journal that
// was begun before rules had a revision may have commands before its first SetRules.
func New() *Venue {
	v := &Venue{
		fees:   core.DefaultFees(),
		ledger: ledger.New(), pool: book.NewPool(1024), accounts: make([]account, 1),
		keys: keys{numbers: map[string]uint64{}}, clientWds: map[clientWithdrawal]uint64{},
	}
	for m := core.MarketID(1); m <= Slots; m++ {
		v.free = append(v.free, m)
	}
	for f := range v.feeds {
		v.feeds[f].Stale = true
	}
	for s := range v.last {
		v.last[s] = -1
	}
	rules := core.DefaultRules()
	rules.Revision = core.RevisionFirst
	v.setRules(rules)
	v.computeReservations()
	return v
}

// Apply lets one command happen. Stamps must rise. Events go to ev, in order.
func (v *Venue) Apply(st core.Stamp, cmd core.Command, ev *core.Events) core.Reject {
	v.now, v.ev, v.level = st, ev, nil
	v.ledger.Begin()
	r := v.apply(cmd)
	v.emitTouched()
	return r
}

func (v *Venue) apply(cmd core.Command) core.Reject {
	if c, ok := cmd.(*core.PlaceOrder); ok { // these two come first: a switch of many is a search
		return v.place(c)
	}
	if c, ok := cmd.(*core.CancelOrder); ok {
		return v.cancel(c)
	}
	switch c := cmd.(type) {
	case *core.CancelAll:
		return v.cancelAll(c)
	case *core.DecreaseOrder:
		return v.decrease(c)
	case *core.ArmDeadman:
		return v.setDeadman(c.User, c.TimeoutMs)
	case *core.DisarmDeadman:
		return v.setDeadman(c.User, 0)
	case *core.Redeem:
		return v.redeem(c)
	case *core.RequestWithdrawal:
		return v.requestWithdrawal(c)
	case *core.Clock:
		v.advance()
		return core.OK
	case *core.PostIndex:
		v.advance()
		return v.applyIndexTick(&c.Tick)
	case *core.SetSession:
		return v.setSession(c)
	case *core.SetRules:
		v.setRules(c.Rules)
		return core.OK
	case *core.SetFees:
		return v.setFees(c)
	case *core.SetSchedule:
		v.windows = c.Windows
		v.ev.Add(&core.ScheduleChanged{Windows: c.Windows})
		return core.OK
	case *core.CreateUser:
		return v.createUser(c)
	case *core.CreateKey:
		return v.createKey(c)
	case *core.RevokeKey:
		return v.revokeKey(c)
	case *core.ResealKey:
		return v.resealKey(c)
	case *core.SuspendUser:
		return v.suspend(c)
	case *core.Deposit:
		return v.deposit(c)
	case *core.DecideWithdrawal:
		return v.decideWithdrawal(c)
	case *core.PauseMarket:
		return v.pause(c)
	case *core.VoidMarket:
		return v.voidMarket(c)
	case *core.ProposePrice:
		return v.proposePrice(c)
	case *core.Checkpoint:
		return core.OK // compared by the engine, which has the hash
	default:
		panic(core.InvariantViolation{Detail: "a command the venue does not know"})
	}
}

// emitTouched turns what the command touched into events and checks THE INVARIANT.
func (v *Venue) emitTouched() {
	accounts, holdings := v.ledger.Touched()
	for i := range accounts {
		t := &accounts[i]
		cash, reserved := v.ledger.Balance(t.User)
		if cash != t.Cash || reserved != t.Reserved {
			e := v.ev.Balance()
			e.User, e.Cash, e.Reserved, e.Change, e.Cause = t.User, cash, reserved, cash-t.Cash, t.Cause
		}
	}
	for _, t := range holdings {
		e := v.ev.Position()
		e.User = t.User
		v.position(t.User, t.Market, &e.Position)
		if !v.ledger.CheckMarket(t.Market) {
			panic(core.InvariantViolation{Detail: "YES, NO and pairs of a market differ"})
		}
	}
	if !v.ledger.Check() {
		panic(core.InvariantViolation{Detail: "money was made or lost"})
	}
}

// userExists tells whether u is an account.
func (v *Venue) userExists(u core.UserID) bool { return u > 0 && int(u) < len(v.accounts) }

// market gives the slot m, nil if it never opened.
func (v *Venue) market(m core.MarketID) *market {
	if m == 0 || m > Slots || v.markets[m].Status == core.NeverOpened {
		return nil
	}
	return &v.markets[m]
}

// closed tells whether a trading market takes no placement any more: its boundary has
// come by the command's own stamp, and the command that freezes it has not.
func (v *Venue) closed(m *market, ts int64) bool {
	return ts >= m.CloseTs && v.rules.Revision >= core.RevisionStrict
}

// paused tells whether a market refuses placements while it trades.
func (v *Venue) paused(m *market) bool { return m.halted || v.feeds[m.Feed].Stale }

func (v *Venue) setRules(r core.Rules) {
	if v.rules.Revision < core.RevisionStrict && r.Revision >= core.RevisionStrict {
		v.forgetRevoked()
	}
	v.rules = r
	for m := range v.markets {
		v.markets[m].bookSeq = v.now.Seq
	}
	for t := range v.legal {
		v.legal[t] = r.Grid.Legal(core.Tick(t))
	}
}

func (v *Venue) setFees(c *core.SetFees) core.Reject {
	if !c.Fees.Valid() {
		return core.BadFees
	}
	v.fees = c.Fees
	v.computeReservations()
	v.ev.Add(&core.FeesChanged{Fees: c.Fees})
	return core.OK
}

func (v *Venue) computeReservations() {
	for t := core.TickMin; t <= core.TickMax; t++ {
		v.reservation[t] = core.ReservationPerContract(v.fees.Taker, t)
	}
}

// emitLevelChange emits the change of a price level, folded into the last one where that was
// of the same level.
func (v *Venue) emitLevelChange(m *market, bid bool, t core.Tick, delta, total core.Qty) {
	m.bookSeq = v.now.Seq
	if was := v.level; was != nil && was.Tick == t && was.Market == m.Market && was.Bid == bid {
		was.Delta += delta
		was.Qty = total
		return
	}
	l := v.ev.Level()
	l.Market, l.Generation, l.Bid, l.Tick, l.Delta, l.Qty = m.Market, m.Generation, bid, t, delta, total
	v.level = l
}
