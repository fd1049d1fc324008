package client

import (
	"io"
	"net/http"
)

// refusedDial is a handshake that was answered as any request, with the Date that
// tells a wrong clock.
type refusedDial struct {
	error
	status int
	date   string
}

func (r *refusedDial) Unwrap() error { return r.error }

func refusalOf(resp *http.Response) error {
	body, _ := io.ReadAll(resp.Body) // the library keeps the first 1024 bytes, and closes
	return &refusedDial{failure(resp.StatusCode, resp.Header, body), resp.StatusCode, resp.Header.Get("Date")}
}
