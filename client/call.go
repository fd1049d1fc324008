package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"

	"duplex/schemas"
)

// Call sends one signed request and gives the answer as it came, whatever its
// status. It is sent again only after a 401 that came from a wrong clock.
func (c *Client) Call(ctx context.Context, method, target string, body []byte) (status int, header http.Header, answer []byte, err error) {
	status, header, answer, err = c.send(ctx, method, target, body)
	if err == nil && status == http.StatusUnauthorized && c.correct(header.Get("Date")) {
		return c.send(ctx, method, target, body)
	}
	return status, header, answer, err
}

// send signs the target as net/http writes it, which is not always as it was given.
func (c *Client) send(ctx context.Context, method, target string, body []byte) (int, http.Header, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+target, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, unsent{err}
	}
	ts := strconv.FormatInt(c.Now().UnixMilli(), 10)
	r.Header.Set(schemas.HeaderKey, c.key)
	r.Header.Set(schemas.HeaderTimestamp, ts)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(c.secret, ts, method, r.URL.RequestURI(), body))
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, answer, err
}
