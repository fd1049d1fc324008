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

// BenchmarkFoldFill folds an order that fills against a resting one, with both sides of the fill,
// into full histories.
func BenchmarkFoldFill(b *testing.B) {
	h := newHistoryBuilder()
	h.pair(1, 2)
	h.open()
	maker := h.fold(h.order(1, 1<<40, core.OK))
	placed := h.order(2, 1, core.OK)
	f := &core.Filled{Market: placed.Place.Market, Generation: 70_000, Maker: maker, TakerUser: 2, MakerUser: 1, Qty: 1, TickYes: 5000, TakerFee: 63}
	b.ReportAllocs()
	for b.Loop() {
		f.Taker = core.OrderID(h.seq + 1)
		h.seq++
		h.w.Fold(core.Stamp{Seq: h.seq, Ts: 1_800_000_000*second + int64(h.seq)*12_345}, []core.Event{placed, f})
	}
}
