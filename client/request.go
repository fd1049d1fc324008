package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"duplex/schemas"
)

// Call sends one signed request and returns the response, whatever its status. It
// resends after a 401 caused by a slow connection, by a wrong clock or by a key that was replaced (see Reload)
// and, with several nodes, as Open does.
func (c *Client) Call(ctx context.Context, method, target string, body []byte) (status int, header http.Header, answer []byte, err error) {
	resp, err := c.Open(ctx, method, target, contentType(body), body)
	if err != nil {
		return 0, nil, nil, err
	}
	return readAll(resp)
}

func contentType(body []byte) http.Header {
	if len(body) == 0 {
		return nil
	}
	return http.Header{"Content-Type": {"application/json"}}
}

func readAll(resp *http.Response) (status int, header http.Header, answer []byte, err error) {
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, answer, err
}

// Open is Call for responses that stream. The caller reads and closes the body. header is
// sent in addition to the signature. With several nodes, a request that a node did not execute
// goes to the next one, and so does a GET without a response.
func (c *Client) Open(ctx context.Context, method, target string, header http.Header, body []byte) (*http.Response, error) {
	var failed NodesError
	order := c.Nodes()
	for i, n := range order {
		resp, err := n.Open(ctx, method, target, header, body)
		last := i == len(order)-1
		switch {
		case err == nil && (last || !n.refused(resp)):
			n.Answered()
			return resp, nil
		case err == nil:
			failed.Add(n, fmt.Errorf("status %d", resp.StatusCode))
			continue
		}
		failed.Add(n, err)
		n.Failed(err)
		if last || ctx.Err() != nil || method != http.MethodGet && !wasNotSent(err) {
			return nil, failed.Or(err)
		}
	}
	panic("no nodes")
}

// refusalBytes is more than an error of the venue has.
const refusalBytes = 16 << 10

// refused reports whether a node did not execute a request because of its own state. Otherwise it leaves the
// response as it was.
func (n *Node) refused(resp *http.Response) bool {
	if resp.StatusCode != http.StatusServiceUnavailable && resp.StatusCode != http.StatusMisdirectedRequest {
		return false
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, refusalBytes))
	e := responseError(resp.StatusCode, resp.Header, head)
	if err != nil || !NodeFailed(e) || MayBeDone(e) {
		resp.Body = readBody{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
		return false
	}
	resp.Body.Close()
	n.Failed(e)
	return true
}

// readBody is a body of which a part was read already.
type readBody struct {
	io.Reader
	io.Closer
}

// Open sends a signed request to this node alone, and resends it only after a 401 caused by a slow
// connection, by a wrong clock or by a key that was replaced (see Reload).
func (n *Node) Open(ctx context.Context, method, target string, header http.Header, body []byte) (*http.Response, error) {
	return n.open(ctx, method, target, header, body, &signature{})
}

// signature is that of a request. The first attempt sets it; later ones send the same bytes.
type signature struct {
	at    time.Time // of the local clock; zero: not signed
	by    *credentials
	ts    string
	value string
}

func (n *Node) open(ctx context.Context, method, target string, header http.Header, body []byte, sig *signature) (*http.Response, error) {
	c := n.client
	before, again := c.clock.Load(), !sig.at.IsZero()
	resp, err := n.send(ctx, method, target, header, body, sig)
	for _, mended := range []func() bool{
		func() bool { return isLate(sig.at) },
		// Another request may have corrected the clock in the meantime.
		func() bool { return c.correctClock(resp.Header.Get("Date")) || c.clock.Load() != before },
		func() bool { return c.renew(sig.by) },
	} {
		if err != nil || resp.StatusCode != http.StatusUnauthorized || again {
			return resp, err
		}
		if mended() {
			resp.Body.Close()
			*sig = signature{}
			resp, err = n.send(ctx, method, target, header, body, sig)
		}
	}
	return resp, err
}

