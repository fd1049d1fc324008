package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"duplex/schemas"
)

// Call sends one signed request and returns the response, whatever its status. It
// resends only after a 401 caused by a wrong clock.
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

// Open is Call for responses that stream. The caller reads and closes the body. header is
// sent in addition to the signature.
func (c *Client) Open(ctx context.Context, method, target string, header http.Header, body []byte) (*http.Response, error) {
	before := c.offset.Load()
	resp, err := c.send(ctx, method, target, header, body)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	// Another request may have corrected the clock in the meantime.
	if !c.correctClock(resp.Header.Get("Date")) && c.offset.Load() == before {
		return resp, nil
	}
	resp.Body.Close()
	return c.send(ctx, method, target, header, body)
}

// send signs the target in the form in which net/http sends it, which can differ from
// target.
func (c *Client) send(ctx context.Context, method, target string, header http.Header, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+target, bytes.NewReader(body))
	if err != nil {
		return nil, notSent{err}
	}
	maps.Copy(r.Header, header)
	ts := strconv.FormatInt(c.Now().UnixMilli(), 10)
	r.Header.Set(schemas.HeaderKey, c.key)
	r.Header.Set(schemas.HeaderTimestamp, ts)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(c.secret, ts, method, r.URL.RequestURI(), body))
	return c.http.Do(r)
}

// request is an encoded request.
type request struct {
	method, target string
	body           []byte
}

// isRead reports whether the request changes nothing.
func (r *request) isRead() bool {
	return r.method == "GET" || strings.HasSuffix(r.target, "/orders/preview")
}

// isPlacement reports whether the request is a placement, which its client_order_id makes
// idempotent.
func (r *request) isPlacement() bool {
	return r.method == "POST" && (r.target == routeOrders || r.target == routeBatch)
}

// Do sends a request of a route and decodes its response into the value that out points
// to. in is a request of package schemas. Its path fields replace those of target, such
// as /v1/rounds/{market_id}; its other fields become the query and the body. Unknown
// members of the response are ignored.
func (c *Client) Do(ctx context.Context, method, target string, in, out any) error {
	_, err := c.run(ctx, method, target, in, out)
	return err
}

// run is Do. It also reports whether a placement was repeated.
func (c *Client) run(ctx context.Context, method, template string, in, out any) (repeated bool, err error) {
	r := request{method: method}
	if r.target, err = schemas.Target(template, in); err != nil {
		return false, notSent{err}
	}
	if r.body, err = schemas.Body(in); err != nil {
		return false, notSent{err}
	}
	answer, repeated, err := c.retry(ctx, &r)
	if err != nil {
		return repeated, fmt.Errorf("%s %s: %w", method, r.target, err)
	}
	if err := json.Unmarshal(answer, out); err != nil { // ignores unknown members
		return repeated, fmt.Errorf("%s %s: %w", method, r.target, err)
	}
	return repeated, nil
}

// do is Do with the type of the response.
func do[Out any](ctx context.Context, c *Client, method, target string, in any) (out Out, err error) {
	err = c.Do(ctx, method, target, in, &out)
	return out, err
}
