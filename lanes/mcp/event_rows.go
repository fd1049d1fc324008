package mcp

import (
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// The events of wait_for_event: the members of the event lane's messages that an agent acts
// on, at most 100 tokens an event (docs/rules/agents.md#waiting). Members that are zero or
// empty are left out where that says the same. Those of an order, a fill, a position, a settlement
// and a round name the round.

type shortOrderEvent struct {
	Order shortOrder `json:"order"`
}

type shortOrder struct {
	OrderID       *schemas.U64 `json:"order_id"`
	ClientOrderID schemas.U64  `json:"client_order_id"`
	MarketID      uint32       `json:"market_id"`
	Generation    uint32       `json:"generation"`
	Series        string       `json:"series,omitzero"` // both unless the round is no longer kept
	RoundNumber   schemas.U64  `json:"round_number,omitzero"`
	Side          string       `json:"side"`
	Outcome       string       `json:"outcome"`
	Tick          int64        `json:"tick"`
	Qty           int64        `json:"qty"`
	Status        string       `json:"status"`
	Reason        string       `json:"reason,omitzero"`
	FilledQty     int64        `json:"filled_qty"`
	RemainingQty  int64        `json:"remaining_qty"`
}

type shortFill struct {
	MarketID      uint32      `json:"market_id"`
	Generation    uint32      `json:"generation"`
	Series        string      `json:"series"`
	RoundNumber   schemas.U64 `json:"round_number"`
	OrderID       schemas.U64 `json:"order_id"`
	ClientOrderID schemas.U64 `json:"client_order_id"`
	Role          string      `json:"role"`
	Side          string      `json:"side"`
	Outcome       string      `json:"outcome"`
	Qty           int64       `json:"qty"`
	TickYes       int64       `json:"tick_yes"`
	Price         uint64      `json:"price"`
	Fee           schemas.U64 `json:"fee"`
	FeeUSD        schemas.USD `json:"fee_usd"`
}

type shortBalance struct {
	Cash     schemas.U64    `json:"cash"`
	Reserved schemas.U64    `json:"reserved"`
	Change   schemas.Signed `json:"change"`
	Cause    string         `json:"cause"`
}

type shortSettlement struct {
	MarketID      uint32             `json:"market_id"`
	Generation    uint32             `json:"generation"`
	Series        string             `json:"series"`
	RoundNumber   schemas.U64        `json:"round_number"`
	OutcomeStatus string             `json:"outcome_status"`
	Winner        *string            `json:"winner"`
	YesQty        int64              `json:"yes_qty"`
	NoQty         int64              `json:"no_qty"`
	Payout        schemas.U64        `json:"payout"`
	PayoutUSD     schemas.USD        `json:"payout_usd"`
	Profit        *schemas.Signed    `json:"profit,omitempty"`
	ProfitUSD     *schemas.SignedUSD `json:"profit_usd,omitempty"`
}

type shortApproval struct {
	ApprovalID    schemas.U64  `json:"approval_id"`
	Status        string       `json:"status"`
	Reason        string       `json:"reason,omitzero"`
	OrderID       *schemas.U64 `json:"order_id,omitempty"`
	ClientOrderID schemas.U64  `json:"client_order_id"`
	MarketID      uint32       `json:"market_id"`
	Generation    uint32       `json:"generation"`
	Series        string       `json:"series"`
	RoundNumber   schemas.U64  `json:"round_number"`
	Side          string       `json:"side"`
	Outcome       string       `json:"outcome"`
	Tick          int64        `json:"tick"`
	Qty           int64        `json:"qty"`
	Cost          schemas.U64  `json:"cost"`
	ExpiresTs     schemas.U64  `json:"expires_ts"`
}

type shortPosition struct {
	schemas.Position
	Series string `json:"series,omitzero"` // unless the round is no longer kept
}

type shortRoundEvent struct {
	MarketID    uint32      `json:"market_id"`
	Generation  uint32      `json:"generation"`
	Series      string      `json:"series"`
	RoundNumber schemas.U64 `json:"round_number"`
	Category    uint16      `json:"category"`
	Status      string      `json:"status"`
	Strike      schemas.U64 `json:"strike"`
	SettlePrice schemas.U64 `json:"settle_price,omitzero"`
	Winner      *string     `json:"winner,omitzero"`
	Paused      bool        `json:"paused,omitzero"`
	CloseTs     schemas.U64 `json:"close_ts"`
	SecsToClose int64       `json:"secs_to_close"`
}

// shortEvent returns the kind and the row of an account's event. rounds has those of roundsOf.
func shortEvent(e *view.UserEvent, rounds map[roundKey]*core.Round) (kind string, row any) {
	kind, row = tools.EventOf(e)
	switch x := row.(type) {
	case schemas.OrderEvent:
		o := &x.Order
		series, number := nameOf(rounds[roundKey{core.MarketID(o.MarketID), o.Generation}])
		row = shortOrderEvent{shortOrder{o.OrderID, o.ClientOrderID, o.MarketID, o.Generation, series, number, o.Side, o.Outcome, o.Tick, o.Qty, o.Status, o.Reason, o.FilledQty, o.RemainingQty}}
	case schemas.FillEvent:
		row = shortFill{x.MarketID, x.Generation, seriesName(x.Category), x.RoundNumber, x.OrderID, x.ClientOrderID, x.Role, x.Side, x.Outcome, x.Qty, x.TickYes, ownPrice(x.Outcome, uint64(x.TickYes)), x.Fee, schemas.USD(x.Fee)}
	case schemas.BalanceEvent:
		row = shortBalance{x.Cash, x.Reserved, x.Change, x.Cause}
	case schemas.PositionEvent:
		series, _ := nameOf(rounds[roundKey{core.MarketID(x.MarketID), x.Generation}])
		row = shortPosition{x.Position, series}
	case schemas.SettlementEvent:
		s := shortSettlement{x.MarketID, x.Generation, seriesName(x.Category), x.RoundNumber, x.OutcomeStatus, x.Winner, x.YesQty, x.NoQty, x.Payout, schemas.USD(x.Payout), x.Profit, nil}
		if x.Profit != nil {
			s.ProfitUSD = schemas.Ptr(schemas.SignedUSD(*x.Profit))
		}
		row = s
	case schemas.ApprovalEvent:
		a := &x.Approval
		row = shortApproval{a.ApprovalID, a.Status, a.Reason, a.OrderID, a.ClientOrderID, a.MarketID, a.Generation, seriesName(a.Category), a.RoundNumber, a.Side, a.Outcome, a.Tick, a.Qty, a.Cost, a.ExpiresTs}
	case schemas.WithdrawalEvent:
		row = x.Withdrawal
	}
	return kind, row
}

// roundsOf returns the rounds of the orders and positions among events, which do not name theirs.
func roundsOf(e *engine.Engine, events []view.UserEvent) map[roundKey]*core.Round {
	rounds := map[roundKey]*core.Round{}
	for i := range events {
		switch x := events[i].What.(type) {
		case *view.Order:
			rounds[roundKey{x.Market, x.Generation}] = nil
		case *core.Position:
			rounds[roundKey{x.Market, x.Generation}] = nil
		}
	}
	findRounds(e, rounds)
	return rounds
}

// nameOf returns the series and the number of a round; of nil nothing.
func nameOf(r *core.Round) (series string, number schemas.U64) {
	if r == nil {
		return "", 0
	}
	return seriesName(r.Category), schemas.U64(r.Number)
}

// seriesName returns the name of the series of a category, "" if there is none.
func seriesName(category uint16) string {
	if s, ok := core.SeriesOf(category); ok {
		return tools.SeriesName(s)
	}
	return ""
}

// shortRound returns the row of a round's transition.
func shortRound(r schemas.Round) shortRoundEvent {
	out := shortRoundEvent{r.MarketID, r.Generation, seriesName(r.Category), r.RoundNumber, r.Category, r.Status, r.Strike, r.SettlePrice, r.Winner, r.Paused, r.CloseTs, r.SecsToClose}
	if r.Status == core.Void.String() {
		out.Winner = nil
	}
	return out
}
