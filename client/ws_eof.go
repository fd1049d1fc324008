package client

import (
	"errors"
	"io"
	"net/http"
)

// withStrictEOF returns a copy of c whose WebSocket connections report
// io.ErrUnexpectedEOF instead of io.EOF. A WebSocket ends with a close frame, not with the
// end of its stream. The library takes io.EOF within a message for the end of the message
// and would deliver a truncated one.
func withStrictEOF(c *http.Client) *http.Client {
	out := *c
	out.Transport = strictEOFTransport{c.Transport}
	return &out
}

type strictEOFTransport struct{ http.RoundTripper }

func (t strictEOFTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	under := t.RoundTripper
	if under == nil {
		under = http.DefaultTransport
	}
	resp, err := under.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		return resp, err
	}
	if both, ok := resp.Body.(io.ReadWriteCloser); ok {
		resp.Body = strictEOFBody{both}
	}
	return resp, nil
}

type strictEOFBody struct{ io.ReadWriteCloser }

func (s strictEOFBody) Read(p []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
