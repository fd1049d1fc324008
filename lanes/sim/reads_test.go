package sim

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"duplex/core"
	"duplex/core/sim/model"
)

// CheckReads reads lists and objects as a random user and compares them with the model and the
// expectations.
func (d *simGate) CheckReads(at core.Stamp, m *model.Venue) error {
	if err := d.checkPendingArrived(); err != nil {
		return err
	}
	if d.expected.users == 0 {
		return d.faulty() // there are no accounts yet
	}
	l := readChecks{d, at, m, core.UserID(1 + d.Rand.IntN(d.expected.users)), core.MarketID(1 + d.Rand.IntN(6))}
	if d.validKey(l.user, kinds[0]) == nil && d.validKey(l.user, kinds[1]) == nil {
		return d.faulty() // it has no key yet
	}
	for _, f := range []func() error{l.balance, l.deadman, l.positions, l.orders, l.fills, l.withdrawals, l.book, l.round, l.fees, l.resolve} {
		if d.Rand.IntN(3) == 0 {
			continue
		}
		if err := f(); err != nil {
			return err
		}
	}
	return d.faulty()
}

// CheckEnd looks up every placement whose outcome is unknown.
func (d *simGate) CheckEnd(at core.Stamp, m *model.Venue) error {
	l := readChecks{d, at, m, 1, 1}
	for len(d.unresolved) > 0 {
		if err := l.resolve(); err != nil {
			return err
		}
	}
	return d.faulty()
}

// readChecks performs reads at one seq.
type readChecks struct {
	*simGate
	at     core.Stamp
	m      *model.Venue
	user   core.UserID
	market core.MarketID
}

// read sends a read over a random lane, or over REST if there is no tool, and compares the
// answer with an error code or with want. It adds as_of_seq to want if there is a tool.
func (l *readChecks) read(u core.UserID, tool, target string, args object, code string, want object) error {
	f := operation{tool: tool, method: "GET", target: target, args: args, status: 200, scope: core.ScopeRead, items: 1}
	q := l.write(f, u, tool != "" && l.Rand.IntN(3) == 0)
	q.Send(context.Background())
	if q.reply == nil {
		return fmt.Errorf("%s: no answer", q)
	}
	t, err := q.readReply()
	if err != nil {
		return fmt.Errorf("%s: %w", q, err)
	}
	l.stats.Reads++
	if q.wantCode != "" {
		q.result = t
		_, err := q.checkRejected()
		return err
	}
	if want != nil && tool != "" {
		want = with(want, "as_of_seq", str(l.at.Seq))
	}
	if want != nil && q.tool && args["limit"] != nil {
		want = asPage(want, t.tree)
	}
	if t.code != code || code == "" && !reflect.DeepEqual(t.tree, want) {
		return fmt.Errorf("%s: got\n\t%q %s, want\n\t%q %s", q, t.code, encode(t.tree), code, encode(want))
	}
	return nil
}

// list reads a whole list and compares its rows.
func (l *readChecks) list(tool, target, name string, rows []any) error {
	if rows == nil {
		rows = []any{}
	}
	return l.read(l.user, tool, target+"?limit=1000", object{"limit": num(1000)}, "", object{name: rows[:min(len(rows), 1000)], "cursor": ""})
}

func (l *readChecks) balance() error {
	cash, reserved := l.m.Balance(l.user)
	return l.read(l.user, "get_balance", "/v1/portfolio/balance", object{}, "", object{"cash": str(cash), "reserved": str(reserved)})
}

func (l *readChecks) deadman() error {
	for id := range uint32(3) {
		ms, deadline := l.m.Deadman(l.user, id)
		want := object{"armed": deadline != 0, "timeout_ms": num(ms), "deadline_ts": str(deadline), "group_id": num(id)}
		if err := l.read(l.user, "", fmt.Sprintf("/v1/portfolio/deadman?group_id=%d", id), nil, "", want); err != nil {
			return err
		}
	}
	return nil
}

func (l *readChecks) positions() error {
	var rows []any
	for id := core.MarketID(1); id <= 32; id++ {
		if _, opened := l.m.Market(id); !opened {
			continue
		}
		if p := l.m.Position(l.user, id); p.Yes+p.No > 0 {
			rows = append(rows, object{
				"market_id": num(id), "generation": num(p.Generation), "round_number": str(p.Number), "yes_qty": num(p.Yes), "no_qty": num(p.No),
				"yes_reserved": num(p.YesReserved), "no_reserved": num(p.NoReserved), "cost": str(p.Cost),
			})
		}
	}
	return l.list("list_positions", "/v1/portfolio/positions", "positions", rows)
}

// rowsOf returns the account's orders for which match is true, newest first.
func (l *readChecks) rowsOf(u core.UserID, match func(*row) bool) (rows []any) {
	resting := l.m.Resting()
	for _, r := range slices.Backward(l.expected.accounts[u].rows) {
		if !r.evicted && match(r) {
			rows = append(rows, r.tree(resting[r.id]))
		}
	}
	return rows
}

