package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// kind is a kind of operation.
type kind uint8

const (
	place kind = iota
	cancel
	decrease // to a quantity
	balance
	book
	transfer // of the owner: qty pips to user 1, which is its agent
	halt     // of the owner
	resume   // of the owner
	approve  // of an operator: the deposit with number id, of qty pips to user 1, that another one requested
	replace  // of order old by order id
	deposit  // of an operator: qty pips to user 1
	quote    // of one side, for the user's group; the other side is null
	ask      // of user 1: an order with number id, which the owner has to decide
	decide   // of the owner: qty 1 approves ask id, 0 rejects it
	withdraw // of user 1: ask id
)

func (k kind) String() string {
	return [...]string{"place", "cancel", "decrease", "balance", "book", "transfer", "halt", "resume", "approve", "replace", "deposit", "quote", "ask", "decide", "withdraw"}[k]
}

// operation is a request. User 0 buys YES and user 1 buys NO, so that they trade with each
// other and never with themselves. User 1 is the agent of an owner who does not trade. Orders
// are identified by client_order_id.
type operation struct {
	kind      kind
	user      int
	id        uint64
	tick, qty int64
	old       uint64 // of a replace
}

// result is the answer to an operation.
type result struct {
	seq             uint64 // of a write, or the as_of_seq of a read; 0 if unknown
	code            string // the error code; "" for a success
	unanswered      bool   // no answer was received; the operation may have been executed
	filled, resting int64
	fills           string
	left            int64 // the canceled quantity, also of a replaced order, or the one remaining after a decrease
	gone            int64 // the orders that a quote canceled
	kept            bool  // a quote kept an order
	cash, reserved  int64
	book            string
}

// order is a resting order.
type order struct {
	id         uint64
	user       int
	tick, left int64
	quoted     bool // by a quote
}

// state is a market of two traders without fees, of whom user 1 can be halted. Its orders are
// in time priority.
type state struct {
	seq            uint64 // the highest seq of an answer so far
	orders         []order
	cash, reserved [2]int64
	halted         bool
	approved       uint64 // a bit for each deposit that was approved

	waiting uint64    // a bit for each ask
	decided [2]uint64 // a bit for each ask that was rejected, and that was approved
}

// askQty is the quantity of an ask: an order that fills entirely or not at all, and no order is as large.
const askQty = 5000

// largestDeposit is $1 billion, in pips.
const largestDeposit = 1_000_000_000 * 10_000

// step executes an operation and returns its result and the new state.
func (s state) step(in operation) (result, state) {
	s.orders = slices.Clone(s.orders)
	at := slices.IndexFunc(s.orders, func(o order) bool { return o.id == in.id && o.user == in.user })
	switch in.kind {
	case place:
		if s.halted && in.user == 1 {
			return result{code: "mandate_violation"}, s
		}
		return s.place(in)
	case replace:
		at := slices.IndexFunc(s.orders, func(o order) bool { return o.id == in.old && o.user == in.user })
		if at < 0 {
			return result{code: "unknown_order"}, s
		}
		left := s.orders[at].left
		s.lower(at, left)
		out, s := s.place(in)
		out.left = left
		return out, s
	case quote:
		if s.halted && in.user == 1 {
			return result{code: "mandate_violation"}, s
		}
		return s.quote(in)
	case transfer:
		s.cash[1] += in.qty
		return result{}, s
	case halt:
		s.halted, s.waiting = true, 0
		for at := len(s.orders) - 1; at >= 0; at-- {
			if s.orders[at].user == 1 {
				s.lower(at, s.orders[at].left)
			}
		}
		return result{}, s
	case resume:
		s.halted = false
		return result{}, s
	case approve:
		if bit := uint64(1) << in.id; s.approved&bit == 0 { // again changes nothing
			s.approved |= bit
			s.cash[1] += in.qty
		}
		return result{}, s
	case deposit:
		if in.qty > largestDeposit {
			return result{code: "bad_amount"}, s
		}
		s.cash[1] += in.qty
		return result{}, s
	case ask:
		if s.halted {
			return result{code: "mandate_violation"}, s
		}
		s.waiting |= 1 << in.id
		return result{code: "waiting"}, s
	case decide:
		bit := uint64(1) << in.id
		if s.waiting&bit != 0 {
			s.waiting &^= bit
			s.decided[in.qty] |= bit
		}
		if s.decided[in.qty]&bit == 0 {
			return result{code: "invalid_transition"}, s
		}
		return result{code: [2]string{"rejected", "placed"}[in.qty]}, s // again too
	case withdraw:
		bit := uint64(1) << in.id
		if s.waiting&bit == 0 {
			return result{code: "unknown_order"}, s
		}
		s.waiting &^= bit
		return result{left: askQty}, s
	case cancel:
		if at < 0 {
			return result{code: "unknown_order"}, s
		}
		left := s.orders[at].left
		s.lower(at, left)
		return result{left: left}, s
	case decrease:
		if at < 0 || in.qty >= s.orders[at].left {
			return result{code: "invalid_decrease"}, s
		}
		s.lower(at, s.orders[at].left-in.qty)
		return result{left: in.qty}, s
	case balance:
		return result{cash: s.cash[in.user], reserved: s.reserved[in.user]}, s
	default:
		return result{book: s.levels(0) + "/" + s.levels(1)}, s
	}
}

