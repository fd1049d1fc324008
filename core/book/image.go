package book

import (
	"iter"
	"slices"
)

// Image is the orders of a pool at one time. Taking it copies memory as it lies, which is
// the quickest way to have them all.
type Image struct {
	orders []Order
	terms  []Terms
}

// Image copies the orders of all books.
func (p *Pool) Image() Image { return Image{slices.Clone(p.orders), slices.Clone(p.terms)} }

// All yields the orders with their terms, in the order of their slots.
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
