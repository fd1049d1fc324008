package rest

import (
	"duplex/lanes/gate"
	"duplex/tools"
)

// registerRoutes registers every operation that has a route, in the order of
// docs/rules/rest.md.
func (l *Lane) registerRoutes() {
	register(l, tools.PlaceOrder)
	register(l, tools.PlaceOrders)
	register(l, tools.PreviewOrder)
	register(l, tools.CancelOrder)
	register(l, tools.CancelByClientOrderID)
	register(l, tools.CancelOrders)
	register(l, tools.CancelAllOrders)
	register(l, tools.DecreaseOrder)
	register(l, tools.ReplaceOrder)
	register(l, tools.ArmDeadman)
	register(l, tools.DisarmDeadman)
	register(l, tools.GetDeadman)
	register(l, tools.ListOrders)
	register(l, tools.GetOrder)
	register(l, tools.ListFills)
	register(l, tools.GetBalance)
	register(l, tools.ListPositions)
	register(l, tools.GetPnL)
	register(l, tools.ListSettlements)
	register(l, tools.ListLedger)
	register(l, tools.ListPortfolioRounds)
	register(l, tools.RedeemPairs)
	register(l, tools.SubmitForecast)
	register(l, tools.ListForecasts)
	register(l, tools.ListMarkets)
	register(l, tools.GetMarket)
	register(l, tools.GetOrderbook)
	register(l, tools.ListTrades)
	register(l, tools.ListSeries)
	register(l, tools.GetAccount)
	register(l, tools.ListRounds)
	register(l, tools.GetRound)
	register(l, tools.GetRoundEvidence)
	register(l, tools.GetRoundHistory)
	register(l, tools.GetOraclePrice)
	register(l, tools.GetPriceHistory)
	register(l, tools.GetLimits)
	register(l, tools.GetTime)
	register(l, tools.GetStatus)
	register(l, tools.GetRetention)
	register(l, tools.GetSchedule)
	register(l, tools.GetFees)
	register(l, tools.RequestWithdrawal)
	register(l, tools.ListWithdrawals)
	register(l, tools.GetWithdrawal)
	register(l, tools.ListDeposits)
	register(l, tools.GetDepositAddress)
	if l.gate.Venue.Virtual != nil {
		l.gate.SetPathOptions(tools.AdvanceClock.Path, gate.PathOptions{NoBudget: true})
		register(l, tools.AdvanceClock)
	}
}
