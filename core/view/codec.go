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
)

var (
	errShort   = errors.New("truncated")
	errLong    = errors.New("unexpected bytes at the end")
	errRange   = errors.New("number out of range")
	errUnknown = errors.New("unknown kind of event")
)

// encoder appends entries to b. seq and ts are those of the current entry, or of the entry
// before while a header is encoded. lastTick, lastRow and
// lastLedger and lastForecast are the entry before in a history of those, lastFill is the fill before.
type encoder struct {
	b        []byte
	seq      uint64
	ts       int64
	lastTick PriceTick
	lastRow  RoundSecond

	lastLedger LedgerRow
	lastFill   fillRound

	lastForecast Forecast
}

func (e *encoder) byte(c byte)       { e.b = append(e.b, c) }
func (e *encoder) int(v int64)       { e.uint(uint64(v<<1) ^ uint64(v>>63)) }
func (e *encoder) relSeq(seq uint64) { e.int(int64(seq - e.seq)) } // a seq near that of the entry

func (e *encoder) uint(v uint64) {
	if v < 0x80 { // the common case
		e.b = append(e.b, byte(v))
		return
	}
	e.b = binary.AppendUvarint(e.b, v)
}

func (e *encoder) string(s string) {
	e.uint(uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) bytes(b []byte) {
	e.uint(uint64(len(b)))
	e.b = append(e.b, b...)
}

// flags appends up to eight flags as one byte. Entries of older formats have fewer.
func (e *encoder) flags(all ...bool) {
	var c byte
	for i, on := range all {
		if on {
			c |= 1 << i
		}
	}
	e.byte(c)
}

// key appends the number of a key; nothing for 0, which flags announces.
func (e *encoder) key(n core.KeyNumber) {
	if n != 0 {
		e.uint(uint64(n))
	}
}

func (e *encoder) flag(on bool) {
	if on {
		e.byte(1)
	} else {
		e.byte(0)
	}
}

// header begins an entry.
func (e *encoder) header(seq uint64, ts int64) {
	e.relSeq(seq)
	e.int(ts - e.ts)
	e.seq, e.ts = seq, ts
}

// decoder reads what encoder wrote for an account of user. It keeps the first error and then
// returns zero values, so a caller reads all fields and checks the error once.
type decoder struct {
	b        []byte
	i        int // bytes of b already read
	seq      uint64
	ts       int64
	user     core.UserID
	lastTick PriceTick
	lastRow  RoundSecond
	err      error

	lastLedger LedgerRow
	lastFill   fillRound

	lastForecast Forecast

	// validating means that decoded entries are discarded, so events reuse the memory below.
	validating bool
	order      Order
	fill       Fill
	settlement Settlement
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.b, d.i = nil, 0
}

func (d *decoder) byte() byte {
	if d.i >= len(d.b) {
		d.fail(errShort)
		return 0
	}
	c := d.b[d.i]
	d.i++
	return c
}

func (d *decoder) flag() bool {
	c := d.byte()
	if c > 1 {
		d.fail(errRange)
	}
	return c == 1
}

// flags reads a byte of n flags, the first in its lowest bit.
func (d *decoder) flags(n int) byte {
	c := d.byte()
	if c>>n != 0 {
		d.fail(errRange)
	}
	return c
}

// key reads the number of a key if there is one.
func (d *decoder) key(has bool) core.KeyNumber {
	if !has {
		return 0
	}
	n := core.KeyNumber(d.uint())
	if n == 0 {
		d.fail(errRange)
	}
	return n
}

func (d *decoder) uint() uint64 {
	if d.i < len(d.b) && d.b[d.i] < 0x80 { // the common case
		v := d.b[d.i]
		d.i++
		return uint64(v)
	}
	return d.longUint()
}

func (d *decoder) longUint() uint64 {
	v, n := binary.Uvarint(d.b[d.i:])
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.i += n
	return v
}

// atMost reads an unsigned number and fails above max.
func (d *decoder) atMost(max uint64) uint64 {
	v := d.uint()
	if v > max {
		d.fail(errRange)
		return 0
	}
	return v
}

func (d *decoder) int() int64 {
	v := d.uint()
	return int64(v>>1) ^ -int64(v&1)
}

func (d *decoder) relSeq() uint64  { return d.seq + uint64(d.int()) }
func (d *decoder) u16() uint16     { return uint16(d.atMost(1<<16 - 1)) }
func (d *decoder) u32() uint32     { return uint32(d.atMost(1<<32 - 1)) }
func (d *decoder) qty() core.Qty   { return core.Qty(d.int()) }
func (d *decoder) tick() core.Tick { return core.Tick(int32(d.int())) }
func (d *decoder) pips() core.Pips { return core.Pips(d.int()) }

func (d *decoder) string() string { return string(d.bytes()) }

// bytes returns a part of the input, not a copy.
func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.b)-d.i) {
		d.fail(errShort)
		return nil
	}
	b := d.b[d.i : d.i+int(n)]
	d.i += int(n)
	return b
}

