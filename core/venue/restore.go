package venue

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"duplex/core"
	"duplex/core/book"
	"duplex/core/ledger"
	"duplex/core/statecode"
)

var errPieces = errors.New("the pieces are not one encoded state")

// Restore returns the venue that MarshalBinary encoded as b. It fails if b is not a state or if the
// restored venue does not pass Audit.
func Restore(b []byte) (v *Venue, err error) {
	var s state
	if err := s.unmarshal(b); err != nil {
		return nil, fmt.Errorf("state of the venue: %w", err)
	}
	return restore(&s)
}

// RestorePieces returns the venue that Image.Pieces encoded, and the hash of its state. It fails as
// Restore does, and if pieces are missing or left over. It is done with a piece before it asks for the
// next one.
func RestorePieces(pieces iter.Seq2[[]byte, error]) (v *Venue, hash [32]byte, err error) {
	next, stop := iter.Pull2(pieces)
	defer stop()
	h := sha256.New()
	take := func() ([]byte, error) {
		b, err, ok := next()
		if err == nil && !ok {
			err = errPieces
		}
		h.Write(b)
		return b, err
	}
	var s state
	err = s.read(take)
	if _, _, more := next(); err == nil && more {
		err = errPieces
	}
	if err != nil {
		return nil, hash, fmt.Errorf("state of the venue: %w", err)
	}
	h.Sum(hash[:0])
	v, err = restore(&s)
	return v, hash, err
}

// restore builds a venue from its decoded state and audits it.
func restore(s *state) (v *Venue, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, fmt.Errorf("state of the venue is inconsistent: %v", p)
		}
	}()
	if err := s.Rules.Revision.Known(); err != nil {
		return nil, err
	}
	v = New()
	v.putRules(s.Rules)
	v.now, v.fees, v.windows, v.ledger = s.Now, s.Fees, s.Windows, ledger.Restore(s.Ledger)
	v.ledger.Begin(core.DayOf(v.now.Ts)) // so that reads before the next command have its day
	v.free, v.rounds = s.Free, s.Rounds
	series, feeds := core.SeriesSince(s.Rules.Revision) // the others are as in a new venue
	copy(v.feeds[:feeds], s.Feeds[:])
	copy(v.trading[:series], s.Trading[:])
	copy(v.last[:series], s.Last[:])
	v.computeReservations()
	for i := range s.Accounts {
		if err := v.restoreAccount(&s.Accounts[i]); err != nil {
			return nil, err
		}
	}
	for i := range s.Keys {
		v.storeKey(&s.Keys[i])
		if s.Keys[i].Grant != nil {
			v.armGrant(&s.Keys[i])
		}
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
		v.noteOpen(w)
	}
	v.keys.last = s.LastKey
	if err := v.ledger.RestorePerformance(s.Performance); err != nil {
		return nil, err
	}
	for i := range s.Transfers {
		t := &s.Transfers[i]
		v.storeTransfer(v.family(t.From), t)
	}
	v.operators = s.Operators
	for i := range s.Approvals {
		v.approvals.Set(s.Approvals[i].ID, &s.Approvals[i])
	}
	v.alone.day, v.settings = s.AloneDay, s.Settings
	for i := range s.Alone {
		v.alone.sums.Set(aloneKey(&s.Alone[i]), s.Alone[i])
	}
	if err := v.restoreMarks(s.Marks); err != nil {
		return nil, err
	}
	for _, g := range s.Groups {
		v.groups.Set(groupKey(g.User, g.Group), &group{limit: g.Limit, window: g.Window, tripped: g.Tripped, newest: g.Newest, sums: g.Sums})
	}
	for _, x := range s.Switches {
		key := groupKey(x.User, x.Group)
		g, found := v.groups.Get(key)
		if !found {
			g = &group{}
			v.groups.Set(key, g)
		}
		if g.deadman, g.line = (deadman{x.Timeout, x.Deadline}), x.Line; x.Deadline != 0 {
			v.deadmanTimers.add(x.Deadline, key)
		}
	}
	v.bounded = v.groups.Len() > 0
	for _, x := range s.Members {
		v.members.Set(x.Node, member{x.Session, x.Beat})
	}
	for i := range s.Asks {
		v.asks.add(&s.Asks[i])
	}
	for _, r := range s.Requests {
		ids, err := restoreIDSet(r.IDs)
		if err != nil {
			return nil, fmt.Errorf("client_request_ids of account %d: %w", r.User, err)
		}
		v.requests[r.User] = &ids
	}
	v.Audit()
	return v, nil
}

