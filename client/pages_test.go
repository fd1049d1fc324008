package client

import (
	"context"
	"testing"
	"time"

	"duplex/schemas"
)

func TestAllReadsEveryPageAndStopsAtAnError(t *testing.T) {
	page := func(rows, cursor string) string {
		return `{"fills":[` + rows + `],"cursor":"` + cursor + `","as_of_seq":"1"}`
	}
	s, c := scripted(t, []string{
		page(`{"seq":"3"},{"seq":"2"}`, "a"), page(`{"seq":"1"}`, ""),
		page(`{"seq":"3"},{"seq":"2"}`, "a"), "bad_cursor",
		page(`{"seq":"3"},{"seq":"2"}`, "a"),
	})
	walk := c.AllFills(context.Background(), schemas.ListFills{Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(2))}})
	var seqs []schemas.U64
	for f, err := range walk {
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, f.Seq)
	}
	if len(seqs) != 3 || s.got[1] != "GET /v1/portfolio/fills?limit=2&cursor=a" {
		t.Errorf("%v by %v", seqs, s.got)
	}
	var last error
	n := 0
	for _, err := range walk { // again, from the start
		n, last = n+1, err
	}
	if n != 3 || codeOf(last) != "bad_cursor" || s.got[2] != "GET /v1/portfolio/fills?limit=2" {
		t.Errorf("%d rows, %v by %v", n, last, s.got)
	}
	for range walk {
		break
	}
	if len(s.got) != 5 {
		t.Errorf("a page was read after the loop ended: %v", s.got)
	}
}

// TestSyncClockAndAll tests SyncClock and the iteration over pages against a venue.
func TestSyncClockAndAll(t *testing.T) {
	h, alice, _ := venue(t)
	ctx := t.Context()
	alice.SetClock(time.Duration(h.Now() - h.Now()%1e9 - time.Now().UnixNano())) // within the window, and wrong by part of a second
	begun := time.Now()
	off, err := alice.SyncClock(ctx)
	took := time.Since(begun) // the measurement is right to half of its round trip, which is less
	read := time.Now()
	wrong := off - time.Duration(h.Now()-read.UnixNano())
	took += time.Since(read) // h.Now is read later than time.Now
	if err != nil || wrong.Abs() > took {
		t.Errorf("%v, wrong by %v after %v, %v", off, wrong, took, err)
	}
	for i := range 5 {
		if _, err := alice.PlaceOrder(ctx, limit(uint64(i+1), "yes", 1000, 1)); err != nil {
			t.Fatal(err)
		}
	}
	var last schemas.U64
	n := 0
	for o, err := range alice.AllOrders(ctx, schemas.ListOrders{Status: "resting", Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(2))}}) {
		if err != nil || last != 0 && o.CreatedSeq >= last {
			t.Fatalf("%+v behind %d, %v", o, last, err)
		}
		n, last = n+1, o.CreatedSeq
	}
	markets := 0
	for _, err := range alice.AllMarkets(ctx, schemas.ListMarkets{Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(1))}}) {
		if err != nil {
			t.Fatal(err)
		}
		markets++
	}
	if n != 5 || markets != 3 {
		t.Errorf("%d orders, %d markets", n, markets)
	}
}