func (d *decoder) header() (seq uint64, ts int64) {
	d.seq = d.relSeq()
	d.ts += d.int()
	return d.seq, d.ts
}

// end returns the first error, or errLong if bytes are left.
func (d *decoder) end() error {
	if d.err == nil && d.i < len(d.b) {
		return errLong
	}
	return d.err
}

// encodeBody encodes all fields except User, which the account gives. Seqs and times are
// relative to the header of the entry.
func (o *Order) encodeBody(e *encoder) {
	e.flags(o.ID != 0, o.Key != 0) // false: rejected, no key
	e.relSeq(o.CreatedSeq)
	e.int(o.CreatedTs - e.ts)
	e.relSeq(o.UpdateSeq)
	e.uint(o.ClientID)
	e.int(int64(o.Qty))
	e.int(int64(o.Filled))
	e.int(int64(o.Left))
	e.int(o.Expiry)
	e.uint(o.MaxCost)
	e.uint(uint64(o.Generation))
	e.uint(uint64(o.Group))
	e.int(int64(o.Tick))
	e.uint(uint64(o.Market))
	e.uint(uint64(o.Reject))
	e.b = append(e.b, byte(o.Side), byte(o.Outcome), byte(o.Type), byte(o.TIF), byte(o.Flags), byte(o.Status), byte(o.Reason))
	e.key(o.Key)
}

func (o *Order) decodeBody(d *decoder) {
	flags := d.flags(2)
	o.CreatedSeq = d.relSeq()
	o.CreatedTs = d.ts + d.int()
	o.UpdateSeq = d.relSeq()
	o.User = d.user
	if flags&1 != 0 {
		o.ID = core.OrderID(o.CreatedSeq)
	}
	o.ClientID = d.uint()
	o.Qty, o.Filled, o.Left = d.qty(), d.qty(), d.qty()
	o.Expiry, o.MaxCost = d.int(), d.uint()
	o.Generation, o.Group = d.u32(), d.u32()
	o.Tick, o.Market, o.Reject = d.tick(), core.MarketID(d.u32()), core.Reject(d.u16())
	o.Side, o.Outcome, o.Type, o.TIF = core.Side(d.byte()), core.Outcome(d.byte()), core.OrderType(d.byte()), core.TIF(d.byte())
	o.Flags, o.Status, o.Reason = core.Flags(d.byte()), core.OrderStatus(d.byte()), core.Reason(d.byte())
	o.Key = d.key(flags&2 != 0)
}

// encode encodes an order as an entry of the list of rows, which is in the order of
// created_seq.
func (o *Order) encode(e *encoder) {
	e.header(o.CreatedSeq, o.CreatedTs)
	o.encodeBody(e)
}

func (o *Order) decode(d *decoder) {
	d.header()
	o.decodeBody(d)
}

func (f *Fill) encodeBody(e *encoder) {
	e.relSeq(uint64(f.Order))
	e.uint(f.ClientID)
	e.int(int64(f.Qty))
	e.int(int64(f.TickYes))
	e.int(int64(f.Fee))
	e.uint(uint64(f.Market))
	p := &e.lastFill
	e.flags(f.Maker, f.Key != 0, f.Number != 0 && p.number == 0, f.Number != 0 && p.number != 0)
	e.b = append(e.b, byte(f.Side), byte(f.Outcome), byte(f.Path))
	e.key(f.Key)
	switch {
	case f.Number == 0:
		return
	case p.number == 0:
		e.uint(f.N)
		e.uint(uint64(f.Generation))
		e.uint(f.Number)
		e.uint(uint64(f.Category))
	default:
		e.int(int64(f.N - p.n))
		e.int(int64(f.Number - p.number))
		if f.Number != p.number {
			e.int(int64(f.Generation) - int64(p.generation))
			e.uint(uint64(f.Category))
		}
	}
	*p = fillRound{f.N, f.Number, f.Generation, f.Category}
}

