package schemas

import (
	"reflect"
	"strings"
	"testing"
)

func TestDecodeQuery(t *testing.T) {
	const sv, uf = "schema_violation", "unknown_field"
	for _, c := range []struct {
		into        any
		query, want string
	}{
		{&ListOrders{}, "", ""},
		{&ListOrders{}, "status=resting&limit=5&cursor=&client_order_id=007&market_id=0&min_seq=3", ""},
		{&ListOrders{}, "status=resting%2Cexecuted", ""},
		{&ListOrders{}, "status=resting,partially_filled,executed,canceled,expired,rejected", ""},
		{&ListOrders{}, "st%61tus=resting", ""},
		{&ListOrders{}, "limit=5&", ""},
		{&ListOrders{}, "limit=1", ""},
		{&ListOrders{}, "limit=1000", ""},
		{&ListOrders{}, "limit=0", sv},
		{&ListOrders{}, "limit=1001", sv},
		{&ListOrders{}, "limit=-1", sv},
		{&ListOrders{}, "limit=", sv},
		{&ListOrders{}, "limit", sv},
		{&ListOrders{}, "limit=5.0", sv},
		{&ListOrders{}, "limit=05", sv},
		{&ListOrders{}, "limit=1e2", sv},
		{&ListOrders{}, "limit=+5", sv},
		{&ListOrders{}, "limit=%205", sv},
		{&ListOrders{}, "limit=99999999999999999999", sv},
		{&ListOrders{}, "limit=5;status=resting", sv},
		{&ListOrders{}, "limit=%zz", sv},
		{&ListOrders{}, "limit=5%", sv},
		{&ListOrders{}, "cursor=a;b", sv},
		{&ListOrders{}, "cursor=%ff", "bad_cursor"},
		{&ListOrders{}, "cursor=" + strings.Repeat("a", 257), "bad_cursor"},
		{&ListOrders{}, "cursor=x", ""},
		{&ListOrders{}, "status=", sv},
		{&ListOrders{}, "status=live", sv},
		{&ListOrders{}, "status=Resting", sv},
		{&ListOrders{}, "status=resting,,executed", sv},
		{&ListOrders{}, "status=resting,%20executed", sv},
		{&ListOrders{}, "client_order_id=x", sv},
		{&ListOrders{}, "client_order_id=-1", sv},
		{&ListOrders{}, "client_order_id=18446744073709551616", sv},
		{&ListOrders{}, "market_id=70000", ""},
		{&ListOrders{}, "min_seq=", sv},
		{&ListOrders{}, "min_seq=18446744073709551615", ""},
		{&ListOrders{}, "min_seq=abc", sv},
		{&ListOrders{}, "foo=1", uf},
		{&ListOrders{}, "foo", uf},
		{&ListOrders{}, "=1", uf},
		{&ListOrders{}, "Limit=5", uf},
		{&ListOrders{}, "limit%20=5", uf},
		{&ListOrders{}, "li;mit=5", uf},
		{&ListOrders{}, "%zz=5", uf},
		{&ListOrders{}, "limit=5&limit=5", uf},
		{&ListOrders{}, "limit=5&l%69mit=6", uf},
		{&ListOrders{}, "limit=x&limit=5", uf},
		{&ListOrders{}, "limit=x&foo=1", uf},
		{&ListOrders{}, "order_id=1", ""},
		{&ListFills{}, "order_id=1&market_id=2", ""},
		{&ListRounds{}, "category=0", ""},
		{&ListRounds{}, "category=65535&market_id=3", ""},
		{&ListRounds{}, "category=65536", sv},
		{&ListRounds{}, "category=-1", sv},
		{&ListMarkets{}, "status=trading,void", ""},
		{&ListMarkets{}, "status=created", sv},
		{&GetPriceHistory{}, "", ""},
		{&GetPriceHistory{}, "feed=2&from_ts=5&to_ts=5&step_secs=3600&limit=1&cursor=&min_seq=3", ""},
		{&GetPriceHistory{}, "from_ts=6&to_ts=5", sv},
		{&GetPriceHistory{}, "from_ts=1&to_ts=0", sv},
		{&GetPriceHistory{}, "step_secs=0", sv},
		{&GetPriceHistory{}, "step_secs=3601", sv},
		{&GetRoundHistory{}, "round_number=7&step_secs=1", ""},
		{&GetRoundHistory{}, "from_ts=7", uf},
		{&GetRoundHistory{}, "round_number=0", "round_not_found"},
		{&GetRoundHistory{}, "round_number=00", "round_not_found"},
		{&GetRoundHistory{}, "round_number=", sv},
		{&GetEvidence{}, "round_number=0", "round_not_found"},
		{&ListLedger{}, "market_id=1", ""},
		{&ListLedger{}, "market_id=0", sv}, // not the rows without a market
		{&GetOraclePrice{}, "feed=2", ""},
		{&GetOraclePrice{}, "feed=3", sv},
		{&GetOrderbook{}, "depth=1000", ""},
		{&GetOrderbook{}, "depth=0", sv},
		{&GetOrderbook{}, "depth=1001", sv},
		{&GetOrderbook{}, "market_id=1", uf},
		{&CancelAll{}, "market_id=0&group_id=4294967295", ""},
		{&CancelAll{}, "market_id=65537", ""},
		{&CancelAll{}, "market_id=4294967296", sv},
		{&ListOrders{}, "market_id=4294967295", ""},
		{&ListOrders{}, "market_id=4294967296", sv},
		{&ListFills{}, "market_id=4294967295", ""},
		{&ListPositions{}, "market_id=4294967295", ""},
		{&ListRounds{}, "market_id=4294967295", ""},
		{&ListRounds{}, "market_id=4294967296", sv},
		{&CancelAll{}, "group_id=4294967296", sv},
		{&PlaceOrder{}, "qty=1", uf},
		{&None{}, "x", uf},
		{&None{}, "", ""},
	} {
		f := DecodeQuery(c.query, c.into)
		if got := verdict(f, PlaceOrder{}); got != c.want {
			t.Errorf("%T %s\n got %q want %q (%v)", c.into, c.query, got, c.want, f)
		}
	}
}

