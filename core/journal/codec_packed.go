package journal

import (
	"encoding/binary"
	"math"

	"duplex/core"
)

// The commands that make up nearly all of a log have packed encodings: numbers are varints
// (zigzag if they can be negative), and the enums of an order share one byte. An encoding
// never changes; a command with other fields gets a new kind. The commands of a key begin with
// its number.

const (
	stringMax  = 4096 // bytes of one string of an index tick
	sourcesMax = 256  // sources of one index tick
	flagsMax   = core.PostOnly | core.ReduceOnly | core.CancelOnPause | core.StpMaker
)

func appendPlaceOrder(dst []byte, c *core.PlaceOrder) ([]byte, error) {
	if c.Side > core.Sell || c.Outcome > core.No || c.Type > core.Market || c.TIF > core.FOK || c.Flags > flagsMax || !knownReject(c.Fault) {
		return dst, errEnum
	}
	if c.Unpriced && c.Type != core.Market {
		return dst, errEnum
	}
	enums := byte(c.Side) | byte(c.Outcome)<<1 | byte(c.Type)<<2 | byte(c.TIF)<<3
	if c.Unpriced {
		enums |= unpriced
	}
	if c.NotAfter != 0 {
		enums |= notAfter
	}
	dst = binary.AppendUvarint(dst, uint64(c.Key))
	dst = binary.AppendUvarint(dst, uint64(c.User))
	dst = binary.AppendUvarint(dst, c.ClientID)
	dst = binary.AppendUvarint(dst, uint64(c.Market))
	dst = binary.AppendUvarint(dst, uint64(c.Generation))
	dst = append(dst, enums, byte(c.Flags))
	dst = binary.AppendVarint(dst, int64(c.Tick))
	dst = binary.AppendVarint(dst, int64(c.Qty))
	dst = binary.AppendVarint(dst, c.Expiry)
	dst = binary.AppendUvarint(dst, c.MaxCost)
	dst = binary.AppendUvarint(dst, uint64(c.Group))
	dst = binary.AppendUvarint(dst, uint64(c.Fault))
	if c.NotAfter != 0 {
		dst = binary.AppendVarint(dst, c.NotAfter)
	}
	return dst, nil
}

// Bits in the byte of enums of a PlaceOrder: its Unpriced, and that a NotAfter ends the encoding. The second
// one is from core.RevisionMakers on, and an older program refuses it.
const (
	unpriced = 1 << 5
	notAfter = 1 << 6
)

func readPlaceOrder(b []byte) (*core.PlaceOrder, error) {
	p := payload{b: b}
	c := p.placeOrder()
	return c, p.end()
}

func appendReplaceOrder(dst []byte, c *core.ReplaceOrder) ([]byte, error) {
	dst = binary.AppendVarint(dst, int64(c.Seen))
	return appendPlaceOrder(binary.AppendUvarint(dst, uint64(c.Old)), &c.PlaceOrder)
}

func readReplaceOrder(b []byte) (*core.ReplaceOrder, error) {
	p := payload{b: b}
	c := &core.ReplaceOrder{Seen: core.Qty(p.i(math.MinInt64, math.MaxInt64)), Old: core.OrderID(p.u(math.MaxUint64))}
	c.PlaceOrder = *p.placeOrder()
	return c, p.end()
}

// readReplaceWithoutSeen reads a replace of before core.RevisionReplaceSeen.
func readReplaceWithoutSeen(b []byte) (core.Command, error) {
	return readReplaceOrder(append([]byte{0}, b...))
}

// appendQuoteSide writes Cancel before the placement.
func appendQuoteSide(dst []byte, c *core.QuoteSide) ([]byte, error) {
	cancel := byte(0)
	if c.Cancel {
		cancel = 1
	}
	b, err := appendPlaceOrder(append(dst, cancel), &c.PlaceOrder)
	if err != nil {
		return dst, err
	}
	return b, nil
}

func readQuoteSide(b []byte) (*core.QuoteSide, error) {
	p := payload{b: b}
	cancel := p.byte()
	if cancel > 1 {
		p.fail(errEnum)
	}
	c := &core.QuoteSide{Cancel: cancel == 1}
	c.PlaceOrder = *p.placeOrder()
	return c, p.end()
}

