package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"testing"

	"duplex/core"
	"duplex/schemas"
)

// maxPnLTokens bounds get_pnl with four positions, at 4 bytes a token.
const maxPnLTokens = 400

// TestPnL tests get_pnl of four positions: their order and marks, the sums, and that the
// answer is short and that of REST.
func TestPnL(t *testing.T) {
	t.Parallel()
	d := generous(t)
	id := 100
	place := func(market int, side, outcome string, tick, qty int) {
		t.Helper()
		for _, k := range []struct {
			bob           bool
			side, outcome string
			tick          int
		}{{true, side, map[string]string{"yes": "no", "no": "yes"}[outcome], 10_000 - tick}, {false, side, outcome, tick}} {
			key := d.alice
			if k.bob {
				key = d.bob
			}
			id++
			body := fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"side":%q,"outcome":%q,"tick":%d,"qty":%d}`, id, market, k.side, k.outcome, k.tick, qty)
			if status, got := d.Call(key, "POST", "/v1/portfolio/orders", body); status != 201 {
				t.Fatalf("POST /v1/portfolio/orders %s: %d %s, want 201", body, status, got)
			}
		}
	}
	read := func() (p schemas.PnL, text string) {
		t.Helper()
		text = string(d.callTool(d.alice, "get_pnl", "{}").StructuredContent)
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		if _, rest := d.Call(d.alice, "GET", "/v1/portfolio/pnl", ""); !reflect.DeepEqual(d.asTool("get_pnl", rest, nil), parsed(t, text)) {
			t.Errorf("REST answers %s, the tool %s", rest, text)
		}
		checkPnL(t, &p)
		return p, text
	}
	if p, _ := read(); p.Positions == nil || len(p.Positions) != 0 || p.Equity != 100_000_000 || p.DepositsNet != 100_000_000 {
		t.Errorf("get_pnl before any order: %+v, want no positions and 100000000 pips as equity and as net deposits", p)
	}
	place(2, "buy", "no", 4700, 300) // bob buys YES at 5300
	place(2, "buy", "yes", 6200, 145)
	place(1, "buy", "yes", 5200, 120)
	place(1, "sell", "yes", 5500, 20)
	place(1, "buy", "no", 3100, 1000)
	p, text := read()
	if n := len(text) / 4; n > maxPnLTokens {
		t.Errorf("%d tokens: %s", n, text)
	} else {
		t.Logf("%d tokens: %s", n, text)
	}
	want := []struct {
		market  uint32
		outcome string
		qty     int64
		mark    int64
	}{{1, "yes", 100, 6900}, {1, "no", 1000, 3100}, {2, "yes", 145, 6200}, {2, "no", 300, 3800}}
	if len(p.Positions) != len(want) {
		t.Fatal(text)
	}
	for i, x := range want {
		got := p.Positions[i]
		if got.Mark == nil || *got.Mark != x.mark {
			t.Errorf("position %d: %+v, want the mark %d", i, got, x.mark)
		}
		if got.MarketID != x.market || got.Outcome != x.outcome || got.Qty != x.qty {
			t.Errorf("position %d: %+v, want %d %s in market %d", i, got, x.qty, x.outcome, x.market)
		}
	}
	if p.Realized == 0 || p.RealizedToday != p.Realized || int64(p.RealizedUSD) != int64(p.Realized) || p.Fees == 0 {
		t.Error(text)
	}
	// With both sides of the book the mark is the middle, rounded down for YES.
	d.Call(d.bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"9001","market_id":1,"generation":1,"side":"buy","outcome":"yes","tick":4500,"qty":1}`)
	d.Call(d.alice, "POST", "/v1/portfolio/orders", `{"client_order_id":"9002","market_id":1,"generation":1,"side":"buy","outcome":"no","tick":4600,"qty":1}`)
	p, text = read()
	if yes, no := *p.Positions[0].Mark, *p.Positions[1].Mark; yes != (4500+5400)/2 || no != 10_000-yes || p.OpenCost < 4600 {
		t.Error(text)
	}
	d.Submit(&core.VoidMarket{Market: 1})
	if p, text = read(); len(p.Positions) != 2 || p.Positions[0].MarketID != 2 {
		t.Error(text)
	}
}

// checkPnL tests what holds within every answer of get_pnl, to the pip.
func checkPnL(t *testing.T, p *schemas.PnL) {
	t.Helper()
	cost, unrealized := int64(0), int64(0)
	for _, x := range p.Positions {
		value := x.Cost
		if x.Mark != nil {
			value = schemas.U64(x.Qty * *x.Mark)
		}
		if x.Value != value || int64(x.Unrealized) != int64(x.Value)-int64(x.Cost) || x.AvgCost != x.Cost/schemas.U64(x.Qty) {
			t.Errorf("a position whose value, unrealized or avg_cost does not follow from the rest: %+v", x)
		}
		cost += int64(x.Cost)
		unrealized += int64(x.Unrealized)
	}
	if int64(p.Unrealized) != unrealized || int64(p.OpenCost) < cost {
		t.Errorf("unrealized %d of %d, open cost %d of %d", p.Unrealized, unrealized, p.OpenCost, cost)
	}
	if sum := int64(p.DepositsNet) + int64(p.TransfersNet) + int64(p.Realized) + int64(p.Unrealized) + int64(p.Rebates); sum != int64(p.Equity) {
		t.Errorf("equity %d, the sums make %s", p.Equity, strconv.FormatInt(sum, 10))
	}
}
