package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// kind of operation.
type kind uint8

const (
	place kind = iota
	cancel
	decrease // to a quantity
	balance
	book
)

func (k kind) String() string {
	return [...]string{"place", "cancel", "decrease", "balance", "book"}[k]
}

// asked is what a caller wanted. User 0 buys YES, user 1 buys NO, so that they trade
// with each other and never with themselves; orders are named by client_order_id.
type asked struct {
	kind      kind
	user      int
	id        uint64
	tick, qty int64
}

// told is what it was answered.
type told struct {
	seq            uint64 // of a write, or the as_of_seq of a read; 0: not known
	code           string // of a refusal
	silent         bool   // nothing was answered, and it is known that it happened
	filled, rest   int64
	fills          string
	left           int64 // canceled, or remaining after a decrease
	cash, reserved int64
	book           string
}

// order rests.
type order struct {
	id         uint64
	user       int
	tick, left int64
}

// state is a market of two traders without fees. Orders are in the order of time.
type state struct {
	seq            uint64 // the highest that was told until now
	orders         []order
	cash, reserved [2]int64
}

// step lets an operation happen, and tells what must be answered.
func (s state) step(in asked) (told, state) {
	s.orders = slices.Clone(s.orders)
	at := slices.IndexFunc(s.orders, func(o order) bool { return o.id == in.id && o.user == in.user })
	switch in.kind {
	case place:
		return s.place(in)
	case cancel:
		if at < 0 {
			return told{code: "unknown_order"}, s
		}
		left := s.orders[at].left
		s.lower(at, left)
		return told{left: left}, s
	case decrease:
		if at < 0 || in.qty >= s.orders[at].left {
			return told{code: "invalid_decrease"}, s
		}
		s.lower(at, s.orders[at].left-in.qty)
		return told{left: in.qty}, s
	case balance:
		return told{cash: s.cash[in.user], reserved: s.reserved[in.user]}, s
	default:
		return told{book: s.levels(0) + "/" + s.levels(1)}, s
	}
}

// lower takes n off a resting order and frees what they reserved.
func (s *state) lower(at int, n int64) {
	o := &s.orders[at]
	s.cash[o.user] += n * o.tick
	s.reserved[o.user] -= n * o.tick
	if o.left -= n; o.left == 0 {
		s.orders = slices.Delete(s.orders, at, at+1)
	}
}

func (s state) place(in asked) (told, state) {
	out, left := told{}, in.qty
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
		s.orders = append(s.orders, order{in.id, in.user, in.tick, left})
		s.cash[in.user] -= left * in.tick
		s.reserved[in.user] += left * in.tick
	}
	out.filled, out.rest, out.fills = in.qty-left, left, strings.Join(fills, " ")
	return out, s
}

// best is the order of a user that a taker at `tick` meets first: highest price, then
// longest there; −1 if none.
func (s *state) best(user int, tick int64) int {
	at := -1
	for i, o := range s.orders {
		if o.user == user && o.tick+tick >= 10000 && (at < 0 || o.tick > s.orders[at].tick) {
			at = i
		}
	}
	return at
}

// levels are a user's bids, best first.
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

// after asks that what was told of sequence numbers tells the same order: a write has
// a number of its own above all before it, a read is as of the last of them.
func (s state) after(in asked, seq uint64) (bool, state) {
	switch write := in.kind != balance && in.kind != book; {
	case seq == 0:
		return true, s
	case seq < s.seq, write && seq == s.seq:
		return false, s
	}
	s.seq = seq
	return true, s
}

// venue is the model that porcupine searches with.
func venue(funds int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{cash: [2]int64{funds, funds}} },
		Step: func(was, input, output any) (bool, any) {
			in, got := input.(asked), output.(told)
			ok, s := was.(state).after(in, got.seq)
			if !ok {
				return false, was
			}
			want, is := s.step(in)
			want.seq = got.seq
			return got.silent || got == want, is
		},
		Equal: func(a, b any) bool {
			x, y := a.(state), b.(state)
			return x.seq == y.seq && x.cash == y.cash && x.reserved == y.reserved && slices.Equal(x.orders, y.orders)
		},
		DescribeOperation: func(input, output any) string {
			return fmt.Sprintf("%+v → %+v", input, output)
		},
	}
}