// send signs the target in the form in which net/http sends it, which can differ from
// target.
func (n *Node) send(ctx context.Context, method, target string, header http.Header, body []byte, sig *signature) (*http.Response, error) {
	c := n.client
	r, err := http.NewRequestWithContext(ctx, method, n.base+target, bytes.NewReader(body))
	if err != nil {
		return nil, notSent{err}
	}
	if sig.at.IsZero() {
		ts := strconv.FormatInt(c.Now().UnixMilli(), 10)
		by := c.credentials.Load()
		*sig = signature{time.Now(), by, ts, schemas.Sign(by.secret, ts, method, r.URL.RequestURI(), body)}
	}
	maps.Copy(r.Header, header)
	r.Header.Set(schemas.HeaderKey, sig.by.key)
	r.Header.Set(schemas.HeaderTimestamp, sig.ts)
	r.Header.Set(schemas.HeaderSignature, sig.value)
	if !c.traced {
		return c.http.Do(r)
	}
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	resp, err := c.http.Do(r.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil && !connected.Load() {
		err = notConnected{err}
	}
	return resp, err
}

// request is an encoded request.
type request struct {
	method, target string
	body           []byte
	waits          bool // takes min_seq, and has none
}

// isRead reports whether the request changes nothing.
func (r *request) isRead() bool {
	return r.method == "GET" || strings.HasSuffix(r.target, "/orders/preview")
}

// isPlacement reports whether the request is a placement or a replace, which its client_order_id makes
// idempotent.
func (r *request) isPlacement() bool {
	return r.method == "POST" && (r.target == routeOrders || r.target == routeBatch || strings.HasSuffix(r.target, replaceSuffix))
}

// isCancel reports whether the request cancels one order.
func (r *request) isCancel() bool {
	return r.method == "DELETE" && strings.HasPrefix(r.target, routeOrders+"/") && r.target != routeBatch
}

// sendsSameBytes reports whether a request without a response is sent again with the same signed bytes, because the
// venue executes these once. Members of a cluster know them again by their marks (docs/rules/accounts.md#marks). A
// single machine keeps first responses in memory (docs/rules/accounts.md#exact-repeats): over a restart it forgets
// them, and then a decrease or a redemption would be executed twice.
func (r *request) sendsSameBytes(several bool) bool {
	path, _, _ := strings.Cut(r.target, "?")
	switch r.method {
	case "PUT": // of a quote that came twice the second does nothing, and a bound set again is the same
		return true
	case "DELETE":
		return !several || path == routeOrders || path == routeDeadman
	case "POST":
		return path == routeDeadman || path == routeWithdrawals || path == routeForecasts || several && (path == routeRedeem || strings.HasSuffix(path, decreaseSuffix))
	}
	return false
}

// targetOn returns the target with the min_seq that the request needs on a node.
func (r *request) targetOn(n *Node) string {
	seq := n.client.nodes.minSeq(n)
	if !r.waits || seq == 0 {
		return r.target
	}
	mark := "?"
	if strings.Contains(r.target, "?") {
		mark = "&"
	}
	return r.target + mark + "min_seq=" + strconv.FormatUint(uint64(seq), 10)
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
	if reads, ok := in.(interface{ Since() uint64 }); ok {
		r.waits = method == "GET" && reads.Since() == 0
	}
	if r.target, err = schemas.Target(template, in); err != nil {
		return false, notSent{err}
	}
	if r.body, err = schemas.Body(in); err != nil {
		return false, notSent{err}
	}
	answer, n, repeated, err := c.retry(ctx, &r)
	if err != nil {
		return repeated, fmt.Errorf("%s %s: %w", method, r.target, err)
	}
	if err := json.Unmarshal(answer, out); err != nil { // ignores unknown members
		return repeated, fmt.Errorf("%s %s: %w", method, r.target, err)
	}
	if c.nodes.several() {
		c.nodes.saw(n, seqOf(&r, answer, out))
	}
	return repeated, nil
}

// do is Do with the type of the response.
func do[Out any](ctx context.Context, c *Client, method, target string, in any) (out Out, err error) {
	err = c.Do(ctx, method, target, in, &out)
	return out, err
}
