package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"duplex/client"
	"duplex/core"
	"duplex/schemas"
)

// lineOf says a message of the stream in words: the market or feed it is of, a dash
// if of none, and what happened.
func lineOf(e *client.StreamEvent) (of, what string, err error) {
	switch e.Type {
	case "orderbook_snapshot":
		return inWords(e.Msg, bookLine)
	case "orderbook_delta":
		return inWords(e.Msg, deltaLine)
	case "trade":
		return inWords(e.Msg, tradeLine)
	case "oracle":
		return inWords(e.Msg, oracleLine)
	case "round":
		return inWords(e.Msg, roundLine)
	case "user_snapshot":
		return inWords(e.Msg, accountLine)
	default:
		return userLine(e)
	}
}

// userLine says an event of the account.
func userLine(e *client.StreamEvent) (of, what string, err error) {
	var head schemas.EventHead
	if err := json.Unmarshal(e.Msg, &head); err != nil {
		return "", "", err
	}
	switch head.Event {
	case "order":
		return inWords(e.Msg, orderLine)
	case "fill":
		return inWords(e.Msg, fillLine)
	case "balance":
		return inWords(e.Msg, balanceLine)
	case "position":
		return inWords(e.Msg, positionLine)
	case "settlement":
		return inWords(e.Msg, settlementLine)
	case "deposit":
		return inWords(e.Msg, depositLine)
	case "withdrawal":
		return inWords(e.Msg, withdrawalLine)
	case "deadman":
		return inWords(e.Msg, deadmanLine)
	case "key_revoked":
		return inWords(e.Msg, revokedLine)
	default:
		return none, string(e.Msg), nil // of a later venue
	}
}

// inWords decodes a message for the words about it.
func inWords[M any](raw []byte, say func(*M) (of, what string)) (of, what string, err error) {
	m := new(M)
	if err := json.Unmarshal(raw, m); err != nil {
		return "", "", err
	}
	of, what = say(m)
	return of, what, nil
}

const none = "-"

func slot(market uint32) string { return fmt.Sprint(market) }

func bookLine(b *schemas.WSBook) (of, what string) {
	return slot(b.MarketID), fmt.Sprintf("book of round %d: YES %s, NO %s", b.RoundNumber, bids(b.Yes), bids(b.No))
}

func bids(side []schemas.Level) string {
	if len(side) == 0 {
		return "no bids"
	}
	return fmt.Sprintf("%d @ %s and %d levels below", side[0][1], cents(side[0][0]), len(side)-1)
}

func deltaLine(d *schemas.WSBookDelta) (of, what string) {
	parts := make([]string, len(d.Changes))
	for i, c := range d.Changes {
		parts[i] = fmt.Sprintf("%s @ %s %+d to %d", strings.ToUpper(c.Outcome), cents(c.Tick), c.Delta, c.Qty)
	}
	return slot(d.MarketID), strings.Join(parts, ", ")
}

func tradeLine(t *schemas.Trade) (of, what string) {
	return slot(t.MarketID), fmt.Sprintf("trade of %d, YES @ %s, by who would %s %s (%s)", t.Qty, cents(t.TickYes), t.TakerSide, strings.ToUpper(t.TakerOutcome), t.Path)
}

func oracleLine(o *schemas.WSOracle) (of, what string) {
	of = slot(uint32(o.Feed))
	if o.Feed < core.Feeds {
		of = core.Feed(o.Feed).String()
	}
	return of, fmt.Sprintf("%s of %d sources", price(o.Price), o.FreshSourceCount)
}

func roundLine(r *schemas.Round) (of, what string) {
	what = fmt.Sprintf("round %d, %s: %s, strike %s", r.RoundNumber, series(r.Category), r.Status, price(r.Strike))
	if r.Winner != nil {
		what += fmt.Sprintf(", settles at %s, %s wins", price(r.SettlePrice), strings.ToUpper(*r.Winner))
	}
	if r.Paused {
		what += ", paused"
	}
	return slot(r.MarketID), what
}

func accountLine(a *schemas.WSUserSnapshot) (of, what string) {
	return none, fmt.Sprintf("account: %s free, %s reserved, %d orders, %d positions", dollars(a.Cash.Int64()), dollars(a.Reserved.Int64()), len(a.Orders), len(a.Positions))
}

func orderLine(e *schemas.OrderEvent) (of, what string) {
	o := &e.Order
	at := "at market"
	if o.Tick > 0 {
		at = "@ " + cents(o.Tick)
	}
	id := "client_order_id " + o.ClientOrderID.String()
	if o.OrderID != nil {
		id = o.OrderID.String()
	}
	what = fmt.Sprintf("order %s, %s %s %d %s: %s, %d filled, %d remain", id, o.Side, strings.ToUpper(o.Outcome), o.Qty, at, o.Status, o.FilledQty, o.RemainingQty)
	if o.Reason != "" {
		what += ", " + o.Reason
	}
	return slot(o.MarketID), what
}

func fillLine(e *schemas.FillEvent) (of, what string) {
	return slot(e.MarketID), fmt.Sprintf("fill of order %d as %s: %s %s %d, YES @ %s (%s), fee %s", e.OrderID, e.Role, e.Side, strings.ToUpper(e.Outcome), e.Qty, cents(e.TickYes), e.Path, dollars(e.Fee.Int64()))
}

func balanceLine(e *schemas.BalanceEvent) (of, what string) {
	sign := "+"
	if e.Change < 0 {
		sign, e.Change = "-", -e.Change
	}
	return none, fmt.Sprintf("balance: %s free, %s reserved, %s%s by %s", dollars(e.Cash.Int64()), dollars(e.Reserved.Int64()), sign, dollars(int64(e.Change)), e.Cause)
}

func positionLine(e *schemas.PositionEvent) (of, what string) {
	return slot(e.MarketID), fmt.Sprintf("position: %d YES, %d NO, paid %s", e.YesQty, e.NoQty, dollars(e.Cost.Int64()))
}

func settlementLine(e *schemas.SettlementEvent) (of, what string) {
	winner := "void"
	if e.Winner != nil {
		winner = strings.ToUpper(*e.Winner) + " wins"
	}
	return slot(e.MarketID), fmt.Sprintf("settlement of round %d, %s: %s for %d YES, %d NO", e.RoundNumber, winner, dollars(e.Payout.Int64()), e.YesQty, e.NoQty)
}

func depositLine(e *schemas.DepositEvent) (of, what string) {
	return none, fmt.Sprintf("deposit %s of %s", e.DepositID, dollars(e.Amount.Int64()))
}

func withdrawalLine(e *schemas.WithdrawalEvent) (of, what string) {
	return none, fmt.Sprintf("withdrawal %d of %s to %s: %s", e.WithdrawalID, dollars(e.Amount.Int64()), e.Destination, e.Status)
}

func deadmanLine(e *schemas.DeadmanEvent) (of, what string) {
	switch {
	case e.Fired:
		return none, "dead-man switch fired"
	case e.Armed:
		return none, fmt.Sprintf("dead-man switch armed, %d ms", e.TimeoutMs)
	default:
		return none, "dead-man switch disarmed"
	}
}

func revokedLine(e *schemas.KeyRevokedEvent) (of, what string) {
	return none, "key " + e.APIKey + " revoked"
}

// dollars shows pips exactly, with two places or, where there are parts of a cent,
// four.
func dollars(pips int64) string {
	if pips%100 == 0 {
		return fmt.Sprintf("$%d.%02d", pips/10_000, pips/100%100)
	}
	return fmt.Sprintf("$%d.%04d", pips/10_000, pips%10_000)
}