func appendSubmitForecast(dst []byte, c *core.SubmitForecast) ([]byte, error) {
	if c.P > core.ProbabilityMax {
		return dst, errRange
	}
	dst = binary.AppendUvarint(dst, uint64(c.Key))
	dst = binary.AppendUvarint(dst, uint64(c.User))
	dst = binary.AppendUvarint(dst, uint64(c.Market))
	dst = binary.AppendUvarint(dst, uint64(c.Generation))
	return binary.AppendUvarint(dst, uint64(c.P)), nil
}

func readSubmitForecast(b []byte) (*core.SubmitForecast, error) {
	p := payload{b: b}
	c := &core.SubmitForecast{
		Key:        p.key(),
		User:       core.UserID(p.u(math.MaxUint32)),
		Market:     core.MarketID(p.u(math.MaxUint32)),
		Generation: uint32(p.u(math.MaxUint32)),
		P:          core.Probability(p.u(uint64(core.ProbabilityMax))),
	}
	return c, p.end()
}

// key reads the number of a key.
func (p *payload) key() core.KeyNumber { return core.KeyNumber(p.u(math.MaxUint64)) }

// placeOrder reads the fields of a PlaceOrder.
func (p *payload) placeOrder() *core.PlaceOrder {
	c := &core.PlaceOrder{
		Key:        p.key(),
		User:       core.UserID(p.u(math.MaxUint32)),
		ClientID:   p.u(math.MaxUint64),
		Market:     core.MarketID(p.u(math.MaxUint32)),
		Generation: uint32(p.u(math.MaxUint32)),
	}
	enums, flags := p.byte(), p.byte()
	c.Unpriced = enums&unpriced != 0
	if enums&^(1<<7-1) != 0 || flags > byte(flagsMax) || c.Unpriced && enums>>2&1 == 0 {
		p.fail(errEnum)
	}
	c.Side, c.Outcome = core.Side(enums&1), core.Outcome(enums>>1&1)
	c.Type, c.TIF = core.OrderType(enums>>2&1), core.TIF(enums>>3&3)
	c.Flags = core.Flags(flags)
	c.Tick = core.Tick(p.i(math.MinInt32, math.MaxInt32))
	c.Qty = core.Qty(p.i(math.MinInt64, math.MaxInt64))
	c.Expiry = p.i(math.MinInt64, math.MaxInt64)
	c.MaxCost = p.u(math.MaxUint64)
	c.Group = uint32(p.u(math.MaxUint32))
	c.Fault = core.Reject(p.u(math.MaxUint16))
	if !knownReject(c.Fault) {
		p.fail(errEnum)
	}
	if enums&notAfter != 0 {
		if c.NotAfter = p.i(math.MinInt64, math.MaxInt64); c.NotAfter == 0 {
			p.fail(errRange)
		}
	}
	return c
}

func knownReject(r core.Reject) bool { return r == core.OK || r.String() != "" }

func appendCancelOrder(dst []byte, c *core.CancelOrder) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(c.Key))
	dst = binary.AppendUvarint(dst, uint64(c.User))
	return binary.AppendUvarint(dst, uint64(c.Order)), nil
}

func readCancelOrder(b []byte) (*core.CancelOrder, error) {
	p := payload{b: b}
	c := &core.CancelOrder{Key: p.key(), User: core.UserID(p.u(math.MaxUint32)), Order: core.OrderID(p.u(math.MaxUint64))}
	return c, p.end()
}

func appendCancelAll(dst []byte, c *core.CancelAll) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(c.Key))
	dst = binary.AppendUvarint(dst, uint64(c.User))
	dst = binary.AppendUvarint(dst, uint64(c.Market))
	return binary.AppendUvarint(dst, uint64(c.Group)), nil
}

func readCancelAll(b []byte) (*core.CancelAll, error) {
	p := payload{b: b}
	c := &core.CancelAll{
		Key:    p.key(),
		User:   core.UserID(p.u(math.MaxUint32)),
		Market: core.MarketID(p.u(math.MaxUint32)),
		Group:  uint32(p.u(math.MaxUint32)),
	}
	return c, p.end()
}

func appendDecreaseOrder(dst []byte, c *core.DecreaseOrder) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(c.Key))
	dst = binary.AppendUvarint(dst, uint64(c.User))
	dst = binary.AppendUvarint(dst, uint64(c.Order))
	flags := byte(0)
	if c.To {
		flags = decreaseTo
	}
	if c.RequestID != 0 {
		flags |= decreaseID
	}
	dst = binary.AppendVarint(append(dst, flags), int64(c.Amount))
	if c.RequestID != 0 {
		dst = binary.AppendUvarint(dst, c.RequestID)
	}
	return dst, nil
}

