package view

import (
	"testing"

	"duplex/core"
)

// BenchmarkAccount clones, encodes, restores and reads an account with full histories.
func BenchmarkAccount(b *testing.B) {
	h := newHistoryBuilder()
	h.pair(1, 2)
	var e encoder
	h.w.accounts[1].encode(&e, 1)
	b.Run("Copy", func(b *testing.B) {
		for b.Loop() {
			h.w.accounts[1].clone()
		}
	})
	b.Run("Write", func(b *testing.B) {
		var to encoder
		for b.Loop() {
			to = encoder{b: to.b[:0]}
			h.w.accounts[1].encode(&to, 1)
		}
	})
	b.Run("Restore", func(b *testing.B) {
		for b.Loop() {
			if _, err := decodeAccount(e.b, 1, stateFormat, h.w.caps); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ReadEvents", func(b *testing.B) {
		for b.Loop() {
			h.w.EventsAfter(1, 0)
		}
	})
	b.Run("ReadNewestEvents", func(b *testing.B) {
		seq := h.seq - 200
		for b.Loop() {
			h.w.EventsAfter(1, seq)
		}
	})
	b.Run("ReadFills", func(b *testing.B) {
		for b.Loop() {
			for range h.w.Fills(1, 0) {
			}
		}
	})
}

// BenchmarkFold folds an order that rests and is canceled, with the balance events, into
// full histories.
func BenchmarkFold(b *testing.B) {
	h := newHistoryBuilder()
	h.pair(1, 2)
	placed, balance := h.order(1, 5, core.OK), h.balance(1)
	for b.Loop() {
		id := h.fold(placed, balance)
		h.fold(&core.OrderClosed{Order: id, User: 1, Status: core.Canceled, Reason: core.UserCancel, Left: 5}, balance)
	}
}
