package trading

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/schemas"
)

// describeEvent describes a message of the stream: the market slot or feed it is about, a dash
// if neither, and what happened.
func describeEvent(e *client.StreamEvent) (of, what string, err error) {
	switch e.Type {
	case "orderbook_snapshot":
		return decodeAndDescribe(e.Msg, bookLine)
	case "orderbook_delta":
		return decodeAndDescribe(e.Msg, deltaLine)
	case "trade":
		return decodeAndDescribe(e.Msg, tradeLine)
	case "oracle":
		return decodeAndDescribe(e.Msg, oracleLine)
	case "round":
		return decodeAndDescribe(e.Msg, roundLine)
	case "user_snapshot":
		return decodeAndDescribe(e.Msg, accountLine)
	case "draining":
		return decodeAndDescribe(e.Msg, drainingLine)
	default:
		return userLine(e)
	}
}

func drainingLine(m *schemas.WSDraining) (of, what string) {
	return noSubject, "the venue stops, and closes this stream at " + time.Unix(0, int64(m.CloseTs)).UTC().Format(time.TimeOnly) + " UTC"
}

// userLine describes an event of the account.
func userLine(e *client.StreamEvent) (of, what string, err error) {
	var head schemas.EventHead
	if err := json.Unmarshal(e.Msg, &head); err != nil {
		return "", "", err
	}
	switch head.Event {
	case "order":
		return decodeAndDescribe(e.Msg, orderLine)
	case "fill":
		return decodeAndDescribe(e.Msg, fillLine)
	case "balance":
		return decodeAndDescribe(e.Msg, balanceLine)
	case "position":
		return decodeAndDescribe(e.Msg, positionLine)
	case "settlement":
		return decodeAndDescribe(e.Msg, settlementLine)
	case "deposit":
		return decodeAndDescribe(e.Msg, depositLine)
	case "withdrawal":
		return decodeAndDescribe(e.Msg, withdrawalLine)
	case "transfer":
		return decodeAndDescribe(e.Msg, transferLine)
	case "account":
		return decodeAndDescribe(e.Msg, stateLine)
	case "approval":
		return decodeAndDescribe(e.Msg, approvalLine)
	case "deadman":
		return decodeAndDescribe(e.Msg, deadmanLine)
	case "group":
		return decodeAndDescribe(e.Msg, groupLine)
	case "key_revoked":
		return decodeAndDescribe(e.Msg, revokedLine)
	default:
		return noSubject, string(e.Msg), nil // from a newer venue
	}
}

// decodeAndDescribe decodes a message and describes it with say.
func decodeAndDescribe[M any](raw []byte, say func(*M) (of, what string)) (of, what string, err error) {
	m := new(M)
	if err := json.Unmarshal(raw, m); err != nil {
		return "", "", err
	}
	of, what = say(m)
	return of, what, nil
}

const noSubject = "-"

func marketLabel(market uint32) string { return cli.ID(market) }

func bookLine(b *schemas.WSBook) (of, what string) {
	return marketLabel(b.MarketID), fmt.Sprintf("book of round %d: YES %s, NO %s", b.RoundNumber, bids(b.Yes), bids(b.No))
}

// change formats what a level gained, with its sign.
func change(delta int64) string {
	if delta < 0 {
		return cli.Grouped(delta)
	}
	return "+" + cli.Grouped(delta)
}

func bids(side []schemas.Level) string {
	if len(side) == 0 {
		return "no bids"
	}
	return fmt.Sprintf("%s @ %s and %s", cli.Grouped(side[0][1]), Cents(side[0][0]), Count(len(side)-1, "more level"))
}

func deltaLine(d *schemas.WSBookDelta) (of, what string) {
	parts := make([]string, len(d.Changes))
	for i, c := range d.Changes {
		parts[i] = fmt.Sprintf("%s @ %s: %s, now %s", strings.ToUpper(c.Outcome), Cents(c.Tick), change(c.Delta), cli.Grouped(c.Qty))
	}
	return marketLabel(d.MarketID), strings.Join(parts, ", ")
}

