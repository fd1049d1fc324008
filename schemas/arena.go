package schemas

import "math"

// AdvanceClock is the input of `POST /v1/arena/advance`: one of both fields.
type AdvanceClock struct {
	UntilTs *U64 `json:"until_ts,omitempty" pattern:"^[0-9]+$" doc:"ns of venue time"`
	ByMs    *Int `json:"by_ms,omitempty" minimum:"1" maximum:"86400000" doc:"ms"`
}

// Check requires exactly one of both fields, in the range of a stamp.
func (a *AdvanceClock) Check() *Fault {
	if (a.UntilTs == nil) == (a.ByMs == nil) {
		return schemaViolation("until_ts", "either until_ts or by_ms")
	}
	if a.UntilTs != nil && *a.UntilTs > math.MaxInt64 {
		return schemaViolation("until_ts", "at most 2^63 − 1")
	}
	return nil
}

// AdvancedClock is the answer: the venue time that is reached.
type AdvancedClock struct {
	VenueTime U64 `json:"venue_time" pattern:"^[0-9]+$" doc:"ns"`
	AsOf
}

// ModelUsage is the input of `POST /v1/arena/usage`: what a call of a model took, as the agent says.
type ModelUsage struct {
	Model            string `json:"model" minLength:"1" maxLength:"64" doc:"As its provider names it"`
	PromptTokens     Int    `json:"prompt_tokens" minimum:"0" maximum:"1000000000"`
	CompletionTokens Int    `json:"completion_tokens" minimum:"0" maximum:"1000000000"`
	Cost             string `json:"cost" pattern:"^[0-9]{1,9}([.][0-9]{1,9})?$" doc:"Dollars" example:"0.0042"`
}