func (l *readChecks) orders() error {
	return l.list("list_orders", orders, "orders", l.rowsOf(l.user, func(*row) bool { return true }))
}

func (l *readChecks) fills() error {
	var rows []any
	for _, f := range slices.Backward(l.expected.accounts[l.user].fills) {
		rows = append(rows, f.tree())
	}
	if len(rows) > 1000 {
		return nil // the simulation does not follow cursors
	}
	return l.list("list_fills", "/v1/portfolio/fills", "fills", rows)
}

func (l *readChecks) withdrawals() error {
	var rows []any
	for _, w := range slices.Backward(l.expected.accounts[l.user].wds) {
		rows = append(rows, w.tree())
	}
	return l.list("list_withdrawals", "/v1/withdrawals", "withdrawals", rows)
}

// narrow is the price grid (docs/rules/prices.md#grid).
var narrow = object{"name": "narrow", "bands": []any{
	object{"from": num(100), "to": num(390), "step": num(10)}, object{"from": num(400), "to": num(9600), "step": num(100)}, object{"from": num(9610), "to": num(9990), "step": num(10)},
}}

func (l *readChecks) book() error {
	s, opened := l.m.Market(l.market)
	target, args := fmt.Sprintf("/v1/markets/%d/orderbook", l.market), object{"market_id": num(l.market)}
	if !opened {
		return l.read(l.user, "get_orderbook", target, args, "unknown_market", nil)
	}
	yes, no := []any{}, []any{}
	for _, x := range l.m.Depth(l.market, true) {
		yes = append(yes, []any{num(x.Tick), num(x.Qty)})
	}
	for _, x := range l.m.Depth(l.market, false) {
		no = append(no, []any{num(10000 - x.Tick), num(x.Qty)})
	}
	return l.read(l.user, "get_orderbook", target, args, "", object{"market_id": num(l.market), "generation": num(s.Generation), "tick_size": narrow, "yes": yes, "no": no, "ts": str(l.at.Ts)})
}

func (l *readChecks) round() error {
	s, opened := l.m.Market(l.market)
	target, args := fmt.Sprintf("/v1/rounds/%d", l.market), object{"market_id": num(l.market)}
	if !opened {
		return l.read(l.user, "get_round", target, args, "round_not_found", nil)
	}
	want := object{
		"market_id": num(l.market), "status": s.Status.String(), "strike": str(uint64(s.Strike)), "settle_price": "0", "winner": any(nil), "yes_payout": num(0),
		"fresh_source_count_at_freeze": num(s.FreshCount), "gen": num(s.Gen), "open_ts": str(s.OpenTs), "freeze_ts": str(s.FreezeTs), "resolve_ts": str(s.ResolveTs),
		"round_number": str(s.Number), "generation": num(s.Generation), "category": num(s.Category), "twap_window_secs": num(s.Window), "paused": s.Paused,
		"close_ts": str(s.CloseTs), "secs_to_close": num(0),
	}
	if left := (s.CloseTs - l.at.Ts) / core.NsPerSec; s.Status == core.Trading && left > 0 {
		want["secs_to_close"] = num(left)
	}
	if s.Gen > 0 {
		want["settle_price"] = str(uint64(s.Settle))
	}
	if s.Status == core.Proposed || s.Status == core.Settled {
		if want["winner"] = "no"; s.Winner == core.Yes {
			want["winner"], want["yes_payout"] = "yes", num(100)
		}
	}
	return l.read(l.user, "get_round", target, args, "", want)
}

func (l *readChecks) fees() error {
	return l.read(l.user, "", "/v1/exchange/fees", nil, "", with(feesTree(l.expected.fees), "as_of_seq", str(l.at.Seq)))
}

// resolve looks up a few placements whose outcome is unknown. Each must be listed as the log
// has it, or not at all.
func (l *readChecks) resolve() error {
	for range min(4, len(l.unresolved)) {
		q := l.unresolved[0]
		l.simGate.unresolved = l.unresolved[1:]
		for _, cmd := range q.cmds {
			c := core.PlacementOf(cmd)
			rows := l.rowsOf(c.User, func(r *row) bool { return r.ClientID == c.ClientID })
			if rows == nil {
				rows = []any{}
			}
			if len(rows) > 1 && c.ClientID != 0 {
				return fmt.Errorf("order %d of user %d is listed %d times", c.ClientID, c.User, len(rows))
			}
			if l.stats.Found++; len(rows) == 0 {
				l.stats.Found--
				l.stats.Missing++
			}
			target, args := fmt.Sprintf("%s?client_order_id=%d&limit=1000", orders, c.ClientID), object{"client_order_id": str(c.ClientID), "limit": num(1000)}
			if err := l.read(c.User, "list_orders", target, args, "", object{"orders": rows, "cursor": ""}); err != nil {
				return err
			}
		}
	}
	return nil
}
