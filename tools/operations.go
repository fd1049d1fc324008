package tools

// Operations lists the operations that REST and the agent lane offer. Beside them are those of
// RouteOnly and ToolOnly, AdvanceClock and ReportUsage of an arena, and the agent lane's own wait_for_event.
var Operations = []Operation{
	PlaceOrders,
	PutQuotes,
	CancelOrders,
	CancelAllOrders,
	DecreaseOrder,
	ReplaceOrder,
	RedeemPairs,
	ArmDeadman,
	DisarmDeadman,
	SetGroup,
	ResetGroup,
	DeleteGroup,
	ListGroups,
	ListApprovals,
	ListOrders,
	GetOrder,
	ListFills,
	GetAccount,
	GetBalance,
	ListPositions,
	GetPnL,
	ListSettlements,
	ListLedger,
	ListPortfolioRounds,
	ListForecasts,
	GetLimits,
	ListSeries,
	ListMarkets,
	GetMarket,
	GetOrderbook,
	ListTrades,
	ListRounds,
	GetRound,
	GetRoundEvidence,
	GetRoundHistory,
	GetOraclePrice,
	GetPriceHistory,
	RequestWithdrawal,
	ListWithdrawals,
	ListDeposits,
	GetDepositAddress,
}

// RouteOnly lists the operations that are no tools, because another tool or resource has what
// they have: those of the same name in ToolOnly, get_venue, dx://account and list_withdrawals.
var RouteOnly = []Operation{
	PlaceOrder, PreviewOrder, SubmitForecast,
	GetTime, GetStatus, GetRetention, GetSchedule, GetFees,
	CancelOrder, CancelByClientOrderID,
	GetDeadman,
	GetWithdrawal,
}

// ToolOnly lists the tools that join several routes, or take more than their route. tools/list begins
// with them.
var ToolOnly = []Operation{GetVenue, PlaceOneOrder, PreviewOneOrder, CancelOneOrder, Forecast}
