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

// Error is a response that is not 2xx. For a response that is not the venue's, such as a
// proxy's, Code is empty and Message is the text.
type Error struct {
	Wire
	Status    int    // HTTP
	RequestID string // X-Request-Id, as in the venue's log
}

func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("status %d: %s", e.Status, e.Message)
	}
	return fmt.Sprintf("%s (%d)", e.Code, e.Status)
}

// Retry returns the retry rule. An error that is not the venue's is Never below status
// 500, else Unknown.
func (e *Error) Retry() schemas.Retry {
	if !schemas.IsErrorCode(e.Code) && e.Status < http.StatusInternalServerError {
		return schemas.Never
	}
	return e.Wire.Retry()
}

// RetryAfter returns the wait that rate_limited or history_behind names, or 0.
func (e *Error) RetryAfter() time.Duration {
	ms, _ := e.RetryAfterMs()
	return time.Duration(ms) * time.Millisecond
}

const maxForeignText = 200 // bytes of the text of a response that is not the venue's

func responseError(status int, header http.Header, answer []byte) error {
	e := &Error{Status: status, RequestID: header.Get("X-Request-Id")}
	var b schemas.ErrorBody
	if err := json.Unmarshal(answer, &b); err == nil && b.Error.Code != "" {
		e.Wire = b.Error
	} else {
		e.Message = fmt.Sprintf("%.*q", maxForeignText, answer)
	}
	return e
}

// notSent is the error of a request that was not sent.
type notSent struct{ error }

func (u notSent) Unwrap() error { return u.error }

// notConnected is the error of a request that got no connection: refused, no such host, TLS to a plain port.
type notConnected struct{ error }

func (u notConnected) Unwrap() error { return u.error }

// wasNotSent reports whether the request cannot have reached the venue.
func wasNotSent(err error) bool {
	var u notSent
	var none notConnected
	var op *net.OpError
	return errors.As(err, &u) || errors.As(err, &none) || errors.As(err, &op) && op.Op == "dial"
}

// MayBeDone reports whether a request that returned err may have been executed: the
// error's retry rule is Unknown, or the response was lost.
func MayBeDone(err error) bool {
	var e *Error
	switch {
	case err == nil:
		return true
	case errors.As(err, &e):
		return e.Retry() == schemas.Unknown
	default:
		return !wasNotSent(err)
	}
}
