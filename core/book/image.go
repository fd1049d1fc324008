package book

import (
	"iter"
	"slices"
)

// Image is a copy of the orders of a pool at one time. It shares no memory with the pool, and
// may be read by other goroutines. Taking it copies the pool's slices as they are, free slots
// included, because commands wait meanwhile.
type Image struct {
	orders []Order
	terms  []Terms
}

// Image copies the orders of all books of the pool.
func (p *Pool) Image() Image { return Image{slices.Clone(p.orders), slices.Clone(p.terms)} }

// All yields each order with its terms, in the order of their slots. Orders without terms of
// their own have the zero Terms.
func (m *Image) All() iter.Seq2[*Order, Terms] {
	return func(yield func(*Order, Terms) bool) {
		for i := range m.orders {
			o := &m.orders[i]
			if o.ID == 0 {
				continue // a free slot
			}
			var t Terms
			if o.attributes&attrHasTerms != 0 {
				t = m.terms[i]
			}
			if !yield(o, t) {
				return
			}
		}
	}
}