// fillRound is the number and the round of a fill. The next fill of the same chunk is encoded as a
// difference to it.
type fillRound struct {
	n, number  uint64
	generation uint32
	category   uint16
}

func (f *Fill) decodeBody(d *decoder) {
	f.Seq, f.Ts = d.seq, d.ts
	f.Order, f.ClientID = core.OrderID(d.relSeq()), d.uint()
	f.Qty, f.TickYes, f.Fee = d.qty(), d.tick(), d.pips()
	f.Market = core.MarketID(d.u32())
	flags := d.flags(4)
	f.Maker = flags&1 != 0
	f.Side, f.Outcome, f.Path = core.Side(d.byte()), core.Outcome(d.byte()), core.Path(d.byte())
	f.Key = d.key(flags&2 != 0)
	f.N, f.Generation, f.Number, f.Category = 0, 0, 0, 0
	p := &d.lastFill
	switch flags >> 2 {
	case 0:
		return
	case 1:
		p.n, p.generation, p.number, p.category = d.uint(), d.u32(), d.uint(), d.u16()
	case 2:
		p.n += uint64(d.int())
		if step := d.int(); step != 0 {
			p.number += uint64(step)
			p.generation, p.category = uint32(int64(p.generation)+d.int()), d.u16()
		}
	default:
		d.fail(errRange)
	}
	if p.number == 0 {
		d.fail(errRange)
	}
	f.N, f.Generation, f.Number, f.Category = p.n, p.generation, p.number, p.category
}

func (f *Fill) encode(e *encoder) {
	e.header(f.Seq, f.Ts)
	f.encodeBody(e)
}

func (f *Fill) decode(d *decoder) {
	d.header()
	f.decodeBody(d)
}

func (s *Settlement) encodeBody(e *encoder) {
	e.uint(uint64(s.Market))
	e.uint(uint64(s.Generation))
	e.uint(s.Number)
	e.int(int64(s.Yes))
	e.int(int64(s.No))
	e.int(int64(s.Payout))
	if s.Category == 0 && s.Cost == 0 && s.SettlePrice == 0 && s.Strike == 0 {
		e.b = append(e.b, byte(s.Status), byte(s.Winner))
		return
	}
	e.b = append(e.b, byte(s.Status)|settlementCost, byte(s.Winner))
	e.uint(uint64(s.Category))
	e.int(int64(s.Cost))
	e.int(int64(s.SettlePrice))
	e.int(int64(s.Strike - s.SettlePrice))
}

// settlementCost is set in the status of a settlement with a category, a cost or prices.
const settlementCost = 0x80

func (s *Settlement) decodeBody(d *decoder) {
	s.Seq, s.Ts = d.seq, d.ts
	s.Market, s.Generation, s.Number = core.MarketID(d.u32()), d.u32(), d.uint()
	s.Yes, s.No, s.Payout = d.qty(), d.qty(), d.pips()
	status := d.byte()
	s.Status, s.Winner = core.RoundStatus(status&^settlementCost), core.Outcome(d.byte())
	s.Category, s.Cost, s.SettlePrice, s.Strike = 0, 0, 0, 0
	if status&settlementCost != 0 {
		s.Category, s.Cost, s.SettlePrice = d.u16(), d.pips(), core.Price(d.int())
		s.Strike = s.SettlePrice + core.Price(d.int())
	}
}

func (s *Settlement) encode(e *encoder) {
	e.header(s.Seq, s.Ts)
	s.encodeBody(e)
}

func (s *Settlement) decode(d *decoder) {
	d.header()
	s.decodeBody(d)
}

