package view

import (
	"encoding/binary"
	"errors"

	"duplex/core"
)

// Entries of an account's histories are encoded by hand, because a snapshot holds millions
// of them and memory holds them in the same form (retention.go): unsigned numbers as
// uvarints, signed numbers in zigzag form, seqs and times as differences to those of the
// entry before. The numbers below are stored: never change or reuse one. A changed encoding
// needs a new stateFormat, and the old one must stay readable.
//
// The method code of a type states its fields once, and a coder writes or reads them. A function each
// way is faster (a replay by 4 %), but both must agree in every field.
const (
	eventOrder      = 1
	eventFill       = 2
	eventBalance    = 3
	eventPosition   = 4
	eventSettlement = 5
	eventDeposit    = 6
	eventWithdrawal = 7
	eventDeadman    = 8
	eventKeyRevoked = 9
	eventTransfer   = 10
	eventAccount    = 11
	eventGroup      = 12
	eventAsk        = 13
)

var (
	errShort   = errors.New("truncated")
	errLong    = errors.New("unexpected bytes at the end")
	errRange   = errors.New("number out of range")
	errUnknown = errors.New("unknown kind of event")
)

// coder writes entries to the end of b or, if reading is set, reads them from b. Writing changes no entry:
// readers share them. Reading keeps the first error and then gives zero values, so a caller reads all
// fields and checks the error once. seq and ts are those of the current entry, or of the entry before
// while a header is coded. user is the account of the entries. The fields with last are the entry
// before in a history of those, lastFill is the fill before.
type coder struct {
	reading bool
	b       []byte
	i       int // bytes of b already read
	seq     uint64
	ts      int64
	user    core.UserID
	err     error

	lastTick     PriceTick
	lastRow      RoundSecond
	lastLedger   LedgerRow
	lastFill     fillRound
	lastForecast Forecast

	// validating means that entries are discarded once read, so events reuse the memory below.
	validating bool
	order      Order
	fill       Fill
	settlement Settlement
}

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.b, c.i = nil, 0
}

// check fails with errRange if what was read is not valid.
func (c *coder) check(valid bool) {
	if c.reading && !valid {
		c.fail(errRange)
	}
}

// end returns the first error, or errLong if bytes are left to read.
func (c *coder) end() error {
	if c.err == nil && c.i < len(c.b) {
		return errLong
	}
	return c.err
}

func (c *coder) readUvarint() uint64 {
	if c.i < len(c.b) && c.b[c.i] < 0x80 { // the common case
		c.i++
		return uint64(c.b[c.i-1])
	}
	return c.longUvarint()
}

func (c *coder) longUvarint() uint64 {
	v, n := binary.Uvarint(c.b[c.i:])
	if n <= 0 {
		c.fail(errShort)
		return 0
	}
	c.i += n
	return v
}

// unsigned codes a number that is not negative. Reading fails above the range of its type.
func unsigned[T ~uint16 | ~uint32 | ~uint64](c *coder, v *T) {
	n := uint64(*v)
	switch {
	case c.reading:
		n = c.readUvarint()
		if *v = T(n); uint64(*v) != n {
			*v = 0
			c.fail(errRange)
		}
	case n < 0x80: // the common case
		c.b = append(c.b, byte(n))
	default:
		c.b = binary.AppendUvarint(c.b, n)
	}
}

// delta codes a number as its difference to from. It does not write by unsigned: a second call makes an
// entry take half as long again.
func delta[T ~int32 | ~int64 | ~uint32 | ~uint64](c *coder, v *T, from T) {
	d := int64(*v) - int64(from)
	n := uint64(d<<1) ^ uint64(d>>63)
	switch {
	case c.reading:
		n = c.readUvarint()
		*v = T(int64(from) + (int64(n>>1) ^ -int64(n&1)))
	case n < 0x80:
		c.b = append(c.b, byte(n))
	default:
		c.b = binary.AppendUvarint(c.b, n)
	}
}

func signed[T ~int32 | ~int64 | ~uint64](c *coder, v *T) { delta(c, v, 0) }

