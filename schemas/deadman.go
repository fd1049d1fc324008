package schemas

// ArmDeadman is the body of `POST /v1/portfolio/deadman`
// (docs/rules/orders.md#dead-man-switch).
type ArmDeadman struct {
	TimeoutMs Int `json:"timeout_ms" minimum:"1000" maximum:"60000" fault:"invalid_timeout" doc:"Time to the cancel, ms" example:"5000"`
}

// Armed is the response of arming the dead-man switch.
type Armed struct {
	TimeoutMs int64 `json:"timeout_ms"`
	Armed     bool  `json:"armed"`
}

// Disarmed is the response of disarming the dead-man switch. Armed is false.
type Disarmed struct {
	Armed bool `json:"armed"`
}

// Deadman is the state of the dead-man switch. TimeoutMs and DeadlineTs are 0 when it is
// disarmed.
type Deadman struct {
	Armed      bool  `json:"armed"`
	TimeoutMs  int64 `json:"timeout_ms"`
	DeadlineTs U64   `json:"deadline_ts" pattern:"^[0-9]+$" doc:"ns"`
}
