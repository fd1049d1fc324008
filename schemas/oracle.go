package schemas

// GetOraclePrice is the query of `GET /v1/oracle/price`; no feed means 0.
type GetOraclePrice struct {
	Feed Int `json:"feed,omitzero" in:"query" table:"feed" doc:"{names}; default 0"`
	MinSeqQuery
}

// OraclePrice is the index of a feed at 1e8 scale. Without a valid tick, price and ts
// are "0".
type OraclePrice struct {
	Price            U64   `json:"price" pattern:"^[0-9]+$" doc:"At 1e8"`
	Ts               U64   `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
	FreshSourceCount uint8 `json:"fresh_source_count"`
	AsOf
}