// encode relies on a fill or settlement having the seq and ts of its event: the view adds
// both in one command.
func (x *UserEvent) encode(e *encoder) {
	e.header(x.Seq, x.Ts)
	switch what := x.What.(type) {
	case *Order:
		e.byte(eventOrder)
		what.encodeBody(e)
	case *Fill:
		e.byte(eventFill)
		what.encodeBody(e)
	case *Balance:
		e.byte(eventBalance)
		e.int(int64(what.Cash))
		e.int(int64(what.Reserved))
		e.int(int64(what.Change))
		e.byte(byte(what.Cause))
	case *core.Position:
		e.byte(eventPosition)
		e.uint(uint64(what.Market))
		e.uint(uint64(what.Generation))
		e.uint(what.Number)
		e.int(int64(what.Yes))
		e.int(int64(what.No))
		e.int(int64(what.YesReserved))
		e.int(int64(what.NoReserved))
		e.int(int64(what.Cost))
	case *Settlement:
		e.byte(eventSettlement)
		what.encodeBody(e)
	case *core.Deposited:
		e.byte(eventDeposit)
		e.string(what.DepositID)
		e.int(int64(what.Amount))
	case *core.Withdrawal:
		e.byte(eventWithdrawal)
		encodeWithdrawal(e, what)
	case *core.DeadmanChanged:
		e.byte(eventDeadman)
		e.flag(what.Armed)
		e.flag(what.Fired)
		e.uint(uint64(what.TimeoutMs))
		e.int(what.Deadline)
	case KeyRevoked:
		e.byte(eventKeyRevoked)
		e.string(string(what))
	case *core.Transferred:
		e.byte(eventTransfer)
		e.string(what.ClientID)
		e.uint(uint64(what.From))
		e.uint(uint64(what.To))
		e.int(int64(what.Amount))
	case *core.AgentChanged:
		e.byte(eventAccount)
		e.byte(byte(what.State))
		e.uint(uint64(what.Rev))
	default:
		panic(core.InvariantViolation{Detail: "the codec does not know the type of an account event"})
	}
}

func (x *UserEvent) decode(d *decoder) {
	x.Seq, x.Ts = d.header()
	switch d.byte() {
	case eventOrder:
		o := &d.order
		if !d.validating {
			o = new(Order)
		}
		o.decodeBody(d)
		x.What = o
	case eventFill:
		f := &d.fill
		if !d.validating {
			f = new(Fill)
		}
		f.decodeBody(d)
		x.What = f
	case eventBalance:
		x.What = &Balance{Cash: d.pips(), Reserved: d.pips(), Change: d.pips(), Cause: core.Cause(d.byte())}
	case eventPosition:
		x.What = &core.Position{
			Market: core.MarketID(d.u32()), Generation: d.u32(), Number: d.uint(), Yes: d.qty(), No: d.qty(), YesReserved: d.qty(), NoReserved: d.qty(), Cost: d.pips(),
		}
	case eventSettlement:
		s := &d.settlement
		if !d.validating {
			s = new(Settlement)
		}
		s.decodeBody(d)
		x.What = s
	case eventDeposit:
		x.What = &core.Deposited{User: d.user, DepositID: d.string(), Amount: d.pips()}
	case eventWithdrawal:
		x.What = decodeWithdrawal(d)
	case eventDeadman:
		x.What = &core.DeadmanChanged{User: d.user, Armed: d.flag(), Fired: d.flag(), TimeoutMs: d.u32(), Deadline: d.int()}
	case eventKeyRevoked:
		x.What = KeyRevoked(d.string())
	case eventTransfer:
		x.What = &core.Transferred{ClientID: d.string(), From: core.UserID(d.u32()), To: core.UserID(d.u32()), Amount: d.pips(), Seq: x.Seq, Ts: x.Ts}
	case eventAccount:
		state := d.byte()
		if state > byte(core.AgentClosed) {
			d.fail(errRange)
		}
		x.What = &core.AgentChanged{User: d.user, State: core.AgentState(state), Rev: d.u32()}
	default:
		d.fail(errUnknown)
	}
}

func encodeWithdrawal(e *encoder, w *core.Withdrawal) {
	e.uint(w.ID)
	e.string(w.ClientID)
	e.int(int64(w.Amount))
	e.string(w.Destination)
	e.byte(byte(w.Status))
	e.uint(w.Seq)
	e.int(w.Ts)
}

func decodeWithdrawal(d *decoder) *core.Withdrawal {
	return &core.Withdrawal{
		ID: d.uint(), User: d.user, ClientID: d.string(), Amount: d.pips(), Destination: d.string(), Status: core.WithdrawalStatus(d.byte()), Seq: d.uint(), Ts: d.int(),
	}
}