func tradeLine(t *schemas.Trade) (of, what string) {
	return marketLabel(t.MarketID), fmt.Sprintf("trade: %s, YES @ %s, taker: %s %s (%s)", cli.Grouped(t.Qty), Cents(t.TickYes), t.TakerSide, strings.ToUpper(t.TakerOutcome), t.Path)
}

func oracleLine(o *schemas.WSOracle) (of, what string) {
	of = marketLabel(uint32(o.Feed))
	if o.Feed < core.Feeds {
		of = core.Feed(o.Feed).String()
	}
	return of, fmt.Sprintf("%s from %s", cli.FormatPrice(o.Price), Count(int(o.FreshSourceCount), "source"))
}

func roundLine(r *schemas.Round) (of, what string) {
	what = fmt.Sprintf("round %d, %s: %s, strike %s", r.RoundNumber, SeriesName(r.Category), r.Status, cli.FormatPrice(r.Strike))
	if r.Winner != nil {
		what += fmt.Sprintf(", settles at %s, %s wins", cli.FormatPrice(r.SettlePrice), strings.ToUpper(*r.Winner))
	}
	if r.Paused {
		what += ", paused"
	}
	return marketLabel(r.MarketID), what
}

func accountLine(a *schemas.WSUserSnapshot) (of, what string) {
	return noSubject, fmt.Sprintf("account: %s free, %s reserved, %s, %s", cli.FormatDollars(a.Cash.Int64()), cli.FormatDollars(a.Reserved.Int64()), Count(len(a.Orders), "order"), Count(len(a.Positions), "position"))
}

func approvalLine(e *schemas.ApprovalEvent) (of, what string) {
	a := &e.Approval
	end := "waits for its owner"
	if a.Status != "waiting" {
		end = ApprovalEnd(a.Status, a.Reason)
	}
	return marketLabel(a.MarketID), fmt.Sprintf("approval %s of %s, %s, at most %s: %s", a.ApprovalID, a.Agent, AskedOrder(a), cli.FormatDollars(a.Cost.Int64()), end)
}

// AskedOrder is the order of an approval in words, such as "buy 10 YES @ 47¢, post_only".
func AskedOrder(a *schemas.AgentApproval) string {
	at := "@ " + Cents(a.Tick)
	if a.Type == "market" {
		at = "at market, worst " + Cents(a.Tick)
	}
	text := fmt.Sprintf("%s %s %s %s", a.Side, cli.Grouped(a.Qty), upper(a.Outcome), at)
	if a.TIF != core.GTC.String() && a.Type == core.Limit.String() {
		text += ", " + a.TIF
	}
	for _, f := range []struct {
		flag core.Flags
		name string
	}{{core.PostOnly, "post_only"}, {core.ReduceOnly, "reduce_only"}, {core.CancelOnPause, "cancel_on_pause"}, {core.StpMaker, "stp_maker"}} {
		if core.Flags(a.Flags).Has(f.flag) {
			text += ", " + f.name
		}
	}
	return text
}

func orderLine(e *schemas.OrderEvent) (of, what string) {
	o := &e.Order
	at := "at market"
	if o.Tick > 0 {
		at = "@ " + Cents(o.Tick)
	}
	id := "client_order_id " + o.ClientOrderID.String()
	if o.OrderID != nil {
		id = o.OrderID.String()
	}
	what = fmt.Sprintf("order %s, %s %s %s %s: %s, %s filled, %s remaining", id, o.Side, cli.Grouped(o.Qty), strings.ToUpper(o.Outcome), at, o.Status, cli.Grouped(o.FilledQty), cli.Grouped(o.RemainingQty))
	if o.Reason != "" {
		what += ", " + reasonText(o.Reason)
	}
	return marketLabel(o.MarketID), what
}