// Bits in the byte of flags of a DecreaseOrder: its To, and that a RequestID ends the encoding. The second one
// is from core.RevisionMakers on, and an older program refuses it.
const (
	decreaseTo = 1 << 0
	decreaseID = 1 << 1
)

func readDecreaseOrder(b []byte) (*core.DecreaseOrder, error) {
	p := payload{b: b}
	c := &core.DecreaseOrder{Key: p.key(), User: core.UserID(p.u(math.MaxUint32)), Order: core.OrderID(p.u(math.MaxUint64))}
	flags := p.byte()
	if flags&^(decreaseTo|decreaseID) != 0 {
		p.fail(errEnum)
	}
	c.To, c.Amount = flags&decreaseTo != 0, core.Qty(p.i(math.MinInt64, math.MaxInt64))
	if flags&decreaseID != 0 {
		if c.RequestID = p.u(math.MaxUint64); c.RequestID == 0 {
			p.fail(errRange)
		}
	}
	return c, p.end()
}

// signedAtMax bounds the time of signing, in ms.
const signedAtMax = 1 << 53

// appendMarked appends the mark, the time of signing, and the encoding of the command that is
// marked.
func appendMarked(dst []byte, cmd core.Command) ([]byte, error) {
	c := cmd.(*core.Marked)
	if !markable(kindOf(c.Command)) {
		return dst, errEnum
	}
	if c.SignedAt < 0 || c.SignedAt > signedAtMax {
		return dst, errRange
	}
	dst = append(dst, c.Mark[:]...)
	return Encode(binary.AppendUvarint(dst, uint64(c.SignedAt)), c.Command)
}

func readMarked(b []byte) (core.Command, error) {
	c := &core.Marked{}
	if len(b) < len(c.Mark) {
		return nil, errShort
	}
	p := payload{b: b[copy(c.Mark[:], b):]}
	c.SignedAt = int64(p.u(signedAtMax))
	if p.err == nil && len(p.b) == 0 {
		p.fail(errShort)
	}
	if p.err == nil && !markable(p.b[0]) {
		p.fail(errEnum)
	}
	if p.err != nil {
		return nil, p.err
	}
	var err error
	c.Command, err = Decode(p.b)
	return c, err
}

// markable reports whether a Marked may hold a command of a kind: whether a key signs it.
func markable(kind byte) bool {
	return kind == 54 || int(kind) < len(kinds) && kinds[kind].markable
}

func appendClock(dst []byte, _ *core.Clock) ([]byte, error) { return dst, nil }

func readClock(b []byte) (*core.Clock, error) {
	p := payload{b: b}
	return new(core.Clock), p.end()
}

func appendPostIndex(dst []byte, c *core.PostIndex) ([]byte, error) {
	t := &c.Tick
	if t.Feed >= core.Feeds {
		return dst, errEnum
	}
	if len(t.Sources) > sourcesMax || len(c.Audit.Who) > stringMax || len(c.Audit.Why) > stringMax {
		return dst, errTooLong
	}
	dst = append(dst, byte(t.Feed), t.Count)
	dst = appendFlag(dst, t.Manual)
	dst = binary.AppendVarint(dst, t.Second)
	dst = binary.AppendUvarint(dst, uint64(t.Price))
	dst = binary.AppendUvarint(dst, uint64(len(t.Sources)))
	for _, s := range t.Sources {
		if len(s.Name) > stringMax {
			return dst, errTooLong
		}
		dst = appendString(dst, s.Name)
		dst = binary.AppendUvarint(dst, uint64(s.Price))
	}
	dst = appendString(dst, c.Audit.Who)
	return appendString(dst, c.Audit.Why), nil
}

func readPostIndex(b []byte) (*core.PostIndex, error) {
	p := payload{b: b}
	feed, count := p.byte(), p.byte()
	if feed >= core.Feeds {
		p.fail(errEnum)
	}
	t := core.IndexTick{
		Feed: core.Feed(feed), Count: count, Manual: p.flag(),
		Second: p.i(math.MinInt64, math.MaxInt64), Price: core.Price(p.u(math.MaxUint64)),
	}
	n := p.u(sourcesMax)
	for i := uint64(0); i < n && p.err == nil; i++ {
		t.Sources = append(t.Sources, core.SourcePrice{Name: p.string(stringMax), Price: core.Price(p.u(math.MaxUint64))})
	}
	c := &core.PostIndex{Tick: t, Audit: core.Audit{Who: p.string(stringMax), Why: p.string(stringMax)}}
	return c, p.end()
}
