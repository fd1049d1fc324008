package tools

import (
	"duplex/core"
	"duplex/core/view"
	"duplex/schemas"
)

// EventOf puts an entry of an account's stream on the wire and names its kind
// (contract ws, Data). Every lane shows it alike.
func EventOf(e *view.UserEvent) (kind string, msg any) {
	head := func(name string) schemas.EventHead { return schemas.EventHead{Event: name, Ts: ns(e.Ts)} }
	switch {
	case e.Order != nil:
		return "order", schemas.OrderEvent{EventHead: head("order"), Order: OrderOf(e.Order)}
	case e.Fill != nil:
		return "fill", schemas.FillEvent{Event: "fill", Fill: FillOf(e.Fill)}
	case e.Balance != nil:
		b := e.Balance
		return "balance", schemas.BalanceEvent{EventHead: head("balance"), Cash: pips(b.Cash), Reserved: pips(b.Reserved), Change: schemas.Signed(b.Change), Cause: b.Cause.String()}
	case e.Position != nil:
		return "position", schemas.PositionEvent{EventHead: head("position"), Position: PositionOf(*e.Position)}
	case e.Settlement != nil:
		return "settlement", schemas.SettlementEvent{Event: "settlement", Settlement: SettlementOf(e.Settlement)}
	case e.Deposit != nil:
		return "deposit", schemas.DepositEvent{EventHead: head("deposit"), DepositID: e.Deposit.DepositID, Amount: pips(e.Deposit.Amount)}
	case e.Withdrawal != nil:
		return "withdrawal", schemas.WithdrawalEvent{Event: "withdrawal", Withdrawal: WithdrawalOf(e.Withdrawal)}
	case e.Deadman != nil:
		d := e.Deadman
		return "deadman", schemas.DeadmanEvent{EventHead: head("deadman"), Armed: d.Armed, Fired: d.Fired, TimeoutMs: int64(d.TimeoutMs), DeadlineTs: ns(d.Deadline)}
	default:
		return "key_revoked", schemas.KeyRevokedEvent{EventHead: head("key_revoked"), APIKey: e.KeyRevoked}
	}
}

// EventMarket is the market an event is about; 0 is none.
func EventMarket(e *view.UserEvent) uint32 {
	switch {
	case e.Order != nil:
		return uint32(e.Order.Market)
	case e.Fill != nil:
		return uint32(e.Fill.Market)
	case e.Position != nil:
		return uint32(e.Position.Market)
	case e.Settlement != nil:
		return uint32(e.Settlement.Market)
	default:
		return 0
	}
}

// Touched visits the accounts whose streams an event of the core enters.
func Touched(e core.Event, visit func(core.UserID)) {
	switch e := e.(type) {
	case *core.OrderPlaced:
		visit(e.Place.User)
	case *core.Filled:
		visit(e.TakerUser)
		visit(e.MakerUser)
	case *core.OrderClosed:
		visit(e.User)
	case *core.OrderDecreased:
		visit(e.User)
	case *core.BalanceChanged:
		visit(e.User)
	case *core.PositionChanged:
		visit(e.User)
	case *core.AccountSettled:
		visit(e.User)
	case *core.DeadmanChanged:
		visit(e.User)
	case *core.Deposited:
		visit(e.User)
	case *core.WithdrawalChanged:
		visit(e.Withdrawal.User)
	case *core.KeyChanged:
		visit(e.Key.User)
	}
}
