package venue

import (
	"cmp"

	"github.com/tidwall/btree"
)

// tree is an ordered map that is copied on write, a btree.Map. It is an interface for the sake of compile
// time: each package that uses a Venue would compile all methods of a generic type in its fields again, and
// those of an interface are compiled here alone.
type tree[K cmp.Ordered, V any] interface {
	Len() int
	Get(K) (V, bool)
	Min() (K, V, bool)
	Set(K, V) (V, bool)
	Delete(K) (V, bool)
	Scan(func(K, V) bool)
	Ascend(from K, yield func(K, V) bool)
	Descend(from K, yield func(K, V) bool)
}

func newTree[K cmp.Ordered, V any]() tree[K, V] { return new(btree.Map[K, V]) }

// copyTree returns a tree that later changes of t do not change. It shares the nodes.
func copyTree[K cmp.Ordered, V any](t tree[K, V]) tree[K, V] { return t.(*btree.Map[K, V]).Copy() }
