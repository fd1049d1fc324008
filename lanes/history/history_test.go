package history

import (
	"flag"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"
)

var histories = flag.Int("histories", 6, "how many histories to take and check")

// take lets callers of all lanes loose on a fresh venue, and checks what they saw.
func take(t *testing.T, seed uint64) (operations, silent int) {
	s := open(t)
	var all sync.WaitGroup
	errs := make(chan error, 8)
	for client, c := range []struct {
		user int
		via  lane
	}{{0, viaREST}, {1, viaREST}, {0, viaTool}, {1, viaTool}} {
		all.Go(func() { errs <- s.call(client, c.user, c.via, 25, seed) })
	}
	all.Go(func() { errs <- s.watch(4, 10) })
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s.judge(t, seed)
}

func tell(ops []porcupine.Operation) (out string) {
	for _, op := range ops {
		out += fmt.Sprintf("%9d–%9d client %d %v\n", op.Call/1000, op.Return/1000, op.ClientId, fmt.Sprintf("%+v → %+v", op.Input, op.Output))
	}
	return out
}

func TestHistories(t *testing.T) {
	operations, silent := 0, 0
	for seed := range uint64(*histories) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			n, m := take(t, seed)
			operations, silent = operations+n, silent+m
		})
	}
	t.Logf("%d histories, %d operations, of which %d placements happened whose answer was lost", *histories, operations, silent)
}

// What could not have happened is found: a read of yesterday's book, an order that was
// filled twice, a cancel that did nothing, money that was not taken, a lost order.
func TestTheCheckFinds(t *testing.T) {
	const funds = 1_000_000
	for name, ops := range map[string][]porcupine.Operation{
		"a stale book": {
			did(asked{kind: place, id: 1, tick: 5000, qty: 2}, told{rest: 2}, 0, 10),
			did(asked{kind: book}, told{book: "/"}, 20, 30),
		},
		"one order, two fills": {
			did(asked{kind: place, id: 1, tick: 5000, qty: 2}, told{rest: 2}, 0, 10),
			did(asked{kind: place, user: 1, id: 2, tick: 5000, qty: 2}, told{filled: 2, fills: "2×5000"}, 20, 30),
			did(asked{kind: place, user: 1, id: 3, tick: 5000, qty: 2}, told{filled: 2, fills: "2×5000"}, 20, 30),
		},
		"a canceled order that trades": {
			did(asked{kind: place, id: 1, tick: 5000, qty: 2}, told{rest: 2}, 0, 10),
			did(asked{kind: cancel, id: 1}, told{left: 2}, 20, 30),
			did(asked{kind: place, user: 1, id: 2, tick: 5000, qty: 2}, told{filled: 2, fills: "2×5000"}, 40, 50),
		},
		"nothing reserved": {
			did(asked{kind: place, id: 1, tick: 5000, qty: 2}, told{rest: 2}, 0, 10),
			did(asked{kind: balance}, told{cash: funds}, 20, 30),
		},
		"the worse price first": {
			did(asked{kind: place, id: 1, tick: 5000, qty: 1}, told{rest: 1}, 0, 10),
			did(asked{kind: place, id: 2, tick: 5100, qty: 1}, told{rest: 1}, 20, 30),
			did(asked{kind: place, user: 1, id: 3, tick: 5000, qty: 1}, told{filled: 1, fills: "1×5000"}, 40, 50),
		},
		"an order that happened and is not there": {
			did(asked{kind: place, id: 1, tick: 5000, qty: 2}, told{silent: true}, 0, math.MaxInt64),
			did(asked{kind: cancel, id: 1}, told{left: 2}, 20, 30),
			did(asked{kind: cancel, id: 1}, told{left: 2}, 40, 50),
		},
		"writes numbered the wrong way round": {
			did(asked{kind: place, id: 1, tick: 5000, qty: 2}, told{seq: 5, rest: 2}, 0, 10),
			did(asked{kind: place, id: 2, tick: 5000, qty: 2}, told{seq: 4, rest: 2}, 20, 30),
		},
		"one number twice": {
			did(asked{kind: place, id: 1, tick: 5000, qty: 2}, told{seq: 5, rest: 2}, 0, 30),
			did(asked{kind: place, id: 2, tick: 5000, qty: 2}, told{seq: 5, rest: 2}, 0, 30),
		},
		"a read that says it is behind": {
			did(asked{kind: place, id: 1, tick: 5000, qty: 2}, told{seq: 5, rest: 2}, 0, 10),
			did(asked{kind: book}, told{seq: 4, book: "2×5000/"}, 20, 30),
		},
		"numbers in another order than what was done": {
			did(asked{kind: place, id: 1, tick: 5000, qty: 2}, told{seq: 5, rest: 2}, 0, 30),
			did(asked{kind: place, user: 1, id: 2, tick: 5000, qty: 2}, told{seq: 4, filled: 2, fills: "2×5000"}, 0, 30),
		},
	} {
		if porcupine.CheckOperations(venue(funds), ops) {
			t.Errorf("%s is taken", name)
		}
	}
	good := []porcupine.Operation{
		did(asked{kind: place, id: 1, tick: 5000, qty: 2}, told{seq: 5, rest: 2}, 0, 100),
		did(asked{kind: book}, told{seq: 4, book: "/"}, 20, 30),
		did(asked{kind: book}, told{seq: 5, book: "2×5000/"}, 40, 50),
		did(asked{kind: place, user: 1, id: 2, tick: 5100, qty: 3}, told{seq: 6, filled: 2, rest: 1, fills: "2×5000"}, 110, 120),
		did(asked{kind: balance}, told{cash: funds - 10_000}, 130, 140),
		did(asked{kind: balance, user: 1}, told{cash: funds - 10_000 - 5100, reserved: 5100}, 130, 140),
		did(asked{kind: decrease, user: 1, id: 2, qty: 1}, told{code: "invalid_decrease"}, 150, 160),
	}
	if !porcupine.CheckOperations(venue(funds), good) {
		t.Error("a sound history is refused")
	}
}

func did(in asked, out told, call, back int64) porcupine.Operation {
	return porcupine.Operation{ClientId: int(call), Input: in, Output: out, Call: call, Return: back}
}
