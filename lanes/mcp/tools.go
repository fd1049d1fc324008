package mcp

import "duplex/tools"

// offers lists every tool, in the order of contract mcp, Tools.
func (l *Lane) offers() {
	offer(l, tools.PlaceOrder)
	offer(l, tools.PlaceOrders)
	offer(l, tools.PreviewOrder)
	offer(l, tools.CancelOrder)
	offer(l, tools.CancelOrders)
	offer(l, tools.CancelAllOrders)
	offer(l, tools.DecreaseOrder)
	offer(l, tools.RedeemPairs)
	offer(l, tools.ArmDeadman)
	offer(l, tools.DisarmDeadman)
	offer(l, tools.ListOrders)
	offer(l, tools.GetOrder)
	offer(l, tools.ListFills)
	offer(l, tools.GetBalance)
	offer(l, tools.ListPositions)
	offer(l, tools.ListSettlements)
	offer(l, tools.GetLimits)
	offer(l, tools.ListMarkets)
	offer(l, tools.GetMarket)
	offer(l, tools.GetOrderbook)
	offer(l, tools.ListTrades)
	offer(l, tools.ListRounds)
	offer(l, tools.GetRound)
	offer(l, tools.GetRoundEvidence)
	offer(l, tools.GetOraclePrice)
	offer(l, tools.GetVenue)
	await(l, l.waitForEvent())
	offer(l, tools.RequestWithdrawal)
	offer(l, tools.ListWithdrawals)
	offer(l, tools.GetDepositAddress)
}
