package venue

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"duplex/core"
	"duplex/core/book"
)

// Image is the state at one seq. Later commands do not change it, and it can be encoded while the
// venue goes on. Client order ids, keys, deposits and withdrawals are shared with the venue, in
// trees that are copied on write; the rest is copied. So taking an Image costs time in proportion to
// accounts, holdings and resting orders, not to the venue's past.
type Image struct {
	state       state // without the fields below
	ids         []idSet
	keys        tree[uint64, *core.Key]
	orders      book.Image
	deposits    tree[string, core.Deposited]
	withdrawals tree[uint64, *core.Withdrawal]
	transfers   tree[uint64, *core.Transferred]
	approvals   tree[uint64, *core.Approval]
	alone       tree[string, core.AloneSum]
	marks       [][]markRecord
	requests    []requestImage
	asks        tree[uint64, *core.Ask]
}

// requestImage is the client_request_ids of an account.
type requestImage struct {
	user core.UserID
	ids  idSet
}

// Image returns the current state. It marks the trees as shared, so it needs exclusive access, also
// from other calls of Image. The error is always nil.
func (v *Venue) Image() (*Image, error) {
	s := state{
		Now: v.now, Rules: v.rules, Fees: v.fees, Windows: v.windows, Ledger: v.ledger.State(), Free: slices.Clone(v.free),
		Feeds: v.feeds, Trading: v.trading, Last: v.last, Rounds: v.rounds, Operators: slices.Clone(v.operators),
		AloneDay: v.alone.day, Settings: v.settings,
	}
	for i := range s.Feeds {
		s.Feeds[i].Ring.Ticks = slices.Clone(s.Feeds[i].Ring.Ticks)
	}
	n := len(v.accounts) - 1
	m := &Image{
		ids: make([]idSet, n), keys: copyTree(v.keys.all), orders: v.pool.Image(), deposits: copyTree(v.deposits), withdrawals: copyTree(v.withdrawals),
		transfers: copyTree(v.transfers), marks: slices.Clone(v.marks.chunks), approvals: copyTree(v.approvals),
		alone: copyTree(v.alone.sums), asks: copyTree(v.asks.all),
	}
	for _, u := range slices.Sorted(maps.Keys(v.requests)) {
		m.requests = append(m.requests, requestImage{u, v.requests[u].image()})
	}
	v.groups.Scan(func(key uint64, g *group) bool {
		u, id := core.UserID(key>>32), uint32(key)
		if g.limit != 0 {
			s.Groups = append(s.Groups, groupState{User: u, Group: id, Limit: g.limit, Window: g.window, Tripped: g.tripped, Newest: g.newest, Sums: g.sums})
		}
		if g.deadman.deadline != 0 || g.bound() {
			s.Switches = append(s.Switches, switchState{User: u, Group: id, Timeout: g.deadman.timeout, Deadline: g.deadman.deadline, Line: g.line})
		}
		return true
	})
	v.members.Scan(func(node uint32, x member) bool {
		s.Members = append(s.Members, memberState{Node: node, Session: x.session, Beat: x.beat})
		return true
	})
	s.LastKey, s.Performance = v.keys.last, v.ledger.PerformanceState()
	s.Accounts = make([]accountState, n)
	for i := range s.Accounts {
		a := &v.accounts[i+1]
		s.Accounts[i] = accountState{User: a.User, Timeout: a.deadman.timeout, Deadline: a.deadman.deadline}
		m.ids[i] = a.ids.image()
	}
	for i := range v.markets[1:] {
		x := &v.markets[i+1]
		s.Markets = append(s.Markets, marketState{Round: x.Round, Halted: x.halted, LastTick: x.lastTick, Volume: x.volume})
	}
	m.state = s
	return m, nil
}

