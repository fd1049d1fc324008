package client

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"strconv"

	"duplex/schemas"
)

// Open is Call for answers that stream: it gives the response with its body still to
// be read, which the caller closes. header is sent beside the signature.
func (c *Client) Open(ctx context.Context, method, target string, header http.Header, body []byte) (*http.Response, error) {
	before := c.offset.Load()
	resp, err := c.send(ctx, method, target, header, body)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	// The clock may also have been set right by another request since this one left.
	if !c.correct(resp.Header.Get("Date")) && c.offset.Load() == before {
		return resp, nil
	}
	resp.Body.Close()
	return c.send(ctx, method, target, header, body)
}

// send signs the target as net/http writes it, which is not always as it was given.
func (c *Client) send(ctx context.Context, method, target string, header http.Header, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+target, bytes.NewReader(body))
	if err != nil {
		return nil, unsent{err}
	}
	maps.Copy(r.Header, header)
	ts := strconv.FormatInt(c.Now().UnixMilli(), 10)
	r.Header.Set(schemas.HeaderKey, c.key)
	r.Header.Set(schemas.HeaderTimestamp, ts)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(c.secret, ts, method, r.URL.RequestURI(), body))
	return c.http.Do(r)
}
