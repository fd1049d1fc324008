package history

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
)

var histories = flag.Int("histories", 6, "number of histories to record and check")

// record records and checks a history of clients of all lanes.
func record(t *testing.T, seed uint64) (operations, silent int) {
	s := newTestVenue(t)
	s.runClients(t, seed, 25, 12, 6, func() error { return s.watch(4, 10) })
	return s.checkLinearizable(t, seed)
}

func formatHistory(ops []porcupine.Operation) (out string) {
	for _, op := range ops {
		out += fmt.Sprintf("%9d–%9d client %d %v\n", op.Call/1000, op.Return/1000, op.ClientId, fmt.Sprintf("%+v → %+v", op.Input, op.Output))
	}
	return out
}

// TestHistories checks that histories without crashes are linearizable.
func TestHistories(t *testing.T) {
	operations, silent := 0, 0
	for seed := range uint64(*histories) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			n, m := record(t, seed)
			operations, silent = operations+n, silent+m
		})
	}
	t.Logf("%d histories, %d operations, of which %d placements were executed without an answer", *histories, operations, silent)
}

// TestCheckFindsImpossibleHistories checks that the model rejects impossible histories, such as a stale read or
// an order filled twice, and accepts a possible one.
func TestCheckFindsImpossibleHistories(t *testing.T) {
	const funds = 1_000_000
	for name, ops := range map[string][]porcupine.Operation{
		"a stale book": {
			did(operation{kind: place, id: 1, tick: 5000, qty: 2}, result{resting: 2}, 0, 10),
			did(operation{kind: book}, result{book: "/"}, 20, 30),
		},
		"one order, two fills": {
			did(operation{kind: place, id: 1, tick: 5000, qty: 2}, result{resting: 2}, 0, 10),
			did(operation{kind: place, user: 1, id: 2, tick: 5000, qty: 2}, result{filled: 2, fills: "2×5000"}, 20, 30),
			did(operation{kind: place, user: 1, id: 3, tick: 5000, qty: 2}, result{filled: 2, fills: "2×5000"}, 20, 30),
		},
		"a canceled order that trades": {
			did(operation{kind: place, id: 1, tick: 5000, qty: 2}, result{resting: 2}, 0, 10),
			did(operation{kind: cancel, id: 1}, result{left: 2}, 20, 30),
			did(operation{kind: place, user: 1, id: 2, tick: 5000, qty: 2}, result{filled: 2, fills: "2×5000"}, 40, 50),
		},
		"nothing reserved": {
			did(operation{kind: place, id: 1, tick: 5000, qty: 2}, result{resting: 2}, 0, 10),
			did(operation{kind: balance}, result{cash: funds}, 20, 30),
		},
		"the worse price first": {
			did(operation{kind: place, id: 1, tick: 5000, qty: 1}, result{resting: 1}, 0, 10),
			did(operation{kind: place, id: 2, tick: 5100, qty: 1}, result{resting: 1}, 20, 30),
			did(operation{kind: place, user: 1, id: 3, tick: 5000, qty: 1}, result{filled: 1, fills: "1×5000"}, 40, 50),
		},
		"an order canceled twice": {
			did(operation{kind: place, id: 1, tick: 5000, qty: 2}, result{unanswered: true}, 0, math.MaxInt64),
			did(operation{kind: cancel, id: 1}, result{left: 2}, 20, 30),
			did(operation{kind: cancel, id: 1}, result{left: 2}, 40, 50),
		},
		"a later write with a lower seq": {
			did(operation{kind: place, id: 1, tick: 5000, qty: 2}, result{seq: 5, resting: 2}, 0, 10),
			did(operation{kind: place, id: 2, tick: 5000, qty: 2}, result{seq: 4, resting: 2}, 20, 30),
		},
		"one seq twice": {
			did(operation{kind: place, id: 1, tick: 5000, qty: 2}, result{seq: 5, resting: 2}, 0, 30),
			did(operation{kind: place, id: 2, tick: 5000, qty: 2}, result{seq: 5, resting: 2}, 0, 30),
		},
		"a read as of a seq before the last write": {
			did(operation{kind: place, id: 1, tick: 5000, qty: 2}, result{seq: 5, resting: 2}, 0, 10),
			did(operation{kind: book}, result{seq: 4, book: "2×5000/"}, 20, 30),
		},
		"seqs in another order than the results": {
			did(operation{kind: place, id: 1, tick: 5000, qty: 2}, result{seq: 5, resting: 2}, 0, 30),
			did(operation{kind: place, user: 1, id: 2, tick: 5000, qty: 2}, result{seq: 4, filled: 2, fills: "2×5000"}, 0, 30),
		},
		"an order of an agent that is halted": {
			did(operation{kind: halt, user: 1}, result{seq: 5}, 0, 10),
			did(operation{kind: place, user: 1, id: 1, tick: 5000, qty: 2}, result{seq: 6, resting: 2}, 20, 30),
		},
		"an order that a halt left in the book": {
			did(operation{kind: place, user: 1, id: 1, tick: 5000, qty: 2}, result{seq: 5, resting: 2}, 0, 10),
			did(operation{kind: halt, user: 1}, result{seq: 6}, 20, 30),
			did(operation{kind: place, id: 2, tick: 5000, qty: 2}, result{seq: 7, filled: 2, fills: "2×5000"}, 40, 50),
		},
		"a transfer without the money": {
			did(operation{kind: transfer, user: 1, qty: 7}, result{seq: 5}, 0, 10),
			did(operation{kind: balance, user: 1}, result{cash: funds}, 20, 30),
		},
		"an order approved that was taken back": {
			did(operation{kind: ask, user: 1, id: 3}, result{seq: 5, code: "waiting"}, 0, 10),
			did(operation{kind: withdraw, user: 1, id: 3}, result{seq: 6, left: askQty}, 20, 30),
			did(operation{kind: decide, id: 3, qty: 1}, result{seq: 7, code: "placed"}, 40, 50),
		},
		"both decisions": {
			did(operation{kind: ask, user: 1, id: 3}, result{seq: 5, code: "waiting"}, 0, 10),
			did(operation{kind: decide, id: 3, qty: 1}, result{seq: 6, code: "placed"}, 20, 40),
			did(operation{kind: decide, id: 3}, result{seq: 7, code: "rejected"}, 20, 40),
		},
		"an order that waits through a halt": {
			did(operation{kind: ask, user: 1, id: 3}, result{seq: 5, code: "waiting"}, 0, 10),
			did(operation{kind: halt, user: 1}, result{seq: 6}, 20, 30),
			did(operation{kind: decide, id: 3, qty: 1}, result{seq: 7, code: "placed"}, 40, 50),
		},
		"a deposit approved twice": {
			did(operation{kind: approve, user: 1, id: 3, qty: 7}, result{seq: 5}, 0, 10),
			did(operation{kind: approve, user: 1, id: 3, qty: 7}, result{seq: 6}, 20, 30),
			did(operation{kind: balance, user: 1}, result{cash: funds + 14}, 40, 50),
		},
	} {
		if porcupine.CheckOperations(venue(funds, funds), ops) {
			t.Errorf("%s: accepted", name)
		}
	}
	good := []porcupine.Operation{
		did(operation{kind: place, id: 1, tick: 5000, qty: 2}, result{seq: 5, resting: 2}, 0, 100),
		did(operation{kind: book}, result{seq: 4, book: "/"}, 20, 30),
		did(operation{kind: book}, result{seq: 5, book: "2×5000/"}, 40, 50),
		did(operation{kind: place, user: 1, id: 2, tick: 5100, qty: 3}, result{seq: 6, filled: 2, resting: 1, fills: "2×5000"}, 110, 120),
		did(operation{kind: balance}, result{cash: funds - 10_000}, 130, 140),
		did(operation{kind: balance, user: 1}, result{cash: funds - 10_000 - 5100, reserved: 5100}, 130, 140),
		did(operation{kind: decrease, user: 1, id: 2, qty: 1}, result{code: "invalid_decrease"}, 150, 160),
		did(operation{kind: halt, user: 1}, result{seq: 7}, 170, 180),
		did(operation{kind: place, user: 1, id: 3, tick: 5000, qty: 1}, result{code: "mandate_violation"}, 190, 200),
		did(operation{kind: transfer, user: 1, qty: 100}, result{seq: 9}, 190, 200),
		did(operation{kind: balance, user: 1}, result{seq: 9, cash: funds - 10_000 + 100}, 210, 220),
		did(operation{kind: resume, user: 1}, result{seq: 10}, 230, 240),
		did(operation{kind: place, user: 1, id: 4, tick: 5000, qty: 1}, result{seq: 11, resting: 1}, 250, 260),
		did(operation{kind: approve, user: 1, id: 3, qty: 7}, result{seq: 12}, 270, 280),
		did(operation{kind: approve, user: 1, id: 3, qty: 7}, result{seq: 13}, 270, 280),
		did(operation{kind: ask, user: 1, id: 1}, result{seq: 14, code: "waiting"}, 300, 310),
		did(operation{kind: decide, id: 1, qty: 1}, result{seq: 15, code: "placed"}, 320, 340),
		did(operation{kind: decide, id: 1, qty: 1}, result{seq: 16, code: "placed"}, 320, 340),
		did(operation{kind: decide, id: 1}, result{code: "invalid_transition"}, 320, 340),
		did(operation{kind: balance, user: 1}, result{seq: 13, cash: funds - 10_000 + 100 - 5000 + 7, reserved: 5000}, 290, 300),
	}
	if !porcupine.CheckOperations(venue(funds, funds), good) {
		t.Error("a possible history is rejected")
	}
}

func did(in operation, out result, call, back int64) porcupine.Operation {
	return porcupine.Operation{ClientId: int(call), Input: in, Output: out, Call: call, Return: back}
}
