package client

import (
	"errors"
	"io"
	"net/http"
)

// cutting is a client of the same transport for connections that end where they
// may not. A WebSocket ends with a close frame, never with the end of its stream;
// the library takes an io.EOF within a message for the end of the message, and would
// hand out what had come of it.
func cutting(c *http.Client) *http.Client {
	out := *c
	out.Transport = cuttingTransport{c.Transport}
	return &out
}

type cuttingTransport struct{ http.RoundTripper }

func (t cuttingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	under := t.RoundTripper
	if under == nil {
		under = http.DefaultTransport
	}
	resp, err := under.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		return resp, err
	}
	if both, ok := resp.Body.(io.ReadWriteCloser); ok {
		resp.Body = cutStream{both}
	}
	return resp, nil
}

type cutStream struct{ io.ReadWriteCloser }

func (s cutStream) Read(p []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