// Pieces returns the encoded state in pieces, so that nothing holds the whole of it twice. Joined they
// are state in deterministic CBOR: the head of its array, then each field; a field that is a list of
// structs is its head, then each element. Equal commands give equal pieces on every machine. A piece
// is valid until the next one is asked for.
func (m *Image) Pieces() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		x := pieceWriter{yield: yield}
		x.enc = encoding.NewEncoder(&x.buf)
		s := &m.state
		fields := stateFields
		for atEnd := []int{len(m.requests), len(s.Groups), len(s.Switches), len(s.Members), m.asks.Len()}; fields > stateFieldsBeforeMakers && atEnd[fields-stateFieldsBeforeMakers-1] == 0; {
			fields--
		}
		if s.Rules.Revision < core.RevisionSteps {
			fields = stateFieldsBeforeSteps
		}
		if s.Rules.Revision == core.RevisionNone && len(s.Accounts) == 0 { // journals of dx 0.1.0 have the hash of such a state
			fields = stateFieldsBefore
		}
		x.head(uint64(fields))
		x.values(s.Now, s.Rules, s.Fees)
		list(&x, s.Windows)
		x.values(s.Ledger)
		x.accounts(m)
		if x.begin(m.keys.Len()) {
			m.keys.Scan(func(_ uint64, k *core.Key) bool { return x.values(k) })
		}
		list(&x, s.Markets)
		series, feeds := core.SeriesSince(s.Rules.Revision)
		x.values(s.Free, s.Feeds[:feeds], s.Trading[:series], s.Last[:series], s.Rounds)
		x.orders(&m.orders)
		if x.begin(m.deposits.Len()) {
			m.deposits.Scan(func(_ string, d core.Deposited) bool { return x.values(&d) })
		}
		if x.begin(m.withdrawals.Len()) {
			m.withdrawals.Scan(func(_ uint64, w *core.Withdrawal) bool { return x.values(w) })
		}
		if fields == stateFieldsBefore {
			return
		}
		x.values(s.LastKey)
		list(&x, s.Performance)
		if x.begin(m.transfers.Len()) {
			m.transfers.Scan(func(_ uint64, t *core.Transferred) bool { return x.values(t) })
		}
		x.marks(m)
		list(&x, s.Operators)
		if x.begin(m.approvals.Len()) {
			m.approvals.Scan(func(_ uint64, a *core.Approval) bool { return x.values(a) })
		}
		if fields == stateFieldsBeforeSteps {
			return
		}
		x.values(s.AloneDay)
		if x.begin(m.alone.Len()) {
			m.alone.Scan(func(_ string, s core.AloneSum) bool { return x.values(&s) })
		}
		list(&x, s.Settings)
		for i, write := range []func(){func() { x.requests(m) }, func() { list(&x, s.Groups) }, func() { list(&x, s.Switches) }, func() { list(&x, s.Members) }, func() { x.asks(m) }} {
			if fields > stateFieldsBeforeMakers+i {
				write()
			}
		}
	}
}

// MarshalBinary returns the joined pieces.
func (m *Image) MarshalBinary() (all []byte, err error) {
	for b, err := range m.Pieces() {
		if err != nil {
			return nil, err
		}
		all = append(all, b...)
	}
	return all, nil
}

// Hash returns the SHA-256 of the joined pieces, the state hash.
func (m *Image) Hash() (sum [32]byte, err error) {
	h := sha256.New()
	for b, err := range m.Pieces() {
		if err != nil {
			return sum, err
		}
		h.Write(b)
	}
	h.Sum(sum[:0])
	return sum, nil
}

// pieceWriter yields CBOR until the consumer stops or the first error.
type pieceWriter struct {
	yield func([]byte, error) bool
	done  bool
	buf   bytes.Buffer
	enc   *cbor.Encoder
}

// put yields a piece, and reports whether the consumer wants more.
func (x *pieceWriter) put(b []byte, err error) bool {
	if !x.done {
		x.done = !x.yield(b, err) || err != nil
	}
	return !x.done
}

// values yields each value as a piece.
func (x *pieceWriter) values(list ...any) bool {
	for _, v := range list {
		if x.done {
			return false
		}
		x.buf.Reset()
		err := x.enc.Encode(v)
		x.put(x.buf.Bytes(), err)
	}
	return !x.done
}

// head yields the head of an array of n values.
func (x *pieceWriter) head(n uint64) { x.put(appendHead(nil, cborArray, n), nil) }

// begin yields the head of an array of n values, and reports whether there are any. An empty one is
// null, as CBOR encodes a nil slice.
func (x *pieceWriter) begin(n int) bool {
	if n == 0 {
		x.put([]byte{cborNull}, nil)
		return false
	}
	x.head(uint64(n))
	return true
}

// list yields a slice as cbor.Marshal encodes it: null if it is nil, else its head and its elements.
func list[T any](x *pieceWriter, of []T) {
	if of == nil {
		x.begin(0)
		return
	}
	x.head(uint64(len(of)))
	for i := range of {
		x.values(&of[i])
	}
}