func octet[T ~uint8](c *coder, v *T) {
	switch {
	case !c.reading:
		c.b = append(c.b, byte(*v))
	case c.i >= len(c.b):
		*v = 0
		c.fail(errShort)
	default:
		*v = T(c.b[c.i])
		c.i++
	}
}

// flags codes up to eight flags as one byte, the first in its lowest bit. Entries of older formats
// have fewer.
func (c *coder) flags(all ...*bool) {
	var bits byte
	for i, on := range all {
		if *on {
			bits |= 1 << i
		}
	}
	octet(c, &bits)
	if c.check(bits>>len(all) == 0); !c.reading {
		return
	}
	for i, on := range all {
		*on = bits>>i&1 != 0
	}
}

// key codes the number of a key if a flag announces one.
func (c *coder) key(has bool, n *core.KeyNumber) {
	switch {
	case has:
		unsigned(c, n)
		c.check(*n != 0)
	case c.reading:
		*n = 0
	}
}

// string codes its length and its bytes.
func (c *coder) string(s *string) {
	n := uint64(len(*s))
	if unsigned(c, &n); c.reading {
		*s = string(c.take(n))
	} else {
		c.b = append(c.b, *s...)
	}
}

// bytes codes the length and the bytes. Reading gives a part of the input, not a copy.
func (c *coder) bytes(b *[]byte) {
	n := uint64(len(*b))
	if unsigned(c, &n); c.reading {
		*b = c.take(n)
	} else {
		c.b = append(c.b, *b...)
	}
}

// take reads n bytes.
func (c *coder) take(n uint64) []byte {
	if n > uint64(len(c.b)-c.i) {
		c.fail(errShort)
		return nil
	}
	c.i += int(n)
	return c.b[c.i-int(n) : c.i]
}

// codeList codes the length and each element. Reading appends to the list.
func codeList[T any](c *coder, all *[]T, code func(*T)) {
	n := uint64(len(*all))
	if unsigned(c, &n); !c.reading {
		for i := range *all {
			code(&(*all)[i])
		}
		return
	}
	for range n {
		if c.err != nil {
			return
		}
		var x T
		code(&x)
		*all = append(*all, x)
	}
}

// header begins an entry.
func (c *coder) header(seq *uint64, ts *int64) {
	delta(c, seq, c.seq)
	delta(c, ts, c.ts)
	c.seq, c.ts = *seq, *ts
}

// body codes all fields except User, which the account gives. Seqs and times are relative to the
// header of the entry.
func (o *Order) body(c *coder) {
	known, keyed := o.ID != 0, o.Key != 0 // false: rejected, no key
	c.flags(&known, &keyed)
	delta(c, &o.CreatedSeq, c.seq)
	delta(c, &o.CreatedTs, c.ts)
	delta(c, &o.UpdateSeq, c.seq)
	unsigned(c, &o.ClientID)
	signed(c, &o.Qty)
	signed(c, &o.Filled)
	signed(c, &o.Left)
	signed(c, &o.Expiry)
	unsigned(c, &o.MaxCost)
	unsigned(c, &o.Generation)
	unsigned(c, &o.Group)
	signed(c, &o.Tick)
	unsigned(c, &o.Market)
	unsigned(c, &o.Reject)
	octet(c, &o.Side)
	octet(c, &o.Outcome)
	octet(c, &o.Type)
	octet(c, &o.TIF)
	octet(c, &o.Flags)
	octet(c, &o.Status)
	octet(c, &o.Reason)
	c.key(keyed, &o.Key)
	if c.reading {
		o.User, o.ID = c.user, 0
		if known {
			o.ID = core.OrderID(o.CreatedSeq)
		}
	}
}

// code codes an order as an entry of the list of rows, which is in the order of created_seq.
func (o *Order) code(c *coder) {
	seq, ts := o.CreatedSeq, o.CreatedTs
	c.header(&seq, &ts)
	o.body(c)
}

// fillRound is the number and the round of a fill. The next fill of the same chunk is coded as a
// difference to it.
type fillRound struct {
	n, number  uint64
	generation uint32
	category   uint16
}

