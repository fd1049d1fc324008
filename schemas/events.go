package schemas

// WaitForEvent is the input of the tool wait_for_event (contract mcp, Tools).
type WaitForEvent struct {
	AfterSeq  U64      `json:"after_seq" pattern:"^[0-9]+$" doc:"The last seq seen; next_seq of the call before"`
	Kinds     []string `json:"kinds,omitempty" nullable:"false" maxItems:"9" enum:"order,fill,balance,position,settlement,deposit,withdrawal,deadman,round" doc:"Default all"`
	MarketIDs []Int    `json:"market_ids,omitempty" nullable:"false" maxItems:"64" minimum:"1" maximum:"65535" doc:"Default all"`
	TimeoutMs *Int     `json:"timeout_ms,omitempty" minimum:"0" maximum:"25000" fault:"invalid_timeout" doc:"How long to wait, ms"`
}
