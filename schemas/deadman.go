package schemas

// ArmDeadman is the body of `POST /v1/portfolio/deadman`
// (docs/rules/orders.md#dead-man-switch).
type ArmDeadman struct {
	TimeoutMs Int `json:"timeout_ms" minimum:"1000" maximum:"60000" fault:"invalid_timeout" doc:"Time to the cancel, ms" example:"5000"`
	GroupID   Int `json:"group_id,omitzero" minimum:"0" maximum:"4294967295"`
}

// DeadmanQuery names a dead-man switch: that of a group, or of the account.
type DeadmanQuery struct {
	GroupID Int `json:"group_id,omitzero" in:"query" minimum:"0" maximum:"4294967295"`
}

// Armed is the response of arming a dead-man switch.
type Armed struct {
	TimeoutMs int64  `json:"timeout_ms"`
	Armed     bool   `json:"armed"`
	GroupID   uint32 `json:"group_id"`
}

// Disarmed is the response of disarming a dead-man switch. Armed is false.
type Disarmed struct {
	Armed   bool   `json:"armed"`
	GroupID uint32 `json:"group_id"`
}

// DeadmanRead is the state of the dead-man switch of a group, or of the account.
type DeadmanRead struct {
	Deadman
	GroupID uint32 `json:"group_id"`
}

// Deadman is the state of the dead-man switch. TimeoutMs and DeadlineTs are 0 when it is
// disarmed.
type Deadman struct {
	Armed      bool  `json:"armed"`
	TimeoutMs  int64 `json:"timeout_ms"`
	DeadlineTs U64   `json:"deadline_ts" pattern:"^[0-9]+$" doc:"ns"`
}
