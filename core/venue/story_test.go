package venue

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/core"
)

var update = flag.Bool("update", false, "rewrite the stories in testdata")

// TestStories runs the scripts in testdata. A script has comments behind #, one command a line, and
// below each command, indented, the events that it must cause; -update rewrites those. The time starts
// half a second into a quarter of an hour, with BTC at 100 and markets 1 (60 s), 2 (5 m) and 3 (15 m)
// open. alice, bob, carol and dave have 1,000,000 pips each, and alice referred the others. Each script
// runs twice, the second time with the venue restored from its own state after every command.
func TestStories(t *testing.T) {
	pages, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(pages) == 0 {
		t.Fatal("no stories", err)
	}
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			got := runStory(t, string(want), false)
			if *update {
				if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			diff(t, string(want), got)
			diff(t, string(want), runStory(t, string(want), true))
		})
	}
}

func diff(t *testing.T, want, got string) {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			t.Fatalf("line %d:\nwant %q\ngot  %q", i+1, a, b)
		}
	}
}

// eve has no account until a script creates one.
var people = []string{"", "alice", "bob", "carol", "dave", "eve"}

var feeds = []string{"btc", "gold", "wti"}

// storyRunner runs one script.
type storyRunner struct {
	t     *testing.T
	v     *Venue
	at    core.Stamp
	named map[string]uint64 // seq by label
	label map[uint64]string
	next  uint64
	w     *eventChecker
	ev    core.Events
	out   strings.Builder

	restores bool // after each command
}

// runStory runs a script and returns it with the events. With restores, the venue is restored from its
// own state after each command.
func runStory(t *testing.T, page string, restores bool) string {
	x := &storyRunner{t: t, restores: restores, v: New(), at: core.Stamp{Ts: origin + core.NsPerSec/2}, named: map[string]uint64{}, label: map[uint64]string{}, w: newEventChecker(t.Fatalf)}
	for _, c := range opening() {
		x.at.Seq++
		x.at.Ts++
		x.apply(c)
	}
	for _, line := range strings.Split(strings.TrimSuffix(page, "\n"), "\n") {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		fmt.Fprintln(&x.out, line)
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			x.line(line)
		}
	}
	x.v.Audit()
	return x.out.String()
}

func (x *storyRunner) say(format string, args ...any) {
	fmt.Fprintf(&x.out, "    "+format+"\n", args...)
}

func (x *storyRunner) line(line string) {
	label, rest, ok := strings.Cut(line, ": ")
	if ok {
		line = rest
	} else {
		label = ""
	}
	w := strings.Fields(line)
	if w[0] == "show" {
		x.show(w[1:])
		return
	}
	if w[0] == "later" || w[0] == "wait" {
		x.at.Ts += x.duration(w[1])
		if w[0] == "later" {
			return
		}
		w = []string{"clock"}
	}
	cmd := x.parse(w)
	x.at.Seq++
	x.at.Ts++
	if label != "" {
		x.named[label], x.label[x.at.Seq] = x.at.Seq, label
	}
	r, ev := x.apply(cmd)
	if r != core.OK {
		x.say("refused: %v", r)
	}
	for _, e := range ev.List {
		x.event(e)
	}
	if _, ok := cmd.(*core.PostIndex); ok && !slices.ContainsFunc(ev.List, func(e core.Event) bool { _, ok := e.(*core.Indexed); return ok }) {
		x.say("does not count")
	}
}

func (x *storyRunner) apply(cmd core.Command) (core.Reject, *core.Events) {
	ev := &x.ev
	ev.Reset()
	r := applied(x.t, x.v, x.w, x.at, cmd, ev)
	if x.restores {
		x.v = restored(x.t, x.v)
	}
	return r, ev
}

func (x *storyRunner) must(ok bool, what string) {
	x.t.Helper()
	if !ok {
		x.t.Fatalf("no such command: %s", what)
	}
}

func (x *storyRunner) user(name string) core.UserID {
	if name == "nobody" {
		return 99
	}
	i := slices.Index(people, name)
	x.must(i >= 0, name)
	return core.UserID(i)
}

func (x *storyRunner) num(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	x.must(err == nil, s)
	return n
}

func (x *storyRunner) duration(s string) int64 {
	d, err := time.ParseDuration(s)
	x.must(err == nil, s)
	return int64(d)
}