func (f *Fill) body(c *coder) {
	p := &c.lastFill
	if c.reading {
		f.Seq, f.Ts, f.N, f.Generation, f.Number, f.Category = c.seq, c.ts, 0, 0, 0, 0
	}
	delta(c, &f.Order, core.OrderID(c.seq))
	unsigned(c, &f.ClientID)
	signed(c, &f.Qty)
	signed(c, &f.TickYes)
	signed(c, &f.Fee)
	unsigned(c, &f.Market)
	keyed, first, next := f.Key != 0, f.Number != 0 && p.number == 0, f.Number != 0 && p.number != 0
	grouped := f.Group != 0
	c.flags(&f.Maker, &keyed, &first, &next, &grouped)
	octet(c, &f.Side)
	octet(c, &f.Outcome)
	octet(c, &f.Path)
	c.key(keyed, &f.Key)
	if c.reading {
		f.Group = 0
	}
	if grouped {
		unsigned(c, &f.Group)
	}
	switch c.check(!first || !next); {
	case first:
		unsigned(c, &f.N)
		unsigned(c, &f.Generation)
		unsigned(c, &f.Number)
		unsigned(c, &f.Category)
	case next:
		delta(c, &f.N, p.n)
		if delta(c, &f.Number, p.number); f.Number != p.number {
			delta(c, &f.Generation, p.generation)
			unsigned(c, &f.Category)
		} else if c.reading {
			f.Generation, f.Category = p.generation, p.category
		}
	default:
		return
	}
	c.check(f.Number != 0)
	*p = fillRound{f.N, f.Number, f.Generation, f.Category}
}

func (f *Fill) code(c *coder) {
	c.header(&f.Seq, &f.Ts)
	f.body(c)
}

// settlementCost is set in the status of a settlement with a category, a cost or prices.
const settlementCost = 0x80

func (s *Settlement) body(c *coder) {
	unsigned(c, &s.Market)
	unsigned(c, &s.Generation)
	unsigned(c, &s.Number)
	signed(c, &s.Yes)
	signed(c, &s.No)
	signed(c, &s.Payout)
	status := s.Status
	if s.Category != 0 || s.Cost != 0 || s.SettlePrice != 0 || s.Strike != 0 {
		status |= settlementCost
	}
	octet(c, &status)
	octet(c, &s.Winner)
	if c.reading {
		s.Seq, s.Ts, s.Status = c.seq, c.ts, status&^settlementCost
		s.Category, s.Cost, s.SettlePrice, s.Strike = 0, 0, 0, 0
	}
	if status&settlementCost != 0 {
		unsigned(c, &s.Category)
		signed(c, &s.Cost)
		signed(c, &s.SettlePrice)
		delta(c, &s.Strike, s.SettlePrice)
	}
}

func (s *Settlement) code(c *coder) {
	c.header(&s.Seq, &s.Ts)
	s.body(c)
}

// eventKind returns the stored number of the type of an account event.
func eventKind(what any) byte {
	switch what.(type) {
	case *Order:
		return eventOrder
	case *Fill:
		return eventFill
	case *Balance:
		return eventBalance
	case *core.Position:
		return eventPosition
	case *Settlement:
		return eventSettlement
	case *core.Deposited:
		return eventDeposit
	case *core.Withdrawal:
		return eventWithdrawal
	case *core.DeadmanChanged:
		return eventDeadman
	case KeyRevoked:
		return eventKeyRevoked
	case *core.Transferred:
		return eventTransfer
	case *core.AgentChanged:
		return eventAccount
	case *core.GroupChanged:
		return eventGroup
	case *Ask:
		return eventAsk
	}
	panic(core.InvariantViolation{Detail: "the codec does not know the type of an account event"})
}

// event returns what has happened: that of x, or a new one to read into x.
func event[T any](c *coder, x *UserEvent) *T {
	if c.reading {
		x.What = new(T)
	}
	return x.What.(*T)
}

