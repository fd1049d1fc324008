package schemas

import (
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

// TestAppendResponses tests the JSON of responses.
func TestAppendResponses(t *testing.T) {
	out := Outcome{OrderID: 5, ClientOrderID: 7, Status: "resting", Seq: 5, RestingQty: 10}
	const outJSON = `{"order_id":"5","client_order_id":"7","status":"resting","seq":"5","filled_qty":0,"resting_qty":10,"fills":[],"fee":"0","fee_usd":"0.00"}`
	const errJSON = `{"error":{"code":"unknown_order","num":265,"origin":"core","message":"unknown_order","details":null}}`
	unknown := ErrorOf("unknown_order")
	for _, c := range []struct {
		v    any
		want string
	}{
		{out, outJSON},
		{&out, outJSON},
		{[]PlaceResult{{Placed: &Placed{Outcome: out}}, {Error: &unknown}}, "[" + outJSON + "," + errJSON + "]"},
		{CancelResults{}, `{"results":[]}`},
		{CancelResults{Results: []CancelResult{{Canceled: &Canceled{Status: "canceled", CanceledQty: 3, Seq: 9}}, {Error: &unknown}}},
			`{"results":[{"status":"canceled","canceled_qty":3,"seq":"9"},` + errJSON + `]}`},
		{OrderList{}, `{"orders":[],"cursor":"","as_of_seq":"0"}`},
		{Order{Status: "rejected", Reason: "bad_qty"}, `{"order_id":null,"client_order_id":"0","market_id":0,"generation":0,"side":"","outcome":"","type":"","tick":0,"qty":0,` +
			`"tif":"","expiry_ts":"0","max_cost":"0","group_id":0,"flags":0,"status":"rejected","reason":"bad_qty","filled_qty":0,"remaining_qty":0,` +
			`"created_seq":"0","created_ts":"0","last_update_seq":"0","api_key":null}`},
		{RoundRead{Round: Round{MarketID: 1, Status: "trading", Strike: 5}, AsOf: AsOf{9}}, `{"market_id":1,"status":"trading","strike":"5","settle_price":"0","winner":null,` +
			`"yes_payout":0,"fresh_source_count_at_freeze":0,"gen":0,"open_ts":"0","freeze_ts":"0","resolve_ts":"0","round_number":"0","generation":0,"category":0,` +
			`"twap_window_secs":0,"paused":false,"close_ts":"0","secs_to_close":0,"as_of_seq":"9"}`},
		{Balance{Cash: 1<<64 - 1, AsOf: AsOf{3}}, `{"cash":"18446744073709551615","reserved":"0","as_of_seq":"3"}`},
		{Orderbook{MarketID: 1, TickSize: TickSize{Name: "narrow"}, Yes: []Level{{4700, 10}}, Ts: 5}, `{"market_id":1,"generation":0,"tick_size":{"name":"narrow","bands":[]},"yes":[[4700,10]],"no":[],"ts":"5","as_of_seq":"0"}`},
		{Key{Label: "<b>&"}, `{"api_key":"","label":"<b>&","scopes":[],"created_ts":"0","kind":""}`},
		{Deadman{}, `{"armed":false,"timeout_ms":0,"deadline_ts":"0"}`},
	} {
		got, err := Append([]byte("x"), c.v)
		if err != nil || string(got) != "x"+c.want {
			t.Errorf("%T\n got %s (%v)\nwant x%s", c.v, got, err, c.want)
		}
	}
	if b, err := Append([]byte("x"), Key{Label: "\xff"}); err == nil || string(b) != "x" {
		t.Errorf("a label that is not UTF-8: %q %v, want an error and nothing appended", b, err)
	}
}

// TestResultsReadBack tests that a client can decode the outcomes and errors of a batch.
func TestResultsReadBack(t *testing.T) {
	refused := ErrorOf("bad_qty")
	raw, _ := Append(nil, []PlaceResult{{Placed: &Placed{Outcome: Outcome{OrderID: 3, Fills: []OutcomeFill{{1, 2, "mint"}}}}}, {Error: &refused}})
	var back []PlaceResult
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if back[0].Error != nil || back[0].OrderID != 3 {
		t.Errorf("%s reads back as %+v, want order 3 first", raw, back[0])
	}
	if e := back[1].Error; back[1].Placed != nil || e.Code != "bad_qty" || *e.Num != 261 {
		t.Errorf("%s reads back as %+v, want bad_qty with number 261 second", raw, back[1])
	}
}

// TestHandwrittenEncodersAgree compares the handwritten encoders with Append.
func TestHandwrittenEncodersAgree(t *testing.T) {
	u64 := rapid.Map(rapid.Uint64(), func(n uint64) U64 { return U64(n) })
	word := rapid.SampledFrom([]string{"", "resting", "canceled", "ioc_remainder"})
	fill := rapid.Custom(func(t *rapid.T) OutcomeFill {
		return OutcomeFill{rapid.Int64().Draw(t, "tick"), rapid.Int64().Draw(t, "qty"), rapid.SampledFrom([]string{"direct", "mint"}).Draw(t, "path")}
	})
	ahead := rapid.Ptr(rapid.Int64(), true)
	rapid.Check(t, func(t *rapid.T) {
		o := Outcome{u64.Draw(t, "id"), u64.Draw(t, "cid"), word.Draw(t, "status"), u64.Draw(t, "seq"), rapid.Int64().Draw(t, "filled"),
			rapid.Int64().Draw(t, "rest"), rapid.SliceOfN(fill, 0, 3).Draw(t, "fills"), u64.Draw(t, "fee"), USD(rapid.Uint64().Draw(t, "dollars")), rapid.SampledFrom([]int64{0, 5300}).Draw(t, "worst tick"), word.Draw(t, "reason"), ahead.Draw(t, "ahead")}
		if want, err := Append(nil, o); err != nil || string(o.Append(nil)) != string(want) {
			t.Fatalf("the encoder of Outcome appends\n%s\nwant\n%s, %v", o.Append(nil), want, err)
		}
		b := Balance{u64.Draw(t, "cash"), u64.Draw(t, "reserved"), AsOf{u64.Draw(t, "seen")}}
		if want, err := Append(nil, b); err != nil || string(b.Append(nil)) != string(want) {
			t.Fatalf("the encoder of Balance appends\n%s\nwant\n%s, %v", b.Append(nil), want, err)
		}
		row := rapid.Custom(func(t *rapid.T) (o Order) {
			o = Order{ClientOrderID: u64.Draw(t, "cid"), MarketID: rapid.Uint32().Draw(t, "market"), Generation: rapid.Uint32().Draw(t, "generation"),
				Side: word.Draw(t, "side"), Outcome: word.Draw(t, "outcome"), Type: word.Draw(t, "type"), Tick: rapid.Int64().Draw(t, "tick"), Qty: rapid.Int64().Draw(t, "qty"),
				TIF: word.Draw(t, "tif"), ExpiryTs: u64.Draw(t, "expiry"), MaxCost: u64.Draw(t, "cost"), GroupID: rapid.Uint32().Draw(t, "group"), Flags: rapid.Uint8().Draw(t, "flags"),
				Status: word.Draw(t, "status"), Reason: word.Draw(t, "reason"), FilledQty: rapid.Int64().Draw(t, "filled"), RemainingQty: rapid.Int64().Draw(t, "left"),
				CreatedSeq: u64.Draw(t, "created"), CreatedTs: u64.Draw(t, "ts"), LastUpdateSeq: u64.Draw(t, "update")}
			if rapid.Bool().Draw(t, "accepted") {
				o.OrderID = Ptr(u64.Draw(t, "id"))
			}
			return o
		})
		level := rapid.Custom(func(t *rapid.T) Level { return Level{rapid.Int64().Draw(t, "tick"), rapid.Int64().Draw(t, "qty")} })
		band := rapid.Custom(func(t *rapid.T) Band {
			return Band{rapid.Int64().Draw(t, "from"), rapid.Int64().Draw(t, "to"), rapid.Int64().Draw(t, "step")}
		})
		seen := AsOf{u64.Draw(t, "as of")}
		list := OrderList{Orders: rapid.SliceOfN(row, 0, 3).Draw(t, "rows"), PageEnd: PageEnd{word.Draw(t, "cursor"), seen}}
		written := list
		written.AsOf = AsOf{u64.Draw(t, "as of when it was written")}
		written.PreEncode()
		book := Orderbook{
			MarketID: rapid.Uint32().Draw(t, "book"), Generation: rapid.Uint32().Draw(t, "life"),
			TickSize: TickSize{word.Draw(t, "grid"), rapid.SliceOfN(band, 0, 3).Draw(t, "bands")},
			Yes:      rapid.SliceOfN(level, 0, 3).Draw(t, "yes"), No: rapid.SliceOfN(level, 0, 3).Draw(t, "no"), Ts: u64.Draw(t, "time"), AsOf: seen,
		}
		writtenBook := book
		writtenBook.Ts, writtenBook.AsOf = u64.Draw(t, "time when it was written"), written.AsOf
		writtenBook.PreEncode()
		written.AsOf, writtenBook.AsOf, writtenBook.Ts = seen, seen, book.Ts
		for _, v := range []interface{ Append([]byte) []byte }{
			&list, &written, &book, &writtenBook,
			&OrderRead{row.Draw(t, "row"), ahead.Draw(t, "ahead of it"), seen},
			&Replacement{o, Replaced{u64.Draw(t, "old"), rapid.Int64().Draw(t, "canceled")}},
		} {
			if want, err := Append(nil, v); err != nil || string(v.Append([]byte("x"))) != "x"+string(want) {
				t.Fatalf("the encoder of %T appends\n%s\nwant\n%s, %v", v, v.Append(nil), want, err)
			}
		}
	})
}

var sample = Outcome{OrderID: 1 << 40, ClientOrderID: 77, Status: "partially_filled", Seq: 1 << 40, FilledQty: 5, RestingQty: 5,
	Fills: []OutcomeFill{{4700, 3, "direct"}, {4800, 2, "mint"}}}

func BenchmarkAppendOutcome(b *testing.B) {
	b.Run("general", func(b *testing.B) {
		buf := make([]byte, 0, 1024)
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = Append(buf[:0], &sample)
		}
	})
	b.Run("by hand", func(b *testing.B) {
		buf := make([]byte, 0, 1024)
		b.ReportAllocs()
		for b.Loop() {
			buf = sample.Append(buf[:0])
		}
	})
}
