package schemas

// GroupPath names a group of orders.
type GroupPath struct {
	GroupID Int `json:"group_id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_group" example:"7"`
}

// SetGroup is `PUT /v1/portfolio/groups/{group_id}` (docs/rules/orders.md#group-bounds).
type SetGroup struct {
	GroupPath
	FillLimit Int `json:"fill_limit" minimum:"1" maximum:"1000000" doc:"Contracts" example:"100"`
	WindowMs  Int `json:"window_ms" minimum:"100" maximum:"3600000" example:"5000"`
}

// GroupRow is a group with a bound, an armed dead-man switch or a connection: FillLimit and Filled in contracts,
// DeadlineTs that of the switch in ns. Numbers are 0, and flags false, where it has none. It has no docs on the wire,
// because four tools show it.
type GroupRow struct {
	GroupID    uint32 `json:"group_id"`
	FillLimit  int64  `json:"fill_limit"`
	WindowMs   int64  `json:"window_ms"`
	Filled     int64  `json:"filled"`
	Tripped    bool   `json:"tripped"`
	DeadlineTs U64    `json:"deadline_ts" pattern:"^[0-9]+$"`
	Bound      bool   `json:"bound"`
}

// GroupChanged is the row of a group after a command.
type GroupChanged struct {
	GroupRow
	Seq U64 `json:"seq" pattern:"^[0-9]+$"`
}

// GroupList is the response of `GET /v1/portfolio/groups`, by id.
type GroupList struct {
	Groups []GroupRow `json:"groups" nullable:"false"`
	AsOf
}

// GroupEvent reports a change of a group but that of its count.
type GroupEvent struct {
	EventHead
	Change string   `json:"change" enum:"set,tripped,reset,deleted"`
	Group  GroupRow `json:"group"`
}