// code relies on a fill or settlement having the seq and ts of its event: the view adds both in one
// command.
func (x *UserEvent) code(c *coder) {
	c.header(&x.Seq, &x.Ts)
	var kind byte
	if !c.reading {
		kind = eventKind(x.What)
	}
	octet(c, &kind)
	switch kind {
	case eventOrder:
		reusedEvent(c, x, &c.order).body(c)
	case eventFill:
		reusedEvent(c, x, &c.fill).body(c)
	case eventBalance:
		b := event[Balance](c, x)
		signed(c, &b.Cash)
		signed(c, &b.Reserved)
		signed(c, &b.Change)
		octet(c, &b.Cause)
	case eventPosition:
		p := event[core.Position](c, x)
		unsigned(c, &p.Market)
		unsigned(c, &p.Generation)
		unsigned(c, &p.Number)
		signed(c, &p.Yes)
		signed(c, &p.No)
		signed(c, &p.YesReserved)
		signed(c, &p.NoReserved)
		signed(c, &p.Cost)
	case eventSettlement:
		reusedEvent(c, x, &c.settlement).body(c)
	case eventDeposit:
		d := event[core.Deposited](c, x)
		c.own(&d.User)
		c.string(&d.DepositID)
		signed(c, &d.Amount)
	case eventWithdrawal:
		codeWithdrawal(c, event[core.Withdrawal](c, x))
	case eventDeadman:
		d := event[core.DeadmanChanged](c, x)
		c.own(&d.User)
		c.flags(&d.Armed)
		ofGroup := d.Group != 0
		c.flags(&d.Fired, &ofGroup)
		unsigned(c, &d.TimeoutMs)
		signed(c, &d.Deadline)
		if ofGroup {
			unsigned(c, &d.Group)
		}
	case eventKeyRevoked:
		id, _ := x.What.(KeyRevoked)
		if c.string((*string)(&id)); c.reading {
			x.What = id
		}
	case eventTransfer:
		t := event[core.Transferred](c, x)
		c.string(&t.ClientID)
		unsigned(c, &t.From)
		unsigned(c, &t.To)
		signed(c, &t.Amount)
		if c.reading {
			t.Seq, t.Ts = x.Seq, x.Ts
		}
	case eventAccount:
		a := event[core.AgentChanged](c, x)
		c.own(&a.User)
		octet(c, &a.State)
		c.check(a.State <= core.AgentClosed)
		unsigned(c, &a.Rev)
	case eventGroup:
		g := event[core.GroupChanged](c, x)
		c.own(&g.User)
		octet(c, &g.Change)
		c.check(g.Change.String() != "")
		unsigned(c, &g.Group.ID)
		signed(c, &g.Group.FillLimit)
		unsigned(c, &g.Group.WindowMs)
		signed(c, &g.Group.Filled)
		armed := g.Group.Deadline != 0
		c.flags(&g.Group.Tripped, &g.Group.Bound, &armed)
		if armed {
			signed(c, &g.Group.Deadline)
		}
	case eventAsk:
		event[Ask](c, x).body(c)
	default:
		c.fail(errUnknown)
	}
}

// reusedEvent is event of the kinds whose memory is reused while entries are only validated.
func reusedEvent[T any](c *coder, x *UserEvent, memory *T) *T {
	if !c.validating {
		return event[T](c, x)
	}
	x.What = memory
	return memory
}

// own sets the account of what was read.
func (c *coder) own(u *core.UserID) {
	if c.reading {
		*u = c.user
	}
}

// withReference marks the state of a withdrawal that has a reference, which older encodings lack.
const withReference = 1 << 7

func codeWithdrawal(c *coder, w *core.Withdrawal) {
	c.own(&w.User)
	unsigned(c, &w.ID)
	c.string(&w.ClientID)
	signed(c, &w.Amount)
	c.string(&w.Destination)
	state := uint8(w.State)
	if w.Reference != "" {
		state |= withReference
	}
	octet(c, &state)
	w.State = core.WithdrawalState(state &^ withReference)
	unsigned(c, &w.Seq)
	signed(c, &w.Ts)
	if state&withReference != 0 {
		c.string(&w.Reference)
	}
}