func (x *storyRunner) parse(w []string) core.Command {
	switch w[0] {
	case "clock":
		return &core.Clock{}
	case "btc", "gold", "wti":
		return x.index(w)
	case "op":
		return x.operator(w[1:])
	}
	u := x.user(w[0])
	switch w[1] {
	case "buy", "sell":
		return x.place(u, w[1:])
	case "replace": // `alice replace A buy yes 3 @5000`
		return &core.ReplaceOrder{Old: core.OrderID(x.named[w[2]]), PlaceOrder: *x.place(u, w[3:])}
	case "cancel":
		return &core.CancelOrder{User: u, Order: core.OrderID(x.named[w[2]])}
	case "cancelall":
		c := &core.CancelAll{User: u}
		for _, o := range w[2:] {
			if n, ok := strings.CutPrefix(o, "m="); ok {
				c.Market = core.MarketID(x.num(n))
			} else {
				c.Group = uint32(x.num(strings.TrimPrefix(o, "g=")))
			}
		}
		return c
	case "decrease":
		c := &core.DecreaseOrder{User: u, Order: core.OrderID(x.named[w[2]]), To: w[3] == "to", Amount: core.Qty(x.num(w[4]))}
		if len(w) > 5 {
			c.RequestID = uint64(x.num(strings.TrimPrefix(w[5], "request=")))
		}
		return c
	case "redeem":
		c := &core.Redeem{User: u, Market: 1, Qty: core.Qty(x.num(w[2]))}
		for _, o := range w[3:] {
			if n, ok := strings.CutPrefix(o, "request="); ok {
				c.RequestID = uint64(x.num(n))
			} else {
				c.Market = core.MarketID(x.num(strings.TrimPrefix(o, "m=")))
			}
		}
		return c
	case "withdraw":
		return &core.RequestWithdrawal{User: u, ClientID: w[2], Amount: core.Pips(x.num(w[3])), Destination: "bank"}
	}
	return x.maker(u, w)
}

// index parses `btc 100 -2s of=1`: the price, its second relative to now, the number of sources.
func (x *storyRunner) index(w []string) core.Command {
	t := core.IndexTick{Feed: core.Feed(slices.Index(feeds, w[0])), Second: x.at.Ts / core.NsPerSec, Price: core.Price(x.num(w[1])), Count: 3}
	for _, o := range w[2:] {
		if n, ok := strings.CutPrefix(o, "of="); ok {
			t.Count = uint8(x.num(n))
		} else {
			t.Second += x.num(strings.TrimSuffix(o, "s"))
		}
	}
	return &core.PostIndex{Tick: t}
}

