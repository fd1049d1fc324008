package client

import (
	"context"
	"io"
	"net/http"
)

// Call sends one signed request and gives the answer as it came, whatever its
// status. It is sent again only after a 401 that came from a wrong clock.
func (c *Client) Call(ctx context.Context, method, target string, body []byte) (status int, header http.Header, answer []byte, err error) {
	var as http.Header
	if len(body) > 0 {
		as = http.Header{"Content-Type": {"application/json"}}
	}
	resp, err := c.Open(ctx, method, target, as, body)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, answer, err
}
