package tools

import (
	"sync"

	"duplex/core"
	"duplex/schemas"
)

// kept keeps answers that are long and often asked for again: of each K the last, with
// the question it answers, in which stands as of what it is true. It is written out when
// it is asked for a second time with nothing changed: what changes between any two
// questions costs nothing more than without.
type kept[K, Q comparable, V any] struct {
	mu sync.Mutex
	of map[K]*answer[Q, V]
}

type answer[Q comparable, V any] struct {
	question Q
	value    *V // nil until it was asked for twice
}

// get gives the answer if there is one. again tells that this was the question before,
// and its answer is worth keeping.
func (k *kept[K, Q, V]) get(key K, q Q) (v *V, again bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.of[key]
	if a == nil {
		if k.of == nil {
			k.of = map[K]*answer[Q, V]{}
		}
		if len(k.of) >= answersKept {
			for other := range k.of { // any: whoever asks on is soon back
				delete(k.of, other)
				break
			}
		}
		a = &answer[Q, V]{}
		k.of[key] = a
	} else if a.question == q {
		return a.value, true
	}
	*a = answer[Q, V]{question: q}
	return nil, false
}

// put keeps an answer, unless another question came meanwhile.
func (k *kept[K, Q, V]) put(key K, q Q, v V) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a := k.of[key]; a != nil && a.question == q {
		a.value = &v
	}
}

// Answers are kept to so many, and pages of orders that are no longer than usual: 9 MB.
const (
	answersKept = 128
	pageRows    = schemas.PageDefault
)

// listQuestion is a ListOrders as of a number of changes of the account.
type listQuestion struct {
	status, cursor     string
	client             schemas.U64
	market             schemas.Int
	byClient, byMarket bool
	size               int
	changes            uint64
}

func listQuestionOf(in *schemas.ListOrders, changes uint64) listQuestion {
	q := listQuestion{status: in.Status, cursor: in.Cursor, size: in.Size(), changes: changes}
	if q.byClient = in.ClientOrderID != nil; q.byClient {
		q.client = *in.ClientOrderID
	}
	if q.byMarket = in.MarketID != nil; q.byMarket {
		q.market = *in.MarketID
	}
	return q
}

// bookQuestion is a GetOrderbook as of the last change of the book.
type bookQuestion struct {
	generation uint32
	moved      uint64
	depth      int
}

// reads are the answers that a venue keeps.
type reads struct {
	pages kept[core.UserID, listQuestion, schemas.OrderList]
	books kept[core.MarketID, bookQuestion, schemas.Orderbook]
}
