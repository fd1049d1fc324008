package tools

import (
	"errors"

	"duplex/core"
	"duplex/core/engine"
	"duplex/schemas"
)

// Error is a wire error that an operation or the gate returns unchanged.
type Error struct{ Wire schemas.Error }

func (r Error) Error() string { return r.Wire.Code }

// NewError returns the error of a code of schemas.ErrorTable.
func NewError(code string) error { return Error{schemas.ErrorOf(code)} }

// ErrorOf converts an error of an operation to the wire error that every lane returns.
// An unknown error becomes internal (docs/rules/errors.md#registry).
func ErrorOf(err error) schemas.Error {
	var refused Error
	var fault *schemas.Fault
	var reject core.Reject
	var violation *core.Violation
	switch {
	case errors.As(err, &refused):
		return refused.Wire
	case errors.As(err, &fault):
		return schemas.ErrorOf(fault.Code)
	case errors.As(err, &violation):
		return schemas.MandateError(violation)
	case errors.As(err, &reject):
		return schemas.RejectError(reject)
	case errors.Is(err, engine.ErrShed):
		return schemas.ErrorOf("shed")
	case errors.Is(err, engine.ErrReadOnly):
		return schemas.ErrorOf("read_only_node")
	case errors.Is(err, engine.ErrDraining), errors.Is(err, engine.ErrStopped):
		return schemas.ErrorOf("draining")
	case errors.Is(err, engine.ErrRevoked), errors.Is(err, engine.ErrExpired), errors.Is(err, engine.ErrRepeated):
		return schemas.ErrorOf("unauthorized")
	case errors.Is(err, engine.ErrTooLarge):
		return schemas.ErrorOf("body_too_large")
	case errors.Is(err, engine.ErrUnknown):
		return schemas.ErrorOf("sequencing_timeout")
	default:
		return schemas.ErrorOf("internal")
	}
}

// Explain returns e, the wire error of err, with a field and a hint, as REST has them. in is the decoded request, a
// pointer, or nil.
func Explain(e schemas.Error, err error, in any) schemas.Error {
	if fault, ok := errors.AsType[*schemas.Fault](err); ok && fault.Code == e.Code {
		return e.With(fault)
	}
	return e.About(in)
}