func fillLine(e *schemas.FillEvent) (of, what string) {
	return marketLabel(e.MarketID), fmt.Sprintf("fill of order %d as %s: %s %s %s, YES @ %s (%s), fee %s", e.OrderID, e.Role, e.Side, cli.Grouped(e.Qty), strings.ToUpper(e.Outcome), Cents(e.TickYes), e.Path, cli.FormatDollars(e.Fee.Int64()))
}

func balanceLine(e *schemas.BalanceEvent) (of, what string) {
	sign := "+"
	if e.Change < 0 {
		sign, e.Change = "-", -e.Change
	}
	return noSubject, fmt.Sprintf("balance: %s free, %s reserved, %s%s (%s)", cli.FormatDollars(e.Cash.Int64()), cli.FormatDollars(e.Reserved.Int64()), sign, cli.FormatDollars(int64(e.Change)), e.Cause)
}

func positionLine(e *schemas.PositionEvent) (of, what string) {
	return marketLabel(e.MarketID), fmt.Sprintf("position: %s YES, %s NO, cost %s", cli.Grouped(e.YesQty), cli.Grouped(e.NoQty), cli.FormatDollars(e.Cost.Int64()))
}

func settlementLine(e *schemas.SettlementEvent) (of, what string) {
	winner := "void"
	if e.Winner != nil {
		winner = strings.ToUpper(*e.Winner) + " wins"
	}
	return marketLabel(e.MarketID), fmt.Sprintf("settlement of round %d, %s: %s for %s YES, %s NO", e.RoundNumber, winner, cli.FormatDollars(e.Payout.Int64()), cli.Grouped(e.YesQty), cli.Grouped(e.NoQty))
}

func depositLine(e *schemas.DepositEvent) (of, what string) {
	return noSubject, fmt.Sprintf("deposit %s of %s", e.DepositID, cli.FormatDollars(e.Amount.Int64()))
}

func withdrawalLine(e *schemas.WithdrawalEvent) (of, what string) {
	return noSubject, fmt.Sprintf("withdrawal %d of %s to %s: %s", e.WithdrawalID, cli.FormatDollars(e.Amount.Int64()), e.Destination, e.State)
}

func deadmanLine(e *schemas.DeadmanEvent) (of, what string) {
	name := "dead-man switch"
	if e.GroupID != 0 {
		name = fmt.Sprintf("dead-man switch of group %d", e.GroupID)
	}
	switch {
	case e.Fired:
		return noSubject, name + " fired"
	case e.Armed:
		return noSubject, fmt.Sprintf("%s armed, %s ms", name, cli.Grouped(e.TimeoutMs))
	default:
		return noSubject, name + " disarmed"
	}
}

func groupLine(e *schemas.GroupEvent) (of, what string) {
	g := &e.Group
	switch e.Change {
	case "set":
		return noSubject, fmt.Sprintf("group %d may fill %s contracts in %s ms, %s now", g.GroupID, cli.Grouped(g.FillLimit), cli.Grouped(g.WindowMs), cli.Grouped(g.Filled))
	case "deleted":
		return noSubject, fmt.Sprintf("group %d has no bound", g.GroupID)
	case "tripped":
		return noSubject, fmt.Sprintf("group %d has tripped: %s of %s contracts in %s ms", g.GroupID, cli.Grouped(g.Filled), cli.Grouped(g.FillLimit), cli.Grouped(g.WindowMs))
	default:
		return noSubject, fmt.Sprintf("group %d is %s", g.GroupID, e.Change)
	}
}

func transferLine(e *schemas.TransferEvent) (of, what string) {
	t := &e.Transfer
	return noSubject, fmt.Sprintf("transfer of %s from account %d to account %d", cli.FormatDollars(t.Amount.Int64()), t.From, t.To)
}

func stateLine(e *schemas.AccountEvent) (of, what string) {
	return noSubject, fmt.Sprintf("account %s, mandate rev %d", e.State, e.Rev)
}

func revokedLine(e *schemas.KeyRevokedEvent) (of, what string) {
	return noSubject, "key " + e.APIKey + " revoked"
}

// Count formats a number of things, such as "1 order" or "2,000 orders".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%s %s", cli.Grouped(n), thing)
}
