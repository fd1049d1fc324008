package tools

import (
	"duplex/core"
	"duplex/core/view"
	"duplex/schemas"
)

// EventOf converts an entry of an account's stream and returns its kind
// (docs/rules/events.md#the-account). All lanes use it.
func EventOf(e *view.UserEvent) (kind string, msg any) {
	head := func(name string) schemas.EventHead { return schemas.EventHead{Event: name, Ts: ns(e.Ts)} }
	switch x := e.What.(type) {
	case *view.Order:
		return "order", schemas.OrderEvent{EventHead: head("order"), Order: OrderOf(x)}
	case *view.Fill:
		return "fill", schemas.FillEvent{Event: "fill", Fill: FillOf(x)}
	case *view.Balance:
		return "balance", schemas.BalanceEvent{EventHead: head("balance"), Cash: pips(x.Cash), Reserved: pips(x.Reserved), Change: schemas.Signed(x.Change), Cause: x.Cause.String()}
	case *core.Position:
		return "position", schemas.PositionEvent{EventHead: head("position"), Position: PositionOf(*x)}
	case *view.Settlement:
		return "settlement", schemas.SettlementEvent{Event: "settlement", Settlement: SettlementOf(x)}
	case *core.Deposited:
		return "deposit", schemas.DepositEvent{EventHead: head("deposit"), DepositID: x.DepositID, Amount: pips(x.Amount)}
	case *core.Withdrawal:
		return "withdrawal", schemas.WithdrawalEvent{Event: "withdrawal", Withdrawal: WithdrawalOf(x)}
	case *core.DeadmanChanged:
		return "deadman", schemas.DeadmanEvent{EventHead: head("deadman"), Armed: x.Armed, Fired: x.Fired, TimeoutMs: int64(x.TimeoutMs), DeadlineTs: ns(x.Deadline), GroupID: x.Group}
	case *core.GroupChanged:
		return "group", schemas.GroupEvent{EventHead: head("group"), Change: x.Change.String(), Group: GroupOf(&x.Group)}
	case *view.Ask:
		return "approval", schemas.ApprovalEvent{EventHead: head("approval"), Approval: ApprovalOf(&x.AskChanged)}
	case *core.Transferred:
		return "transfer", schemas.TransferEvent{EventHead: head("transfer"), Transfer: TransferOf(x)}
	case *core.AgentChanged:
		return "account", schemas.AccountEvent{EventHead: head("account"), State: x.State.String(), Rev: x.Rev}
	case view.KeyRevoked:
		return "key_revoked", schemas.KeyRevokedEvent{EventHead: head("key_revoked"), APIKey: string(x)}
	default:
		panic(core.InvariantViolation{Detail: "an account event without a wire form"})
	}
}

// EventMarket returns the market of an event; 0 means none.
func EventMarket(e *view.UserEvent) uint32 {
	switch x := e.What.(type) {
	case *view.Order:
		return uint32(x.Market)
	case *view.Fill:
		return uint32(x.Market)
	case *core.Position:
		return uint32(x.Market)
	case *view.Settlement:
		return uint32(x.Market)
	case *view.Ask:
		return uint32(x.Ask.Place.Market)
	default:
		return 0
	}
}

// AffectedUsers calls visit for each account whose stream gets an event of the core.
func AffectedUsers(e core.Event, visit func(core.UserID)) {
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
	case *core.GroupChanged:
		visit(e.User)
	case *core.Deposited:
		visit(e.User)
	case *core.WithdrawalChanged:
		visit(e.Withdrawal.User)
	case *core.Transferred:
		visit(e.From)
		visit(e.To)
	case *core.AgentChanged:
		visit(e.User)
	case *core.AskChanged:
		visit(e.Ask.Place.User)
		visit(e.Owner)
	case *core.KeyChanged:
		visit(e.Key.User)
	}
}