// The major types that are written here, and null (RFC 8949, section 3).
const (
	cborBytes = 2 << 5
	cborArray = 4 << 5
	cborNull  = 0xf6
)

// appendHead appends the head of a value: its major type, and its length n in the shortest form.
func appendHead(b []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n < 1<<8:
		return append(b, major|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, major|27), n)
	}
}

// accounts yields the accountStates, with the client order ids that m.state leaves out.
func (x *pieceWriter) accounts(m *Image) {
	if !x.begin(len(m.state.Accounts)) {
		return
	}
	var ids idEncoder
	var buf []byte // reused for each account
	for i := range m.state.Accounts {
		b, err := m.account(buf[:0], i, &ids, x.enc, &x.buf)
		if buf = b; !x.put(b, err) {
			return
		}
	}
}

// account appends the encoded account i to b.
func (m *Image) account(b []byte, i int, ids *idEncoder, enc *cbor.Encoder, buf *bytes.Buffer) ([]byte, error) {
	a, used := &m.state.Accounts[i], &m.ids[i]
	value := func(v any) error {
		buf.Reset()
		err := enc.Encode(v)
		b = append(b, buf.Bytes()...)
		return err
	}
	b = appendHead(b, cborArray, 4)
	err := value(&a.User)
	if used.n == 0 {
		b = append(b, cborNull)
	} else {
		n := ids.measure(used)
		b = slices.Grow(appendHead(b, cborBytes, n), int(n))
		b = ids.append(b, used)
	}
	return b, errors.Join(err, value(a.Timeout), value(a.Deadline))
}

// requests yields the requestStates.
func (x *pieceWriter) requests(m *Image) {
	if !x.begin(len(m.requests)) {
		return
	}
	var ids idEncoder
	for i := range m.requests {
		r := &m.requests[i]
		n := ids.measure(&r.ids)
		if !x.values(&requestState{User: r.user, IDs: ids.append(make([]byte, 0, n), &r.ids)}) {
			return
		}
	}
}

// asks yields what waits for an owner.
func (x *pieceWriter) asks(m *Image) {
	if x.begin(m.asks.Len()) {
		m.asks.Scan(func(_ uint64, a *core.Ask) bool { return x.values(a) })
	}
}

// queuedOrder is a resting order with its sort key: by market, bids before asks, by price, by time.
// Of two orders at one price the older has the lower id.
type queuedOrder struct {
	level uint32
	id    core.OrderID
	order *book.Order
	terms book.Terms
}

func queuedOrderOf(o *book.Order, t book.Terms) queuedOrder {
	level := uint32(o.Market())<<15 | 1<<14 | uint32(o.TickYes())
	if o.Bid() {
		level = uint32(o.Market())<<15 | uint32(core.TickMax-o.TickYes())
	}
	return queuedOrder{level, o.ID, o, t}
}

// orders yields all resting orders, sorted.
func (x *pieceWriter) orders(m *book.Image) {
	var queued []queuedOrder
	for o, t := range m.All() {
		queued = append(queued, queuedOrderOf(o, t))
	}
	slices.SortFunc(queued, func(a, b queuedOrder) int { return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.id, b.id)) })
	if !x.begin(len(queued)) {
		return
	}
	var s orderState
	for i := range queued {
		o, terms := queued[i].order, queued[i].terms
		flags := o.Flags()
		if o.Clipped() {
			flags |= flagClipped
		}
		s = orderState{
			ID: o.ID, User: o.User, Market: o.Market(), Side: o.Side(), Outcome: o.Outcome(), Flags: flags, TickYes: o.TickYes(),
			Left: o.Left, Unit: o.Unit, MakerRate: o.MakerRate, Group: terms.Group, Expiry: terms.Expiry,
		}
		if !x.values(&s) {
			return
		}
	}
}

// MarshalBinary returns the encoded state. It needs exclusive access.
func (v *Venue) MarshalBinary() ([]byte, error) {
	m, err := v.Image()
	if err != nil {
		return nil, err
	}
	return m.MarshalBinary()
}

// Hash returns the SHA-256 of the encoded state, the state hash
// (docs/rules/operation.md#determinism). It needs exclusive access.
func (v *Venue) Hash() ([32]byte, error) {
	m, err := v.Image()
	if err != nil {
		return [32]byte{}, err
	}
	return m.Hash()
}
