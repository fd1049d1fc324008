package rest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/schemas"
	"duplex/tools"
)

// TestAnswersStandStill checks that no answer refers to memory that the venue uses again. A lane
// encodes an answer when the venue has already gone on; here it goes on for longer than any list keeps
// its rows as they are. The frames of the account's stream are looked at in the same way.
func TestAnswersStandStill(t *testing.T) {
	t.Parallel()
	h := newMoney(t)
	caller := tools.Caller{User: 1, Key: h.Engine.Key(h.alice.ID)}
	bob := h.NewKey(2, readTrade)
	goesOn := func(k lanetest.Key) {
		for i := range 140 { // more than two chunks of a list (core/view)
			h.place(k, 3, "buy", "yes", 6000, 2)
			h.place(bob, 3, "buy", "no", 4000, 2)
			h.write("POST", "/v1/forecasts", fmt.Sprintf(`{"market_id":3,"generation":1,"p":%d}`, i))
			h.Submit(&core.Deposit{User: 1, DepositID: fmt.Sprint("more-", h.ids), Amount: core.Pips(1 + i)})
		}
	}
	goesOn(h.alice) // so that the memory of each list has its full size
	var orders schemas.OrderList
	h.get("/v1/portfolio/orders?status=resting", &orders)
	var withdrawals schemas.WithdrawalList
	h.get("/v1/withdrawals", &withdrawals)
	h.write("POST", "/v1/forecasts", `{"market_id":3,"generation":1,"p":6200}`)
	arguments := map[string]string{
		"{market_id}": "3", "{order_id}": strconv.Quote(fmt.Sprint(*orders.Orders[0].OrderID)), "{withdrawal_id}": strconv.Quote(fmt.Sprint(withdrawals.Withdrawals[0].WithdrawalID)),
	}
	type answer struct {
		name string
		out  any
		was  string
	}
	var answers []answer
	add := func(name string, out any) {
		b, err := json.Marshal(out)
		if err != nil {
			t.Fatal(name, err)
		}
		answers = append(answers, answer{name, out, string(b)})
	}
	for _, op := range slices.Concat([]tools.Operation{tools.GetVenue}, tools.Operations, tools.RouteOnly) {
		spec := op.Describe()
		if !spec.ReadOnly() || spec.Method != "GET" {
			continue
		}
		var members []string
		for _, part := range strings.Split(spec.Path, "/") {
			if value, ok := arguments[part]; ok {
				members = append(members, strconv.Quote(strings.Trim(part, "{}"))+":"+value)
			}
		}
		in := op.NewInput()
		if f := schemas.DecodeArguments([]byte("{"+strings.Join(members, ",")+"}"), in); f != nil {
			t.Fatal(spec.Name, f)
		}
		out, err := op.Call(t.Context(), h.Venue, caller, in)
		if err != nil && tools.ErrorOf(err).Code != "round_not_found" {
			t.Errorf("%s failed: %v", spec.Name, err)
		}
		add(spec.Name, out)
	}
	h.Engine.Read(func(_ *venue.Venue, w *view.View) {
		for n, e := range w.Events(1, 0) {
			_, frame := tools.EventOf(e)
			add(fmt.Sprint("event ", n), frame)
		}
	})
	goesOn(h.NewKey(1, readTrade)) // with another key, or old and new rows would look alike
	h.write("DELETE", "/v1/portfolio/orders", "")
	h.Submit(&core.RevokeKey{Key: h.NewKey(1, core.ScopeRead).ID})
	h.Submit(&core.VoidMarket{Market: 3})
	h.PostIndex(lanetest.StartPrice - 50_000_000)
	for _, a := range answers {
		b, err := json.Marshal(a.out)
		if err != nil || string(b) != a.was {
			t.Errorf("%s is now\n%s, and was\n%s (%v)", a.name, b, a.was, err)
		}
	}
}
