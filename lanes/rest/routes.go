package rest

import (
	"duplex/lanes/gate"
	"duplex/tools"
)

// registerRoutes registers every operation that has a route, in the order of
// docs/rules/rest.md.
func (l *Lane) registerRoutes() {
	l.register(tools.PlaceOrder)
	l.register(tools.PlaceOrders)
	l.register(tools.PreviewOrder)
	l.register(tools.CancelOrder)
	l.register(tools.CancelByClientOrderID)
	l.register(tools.CancelOrders)
	l.register(tools.CancelAllOrders)
	l.register(tools.DecreaseOrder)
	l.register(tools.ReplaceOrder)
	l.register(tools.ArmDeadman)
	l.register(tools.DisarmDeadman)
	l.register(tools.GetDeadman)
	l.register(tools.ListOrders)
	l.register(tools.GetOrder)
	l.register(tools.ListFills)
	l.register(tools.GetBalance)
	l.register(tools.ListPositions)
	l.register(tools.GetPnL)
	l.register(tools.ListSettlements)
	l.register(tools.ListLedger)
	l.register(tools.ListPortfolioRounds)
	l.register(tools.RedeemPairs)
	l.register(tools.SubmitForecast)
	l.register(tools.ListForecasts)
	l.register(tools.ListMarkets)
	l.register(tools.GetMarket)
	l.register(tools.GetOrderbook)
	l.register(tools.ListTrades)
	l.register(tools.ListSeries)
	l.register(tools.GetAccount)
	l.register(tools.ListRounds)
	l.register(tools.GetRound)
	l.register(tools.GetRoundEvidence)
	l.register(tools.GetRoundHistory)
	l.register(tools.GetOraclePrice)
	l.register(tools.GetPriceHistory)
	l.register(tools.GetLimits)
	l.register(tools.GetTime)
	l.register(tools.GetStatus)
	l.register(tools.GetRetention)
	l.register(tools.GetSchedule)
	l.register(tools.GetFees)
	l.register(tools.RequestWithdrawal)
	l.register(tools.ListWithdrawals)
	l.register(tools.GetWithdrawal)
	l.register(tools.ListDeposits)
	l.register(tools.GetDepositAddress)
	if l.gate.Venue.Virtual != nil {
		l.gate.SetPathOptions(tools.AdvanceClock.Path, gate.PathOptions{NoBudget: true})
		l.register(tools.AdvanceClock)
	}
}