func (v *Venue) restoreAccount(x *accountState) error {
	a := account{User: x.User, deadman: deadman{x.Timeout, x.Deadline}}
	if x.IDs != nil {
		ids, err := restoreIDSet(x.IDs)
		if err != nil {
			return fmt.Errorf("client order ids of account %d: %w", x.User.ID, err)
		}
		a.ids = ids
	}
	v.storeAccount(a)
	if a.Agent != nil {
		v.armExpiry(&v.accounts[a.ID])
	}
	if at := a.deadman.deadline; at != 0 {
		v.deadmanTimers.add(at, groupKey(a.ID, 0))
	}
	return nil
}

// restoreOrders rebuilds the books and what the ledger knows of resting orders. An account's queue
// begins with its oldest order, so orders are added to the queues last, sorted by id.
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
		v.ledger.AddResting(x.User, x.Market, x.Side, x.Outcome, core.Qty(x.Left), core.Pips(x.Unit))
		if x.Expiry != 0 {
			v.expiryTimers.add(x.Expiry, uint64(x.ID))
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
		a := &v.accounts[v.pool.At(r).User]
		a.resting++
		v.pool.AddToAccount(&a.orders, r)
	}
}

// unmarshal decodes the state from the joined pieces.
func (s *state) unmarshal(b []byte) error {
	var values []cbor.RawMessage
	if err := statecode.Unmarshal(b, &values); err != nil {
		return err
	}
	to := reflect.ValueOf(s).Elem()
	fields := encodedFields(to.Type())
	if len(values) > len(fields) {
		return errPieces
	}
	for i, value := range values {
		if err := statecode.Unmarshal(value, to.Field(fields[i]).Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

// read decodes the state from its pieces, see Image.Pieces.
func (s *state) read(next func() ([]byte, error)) error {
	b, err := next()
	if err != nil {
		return err
	}
	to := reflect.ValueOf(s).Elem()
	fields := encodedFields(to.Type())
	// The state of an older program has fewer fields. The missing ones stay zero.
	n, err := readArrayHead(b)
	if err != nil || n > len(fields) {
		return errPieces
	}
	for _, i := range fields[:n] {
		if err := readField(to.Field(i), next); err != nil {
			return fmt.Errorf("%s: %w", to.Type().Field(i).Name, err)
		}
	}
	return nil
}

// readField decodes one field of state from its piece or pieces.
func readField(f reflect.Value, next func() ([]byte, error)) error {
	b, err := next()
	if err != nil {
		return err
	}
	if !isList(f.Type()) || len(b) == 1 && b[0] == cborNull {
		return statecode.Unmarshal(b, f.Addr().Interface())
	}
	n, err := readArrayHead(b)
	if err != nil {
		return err
	}
	f.Set(reflect.MakeSlice(f.Type(), 0, min(n, 1<<10)))
	for i := range n {
		if b, err = next(); err != nil {
			return err
		}
		f.Grow(1)
		f.SetLen(i + 1)
		if err := statecode.Unmarshal(b, f.Index(i).Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

// encodedFields returns the indexes of a struct's fields that are encoded.
func encodedFields(t reflect.Type) (list []int) {
	for i := range t.NumField() {
		if t.Field(i).Name != "_" {
			list = append(list, i)
		}
	}
	return list
}

// isList reports whether a field's elements are pieces of their own.
func isList(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && (t.Elem().Kind() == reflect.Struct || t.Elem().Kind() == reflect.Slice)
}

// readArrayHead returns the length in the head of a CBOR array. b must be exactly the head that
// appendHead writes.
func readArrayHead(b []byte) (n int, err error) {
	switch {
	case len(b) == 2:
		n = int(b[1])
	case len(b) == 3:
		n = int(binary.BigEndian.Uint16(b[1:]))
	case len(b) == 5:
		n = int(binary.BigEndian.Uint32(b[1:]))
	case len(b) == 1:
		n = int(b[0] & 31)
	}
	if !bytes.Equal(appendHead(nil, cborArray, uint64(n)), b) {
		return 0, errPieces
	}
	return n, nil
}
