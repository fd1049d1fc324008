package schemas

// SubmitForecast is the body of `POST /v1/forecasts` (docs/rules/forecasts.md#fields).
type SubmitForecast struct {
	MarketID   Int `json:"market_id" minimum:"0" maximum:"4294967295" example:"1"`
	Generation Int `json:"generation" minimum:"1" maximum:"4294967295" doc:"" example:"1"`
	P          Int `json:"p" minimum:"0" maximum:"10000" exact:"true" doc:"P(YES), basis points (6200 = 62 %)" example:"6200"`
}

// ForecastArguments are the arguments of the tool submit_forecast.
type ForecastArguments struct{ SubmitForecast }

// Check rejects a p of 1 to 99, which a model means as a percentage.
func (a *ForecastArguments) Check() *Fault {
	if a.P >= 1 && a.P <= 99 {
		return schemaViolation("p", "0, or 100 to 10000: basis points")
	}
	return nil
}

// SubmittedForecast is the response of a forecast.
type SubmittedForecast struct {
	N   U64 `json:"n" pattern:"^[0-9]+$" doc:"Counts the forecasts of the account, from 1"`
	Seq U64 `json:"seq" pattern:"^[0-9]+$"`
	Ts  U64 `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
}

// ListForecasts is the query of `GET /v1/forecasts`.
type ListForecasts struct {
	MarketID    *Int `json:"market_id,omitempty" in:"query" minimum:"0" maximum:"4294967295"`
	RoundNumber *U64 `json:"round_number,omitempty" in:"query" pattern:"^[0-9]+$"`
	TimeRange
	Page
	MinSeqQuery
}

// Forecast is one of the caller's forecasts (docs/rules/forecasts.md#score).
type Forecast struct {
	N           U64     `json:"n" pattern:"^[0-9]+$" doc:"Counts the forecasts of the account, from 1"`
	Seq         U64     `json:"seq" pattern:"^[0-9]+$"`
	Ts          U64     `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
	MarketID    uint32  `json:"market_id"`
	Generation  uint32  `json:"generation"`
	RoundNumber U64     `json:"round_number" pattern:"^[0-9]+$"`
	Category    uint16  `json:"category"`
	P           int64   `json:"p" minimum:"0" maximum:"10000" doc:"Probability of YES, basis points"`
	Counts      bool    `json:"counts" doc:"The last of its round"`
	Winner      *string `json:"winner" enum:"yes,no" doc:"yes or no; null before settled, or when void"`
	Brier       *int64  `json:"brier" minimum:"0" maximum:"100000000" doc:"Score at 1e8, 0 is best; null like winner"`
}

// ForecastList is a page of forecasts, newest first.
type ForecastList struct {
	Forecasts []Forecast `json:"forecasts" nullable:"false"`
	PageEnd
}
