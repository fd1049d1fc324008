package client

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"duplex/schemas"
)

// Wire is the error as the venue wrote it: code, num, origin, message, details.
type Wire = schemas.Error

// Error is an answer of the venue that is not 2xx. Of an answer that is not the
// venue's, a proxy's say, Code is empty and Message is its text.
type Error struct {
	Wire
	Status    int    // HTTP
	RequestID string // as the venue logged it
}

func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("status %d: %s", e.Status, e.Message)
	}
	return fmt.Sprintf("%s (%d)", e.Code, e.Status)
}

// Retry is the rule for this error; what the table does not know, it cannot promise.
func (e *Error) Retry() schemas.Retry {
	if !schemas.Known(e.Code) && e.Status < http.StatusInternalServerError {
		return schemas.Never
	}
	return e.Wire.Retry()
}

// RetryAfter is how long a rate limit asks to wait; 0 if it does not.
func (e *Error) RetryAfter() time.Duration {
	ms, _ := e.RetryAfterMs()
	return time.Duration(ms) * time.Millisecond
}

const textMax = 200 // bytes of a foreign answer that are shown

func failure(status int, header http.Header, answer []byte) error {
	e := &Error{Status: status, RequestID: header.Get("X-Request-Id")}
	var b schemas.ErrorBody
	if err := json.Unmarshal(answer, &b); err == nil && b.Error.Code != "" {
		e.Wire = b.Error
	} else {
		e.Message = fmt.Sprintf("%.*q", textMax, answer)
	}
	return e
}

// unsent is a request that never left.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// surelyNot tells that the venue cannot have seen the request.
func surelyNot(err error) bool {
	var u unsent
	var op *net.OpError
	return errors.As(err, &u) || errors.As(err, &op) && op.Op == "dial"
}

// MayBeDone tells whether a request that ended in err may have been done: the venue
// says so itself, or its answer was lost.
func MayBeDone(err error) bool {
	var e *Error
	switch {
	case err == nil:
		return true
	case errors.As(err, &e):
		return e.Retry() == schemas.Unknown
	default:
		return !surelyNot(err)
	}
}