func (x *storyRunner) operator(w []string) core.Command {
	market := func() core.MarketID { return core.MarketID(x.num(w[1])) }
	switch w[0] {
	case "fees":
		return &core.SetFees{Fees: x.fees(w[1:])}
	case "pause", "resume":
		return &core.PauseMarket{Market: market(), Lift: w[0] == "resume"}
	case "void":
		return &core.VoidMarket{Market: market()}
	case "propose":
		return &core.ProposePrice{Market: market(), Price: core.Price(x.num(w[2]))}
	case "suspend", "lift":
		return &core.SuspendUser{User: x.user(w[1]), Lift: w[0] == "lift"}
	case "deposit": // `op deposit alice d-1 500`, or with `by zoe alone 1000`
		c := &core.Deposit{User: x.user(w[1]), DepositID: w[2], Amount: core.Pips(x.num(w[3]))}
		c.Audit.Who, c.Alone = x.alone(w[4:])
		return c
	case "step": // `op step W sent payment-1`, `op step W approved by zoe alone 1000`
		c := &core.DecideWithdrawal{Withdrawal: x.named[w[1]], To: core.WithdrawalState(slices.Index(core.WithdrawalStates(), w[2]))}
		if w = w[3:]; c.To == core.WithdrawalSent {
			c.Reference, w = w[0], w[1:]
		}
		c.Audit.Who, c.Alone = x.alone(w)
		return c
	case "operator":
		return &core.AddOperator{Name: w[1]}
	case "dismiss":
		return &core.RevokeOperator{Name: w[1]}
	case "beat": // `op beat 2 7`: process 7 of machine 2
		return &core.Beat{Node: uint32(x.num(w[1])), Session: uint64(x.num(w[2]))}
	case "drop":
		return &core.DropApproval{Approval: x.named[w[1]]}
	case "setting": // `op setting signup closed open`
		return &core.ChangeSetting{Name: w[1], Before: strings.Trim(w[2], "-"), Value: w[3]}
	case "complete", "reject":
		return &core.DecideWithdrawal{Withdrawal: x.named[w[1]], Complete: w[0] == "complete"}
	case "user":
		c := &core.CreateUser{Name: w[1], TokenHash: [32]byte{7}}
		if len(w) > 2 {
			c.Referrer = x.user(w[2])
		}
		return c
	case "key":
		scopes, _ := core.ScopeOf(w[3])
		return &core.CreateKey{User: x.user(w[1]), Key: w[2], Scopes: scopes, Label: "for " + w[2], Sealed: []byte("sealed")}
	case "revoke":
		return &core.RevokeKey{User: x.user(w[1]), Key: strings.TrimPrefix(w[2], "all")}
	case "reseal":
		return &core.ResealKey{Key: w[1], Sealed: []byte(w[2])}
	case "schedule":
		return &core.SetSchedule{Windows: []core.Window{{Kind: w[1], Start: x.num(w[2]), End: x.num(w[3])}}}
	case "session":
		c := &core.SetSession{Feed: core.Feed(slices.Index(feeds, w[1])), Open: w[2] == "open"}
		if len(w) > 3 {
			c.Until = origin + x.duration(w[3])
		}
		return c
	case "sources": // `op sources btc 2`: the minimum of sources
		r := x.v.Rules()
		r.MinSources[slices.Index(feeds, w[1])] = uint8(x.num(w[2]))
		return &core.SetRules{Rules: r}
	case "ask": // `op ask zoe deposit alice d-1 500`
		return &core.RequestApproval{Action: x.action(w[2:]), Audit: core.Audit{Who: w[1]}}
	case "approve", "deny": // `op approve ann A`, of A's action, or `op approve ann A void 1`
		c := &core.DecideApproval{Approval: x.named[w[2]], Approve: w[0] == "approve", Audit: core.Audit{Who: w[1]}}
		if a, ok := x.v.Approval(c.Approval, x.at.Ts); ok {
			c.Action = a.Action
		}
		if len(w) > 3 {
			c.Action = x.action(w[3:])
		}
		return c
	case "limit":
		r := x.v.Rules()
		r.OpenOrders, r.Contracts = uint32(x.num(w[1])), core.Qty(x.num(w[2]))
		return &core.SetRules{Rules: r}
	}
	x.must(false, strings.Join(w, " "))
	return nil
}

// action parses what a second operator decides: `deposit alice d-1 500`, `withdrawal W`, `void 1`,
// `price 1 100`, `tick btc 100`.
func (x *storyRunner) action(w []string) core.ApprovalAction {
	switch w[0] {
	case "deposit":
		return core.ApprovalAction{Kind: core.ApproveDeposit, User: x.user(w[1]), DepositID: w[2], Amount: core.Pips(x.num(w[3]))}
	case "withdrawal", "pay", "fail", "return":
		kinds := map[string]core.ApprovalKind{"withdrawal": core.ApproveWithdrawal, "pay": core.ApprovePayment, "fail": core.ApproveFailure, "return": core.ApproveReturn}
		return core.ApprovalAction{Kind: kinds[w[0]], Withdrawal: x.named[w[1]]}
	case "fees":
		return core.ApprovalAction{Kind: core.ApproveFees, Fees: x.fees(w[1:])}
	case "void":
		return core.ApprovalAction{Kind: core.ApproveVoid, Market: core.MarketID(x.num(w[1]))}
	case "price":
		return core.ApprovalAction{Kind: core.ApprovePrice, Market: core.MarketID(x.num(w[1])), Price: core.Price(x.num(w[2]))}
	case "tick":
		return core.ApprovalAction{Kind: core.ApproveTick, Feed: core.Feed(slices.Index(feeds, w[1])), Source: "desk", Price: core.Price(x.num(w[2]))}
	}
	x.must(false, strings.Join(w, " "))
	return core.ApprovalAction{}
}