// lower reduces a resting order by n and releases their reservation.
func (s *state) lower(at int, n int64) {
	o := &s.orders[at]
	s.cash[o.user] += n * o.tick
	s.reserved[o.user] -= n * o.tick
	if o.left -= n; o.left == 0 {
		s.orders = slices.Delete(s.orders, at, at+1)
	}
}

func (s state) place(in operation) (result, state) {
	out, left := result{}, in.qty
	var fills []string
	for left > 0 {
		at := s.best(1-in.user, in.tick)
		if at < 0 {
			break
		}
		o := &s.orders[at]
		n := min(left, o.left)
		s.cash[in.user] -= n * (10000 - o.tick)
		s.reserved[o.user] -= n * o.tick
		yes := o.tick
		if o.user == 1 {
			yes = 10000 - o.tick
		}
		fills = append(fills, fmt.Sprintf("%d×%d", n, yes))
		left -= n
		if o.left -= n; o.left == 0 {
			s.orders = slices.Delete(s.orders, at, at+1)
		}
	}
	if left > 0 {
		s.orders = append(s.orders, order{in.id, in.user, in.tick, left, in.kind == quote})
		s.cash[in.user] -= left * in.tick
		s.reserved[in.user] += left * in.tick
	}
	out.filled, out.resting, out.fills = in.qty-left, left, strings.Join(fills, " ")
	return out, s
}

// quote leaves the user with one quoted order, none if it would trade.
func (s state) quote(in operation) (out result, _ state) {
	kept := slices.IndexFunc(s.orders, func(o order) bool { return o.user == in.user && o.quoted && o.tick == in.tick && o.left >= in.qty })
	for at := len(s.orders) - 1; at >= 0; at-- {
		if o := s.orders[at]; o.user == in.user && o.quoted && at != kept {
			s.lower(at, o.left)
			out.gone++
			if at < kept {
				kept--
			}
		}
	}
	switch {
	case kept >= 0:
		s.lower(kept, s.orders[kept].left-in.qty)
		out.kept, out.resting = true, in.qty
	case s.best(1-in.user, in.tick) >= 0:
		out.code = "post_only_cross"
	default:
		gone := out.gone
		out, s = s.place(in)
		out.gone = gone
	}
	return out, s
}

// best returns the index of the user's order that a taker at tick trades with first: the
// highest price, then the oldest. It returns -1 if there is none.
func (s *state) best(user int, tick int64) int {
	at := -1
	for i, o := range s.orders {
		if o.user == user && o.tick+tick >= 10000 && (at < 0 || o.tick > s.orders[at].tick) {
			at = i
		}
	}
	return at
}

// levels returns a user's bids as text, best first.
func (s *state) levels(user int) string {
	sum := map[int64]int64{}
	for _, o := range s.orders {
		if o.user == user {
			sum[o.tick] += o.left
		}
	}
	var ticks []int64
	for t := range sum {
		ticks = append(ticks, t)
	}
	slices.SortFunc(ticks, func(a, b int64) int { return int(b - a) })
	var out []string
	for _, t := range ticks {
		out = append(out, fmt.Sprintf("%d×%d", sum[t], t))
	}
	return strings.Join(out, " ")
}

// after reports whether an operation with this seq may follow in the state: a write needs a
// higher seq than every operation before it, a read at least the last write's.
func (s state) after(in operation, seq uint64) (bool, state) {
	switch write := in.kind != balance && in.kind != book; {
	case seq == 0:
		return true, s
	case seq < s.seq, write && seq == s.seq:
		return false, s
	}
	s.seq = seq
	return true, s
}

// venue returns the model for porcupine. funds is the cash of the users.
func venue(funds ...int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{cash: [2]int64{funds[0], funds[1]}} },
		Step: func(before, input, output any) (bool, any) {
			in, got := input.(operation), output.(result)
			ok, s := before.(state).after(in, got.seq)
			if !ok {
				return false, before
			}
			want, next := s.step(in)
			want.seq = got.seq
			return got.unanswered || got == want, next
		},
		Equal: func(a, b any) bool {
			x, y := a.(state), b.(state)
			return x.seq == y.seq && x.halted == y.halted && x.approved == y.approved && x.waiting == y.waiting && x.decided == y.decided && x.cash == y.cash && x.reserved == y.reserved && slices.Equal(x.orders, y.orders)
		},
		DescribeOperation: func(input, output any) string {
			return fmt.Sprintf("%+v → %+v", input, output)
		},
	}
}
