package tools

import (
	"errors"

	"duplex/core"
	"duplex/core/engine"
	"duplex/schemas"
)

// Refused is a wire error that an operation or the door gives as it is.
type Refused struct{ Wire schemas.Error }

func (r Refused) Error() string { return r.Wire.Code }

// Refuse makes one of a code of the table.
func Refuse(code string) error { return Refused{schemas.ErrorOf(code)} }

// ErrorOf is the one mapping from what operations give to what callers see. What it
// does not know is internal.
func ErrorOf(err error) schemas.Error {
	var refused Refused
	var fault *schemas.Fault
	var reject core.Reject
	switch {
	case errors.As(err, &refused):
		return refused.Wire
	case errors.As(err, &fault):
		return schemas.ErrorOf(fault.Code)
	case errors.As(err, &reject):
		return schemas.RejectError(reject)
	case errors.Is(err, engine.ErrShed):
		return schemas.ErrorOf("shed")
	case errors.Is(err, engine.ErrDraining), errors.Is(err, engine.ErrStopped):
		return schemas.ErrorOf("draining")
	case errors.Is(err, engine.ErrRevoked):
		return schemas.ErrorOf("unauthorized")
	case errors.Is(err, engine.ErrUnknown):
		return schemas.ErrorOf("sequencing_timeout")
	default:
		return schemas.ErrorOf("internal")
	}
}