func (x *storyRunner) fees(w []string) core.Fees {
	return core.Fees{Maker: core.Rate(x.num(w[0])), Taker: core.Rate(x.num(w[1])), RebatePct: uint8(x.num(w[2])), ReferPct: uint8(x.num(w[3]))}
}

// alone parses `by zoe alone 1000`, or nothing.
func (x *storyRunner) alone(w []string) (who string, bound core.AloneBound) {
	if len(w) == 0 {
		return "", bound
	}
	return w[1], core.AloneBound{Set: true, Most: core.Pips(x.num(w[3]))}
}

// place parses `buy yes 10 @5300 …`. Without a price it is a market order.
func (x *storyRunner) place(u core.UserID, w []string) *core.PlaceOrder {
	x.next++
	c := &core.PlaceOrder{User: u, ClientID: x.next, Market: 1, Type: core.Market, TIF: core.IOC, Qty: core.Qty(x.num(w[2])), Tick: core.TickMax}
	if w[0] == "sell" {
		c.Side, c.Tick = core.Sell, core.TickMin
	}
	if w[1] == "no" {
		c.Outcome = core.No
	}
	for _, o := range w[3:] {
		key, value, _ := strings.Cut(o, "=")
		switch {
		case o[0] == '@':
			c.Type, c.TIF, c.Tick = core.Limit, core.GTC, core.Tick(x.num(o[1:]))
		case key == "worst":
			c.Tick = core.Tick(x.num(value))
		case key == "max":
			n, err := strconv.ParseUint(value, 10, 64)
			x.must(err == nil, o)
			c.MaxCost = n
		case key == "id":
			c.ClientID = uint64(x.num(value))
		case key == "m":
			c.Market = core.MarketID(x.num(value))
		case key == "gen":
			c.Generation = uint32(x.num(value))
		case key == "g":
			c.Group = uint32(x.num(value))
		case key == "fault":
			c.Fault = map[string]core.Reject{"bad_qty": core.BadQty, "bad_price_tick": core.BadPriceTick, "crossed_quote": core.CrossedQuote}[value]
			x.must(c.Fault != core.OK, o)
		case key == "gtt":
			c.TIF, c.Expiry = core.GTT, x.at.Ts+x.duration(value)
		case key == "not_after":
			c.NotAfter = x.at.Ts + x.duration(value)
		case o == "ioc":
			c.TIF = core.IOC
		case o == "fok":
			c.TIF = core.FOK
		case o == "post_only":
			c.Flags |= core.PostOnly
		case o == "reduce_only":
			c.Flags |= core.ReduceOnly
		case o == "cancel_on_pause":
			c.Flags |= core.CancelOnPause
		case o == "stp_maker":
			c.Flags |= core.StpMaker
		default:
			x.must(false, o)
		}
	}
	return c
}

func (x *storyRunner) name(id core.OrderID) string {
	if l, ok := x.label[uint64(id)]; ok {
		return l
	}
	return fmt.Sprint("order ", id)
}