func TestDecodePath(t *testing.T) {
	for _, c := range []struct {
		into              any
		name, value, want string
	}{
		{&GetMarket{}, "market_id", "1", ""},
		{&GetMarket{}, "market_id", "4294967295", ""},
		{&GetMarket{}, "market_id", "4294967296", "unknown_market"},
		{&GetOrderbook{}, "market_id", "4294967295", ""},
		{&ListTrades{}, "market_id", "4294967295", ""},
		{&GetEvidence{}, "market_id", "4294967295", ""},
		{&GetEvidence{}, "market_id", "4294967296", "round_not_found"},
		{&GetRound{}, "market_id", "4294967295", ""},
		{&ActOnMarket{}, "market_id", "4294967295", ""},
		{&Propose{}, "market_id", "4294967295", ""},
		{&GetMarket{}, "market_id", "0", "unknown_market"},
		{&GetMarket{}, "market_id", "01", "unknown_market"},
		{&GetMarket{}, "market_id", "+1", "unknown_market"},
		{&GetMarket{}, "market_id", "1.0", "unknown_market"},
		{&GetMarket{}, "market_id", "x", "unknown_market"},
		{&GetMarket{}, "market_id", "", "unknown_market"},
		{&GetMarket{}, "market_id", "99999999999999999999", "unknown_market"},
		{&GetRound{}, "market_id", "-1", "round_not_found"},
		{&GetOrder{}, "order_id", "18446744073709551615", ""},
		{&GetOrder{}, "order_id", "18446744073709551616", "unknown_order"},
		{&GetOrder{}, "order_id", "007", "unknown_order"},
		{&GetOrder{}, "order_id", "abc", "unknown_order"},
		{&CancelOrder{}, "order_id", "0", ""},
		{&GetWithdrawal{}, "withdrawal_id", "x", "unknown_withdrawal"},
		{&Deposit{}, "user_id", "4294967296", "unknown_user"},
		{&RevokeKey{}, "api_key", "0whatever", ""},
	} {
		f := DecodePath(c.name, c.value, c.into)
		if got := verdict(f, PlaceOrder{}); got != c.want {
			t.Errorf("%T %s=%q got %q want %q", c.into, c.name, c.value, got, c.want)
		}
	}
}

// TestTargetAndBody tests that a request survives encoding and decoding.
func TestTargetAndBody(t *testing.T) {
	in := ListOrders{Status: "resting,executed", MarketID: Ptr(Int(3)), Page: Page{Limit: Ptr(Int(5)), Cursor: "a-_b"}, MinSeqQuery: MinSeqQuery{MinSeq: 9}}
	target, err := Target("/v1/portfolio/orders", in)
	if err != nil || target != "/v1/portfolio/orders?status=resting%2Cexecuted&market_id=3&limit=5&cursor=a-_b&min_seq=9" {
		t.Fatal(target, err)
	}
	var back ListOrders
	if f := DecodeQuery(target[strings.Index(target, "?")+1:], &back); f != nil || !reflect.DeepEqual(in, back) {
		t.Errorf("the target reads back as %+[2]v, %[1]v, want %+[3]v", f, back, in)
	}
	d := DecreaseOrder{OrderID: 12, ReduceTo: Ptr(Int(0))}
	target, _ = Target("/v1/portfolio/orders/{order_id}/decrease", d)
	body, err := Body(d)
	if target != "/v1/portfolio/orders/12/decrease" || string(body) != `{"reduce_to":0}` || err != nil {
		t.Errorf("a decrease is sent to %s with %s, %v, want order 12 and reduce_to 0", target, body, err)
	}
	if body, _ := Body(CancelAll{MarketID: 1}); body != nil {
		t.Errorf("a cancel of all in a market has the body %s, want none", body)
	}
}

func FuzzDecodeQuery(f *testing.F) {
	f.Add("limit=5&status=resting&cursor=a%20b;c")
	f.Fuzz(func(t *testing.T, query string) {
		var in, back ListOrders
		if f := DecodeQuery(query, &in); f != nil {
			if !IsErrorCode(f.Code) || f.Code == "internal" {
				t.Fatalf("query %q: %v, want a code of the table other than internal", query, f)
			}
			return
		}
		target, err := Target("", in)
		if err != nil {
			t.Fatal(err)
		}
		if f := DecodeQuery(strings.TrimPrefix(target, "?"), &back); f != nil || !reflect.DeepEqual(in, back) {
			t.Fatalf("%q became %q: %v", query, target, f)
		}
	})
}