func (x *storyRunner) event(e core.Event) {
	switch e := e.(type) {
	case *core.OrderPlaced:
		if e.Reject != core.OK {
			x.say("rejected row: %v", e.Reject)
		}
	case *core.Filled:
		x.say("%s fills %s: %d at %d, %v; taker fee %d, maker fee %d%s", x.name(e.Taker), x.name(e.Maker), e.Qty, e.TickYes, e.Path, e.TakerFee, e.MakerFee, shares(e))
		if e.MakerReason != core.NoReason {
			x.say("%s canceled %v, nothing left", x.name(e.Maker), e.MakerReason)
		}
	case *core.OrderClosed:
		x.say("%s %v %v, %d left", x.name(e.Order), e.Status, e.Reason, e.Left)
	case *core.OrderDecreased:
		x.say("%s lowered to %d", x.name(e.Order), e.Left)
	case *core.LevelChanged:
		side := "ask"
		if e.Bid {
			side = "bid"
		}
		x.say("%s %d: %+d = %d", side, e.Tick, e.Delta, e.Qty)
	case *core.BalanceChanged:
		x.say("%s %+d (%v): %d and %d reserved", people[e.User], e.Change, e.Cause, e.Cash, e.Reserved)
	case *core.PositionChanged:
		p := e.Position
		x.say("%s holds %d yes (%d reserved), %d no (%d reserved), cost %d", people[e.User], p.Yes, p.YesReserved, p.No, p.NoReserved, p.Cost)
	case *core.RoundChanged:
		x.round(&e.Round, len(e.Evidence))
	case *core.AccountSettled:
		x.say("%s is paid %d for %d yes and %d no", people[e.User], e.Payout, e.Yes, e.No)
	case *core.DeadmanChanged, *core.GroupChanged, *core.Quoted:
		x.makerEvent(e)
	case *core.WithdrawalChanged:
		x.say("withdrawal %s of %d: %v", e.Withdrawal.ClientID, e.Withdrawal.Amount, strings.TrimSpace(e.Withdrawal.State.String()+" "+e.Withdrawal.Reference))
	case *core.SettingChanged:
		x.say("setting %s: %s", e.Setting.Name, e.Setting.Value)
	case *core.ApprovalChanged:
		a := e.Approval
		if e.Dropped {
			x.say("approval %s, asked by %s, is dropped", x.label[a.ID], a.By)
			return
		}
		x.say("approval %s, asked by %s: %v, decided by %q", x.label[a.ID], a.By, a.Status, a.DecidedBy)
	case *core.UserChanged:
		if e.User.Created == x.at.Ts {
			x.say("account %d is %s's, referred by %q, token %x", e.User.ID, e.User.Name, people[e.User.Referrer], e.User.TokenHash[:2])
		} else {
			x.say("%s suspended: %v", people[e.User.ID], e.User.Suspended)
		}
	case *core.KeyChanged:
		k := e.Key
		x.say("key %s of %s: %v, %q, %s, revoked: %v, %s", k.ID, people[k.User], k.Scopes, k.Label, k.Sealed, k.Revoked, time.Duration(k.Created-origin))
	case *core.Deposited:
		x.say("deposit %s of %d to %s", e.DepositID, e.Amount, people[e.User])
	case *core.Redeemed:
		x.say("%s redeems %d for %d", people[e.User], e.Qty, e.Credit)
	case *core.FeesChanged:
		x.say("fees %d and %d, %d %% to the maker, %d %% to the referrer", e.Fees.Maker, e.Fees.Taker, e.Fees.RebatePct, e.Fees.ReferPct)
	case *core.ScheduleChanged:
		x.say("schedule %+v", e.Windows)
	case *core.SessionChanged:
		x.say("session of %s open: %v, until %v", feeds[e.Feed], e.Open, e.Until != 0)
	}
}

func shares(e *core.Filled) string {
	if e.Rebate+e.Referral == 0 {
		return ""
	}
	return fmt.Sprintf(", rebate %d, referral %d", e.Rebate, e.Referral)
}

func (x *storyRunner) round(r *core.Round, evidence int) {
	x.say("market %d, life %d, series %d: %v, strike %d, settle %d, winner %q, gen %d, fresh %d, covered %d, paused %v, %d ticks",
		r.Market, r.Generation, r.Category, r.Status, r.Strike, r.Settle, r.Winner, r.Gen, r.FreshCount, r.Covered, r.Paused, evidence)
}

// show prints an account, its groups, the book, the approvals or the venue's sums.
func (x *storyRunner) show(w []string) {
	switch w[0] {
	case "book":
		s, _ := x.v.Market(1)
		for _, bid := range []bool{true, false} {
			for l := range s.Book.Levels(bid) {
				x.say("%s %d: %d", map[bool]string{true: "bid", false: "ask"}[bid], l.Tick, l.Qty)
			}
		}
		x.say("last %d, volume %d, %d pairs open", s.LastTick, s.Volume, s.Open)
	case "approvals":
		for a := range x.v.Approvals(0, x.at.Ts) {
			x.say("%s: %v", x.label[a.ID], a.Status)
		}
	case "groups":
		for g := range x.v.Groups(x.user(w[1]), x.at.Ts) {
			x.say("%s", rowOf(&g, x.at.Ts))
		}
	case "venue":
		x.say("%+v", x.v.Sums())
	default:
		u := x.user(w[0])
		cash, reserved := x.v.Balance(u)
		x.say("%s has %d and %d reserved", w[0], cash, reserved)
	}
}
