package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/client"
	"duplex/internal/backoff"
	"duplex/internal/timeouts"
	"duplex/schemas"
	"duplex/tools"
)

const (
	nodePasses    = 6                // through the nodes, if none executed the request
	settleTimeout = 30 * time.Second // of an order of unknown outcome
	headerTimeout = 4 * time.Second  // of a node if there are others; the venue's budget is 2 s
	minNodeWait   = 50 * time.Millisecond
	maxNodeWait   = time.Second
)

// nodeRefusal is a response that is not the outcome of the request. Another node may answer differently: this one
// takes no writes, does not serve, or did not know the outcome in time. Or the request repeats an order of unknown
// outcome, and was rejected before it reached the core, which alone knows what the first attempt did.
type nodeRefusal struct {
	err      *client.Error
	answer   jsontext.Value
	response *http.Response // with the answer as its body; of the proxy
}

func (r *nodeRefusal) Error() string { return r.err.Error() }
func (r *nodeRefusal) Unwrap() error { return r.err }

// refusedByNode returns the refusal in a response, a result or an error, or nil. unknown reports whether an earlier
// attempt may have been executed.
func refusedByNode(answer jsontext.Value, unknown bool) *nodeRefusal {
	members := object(answer)
	failed := members["error"]
	if result := object(members["result"]); string(result["isError"]) == "true" {
		failed = object(result["structuredContent"])["error"]
	}
	if failed == nil {
		return nil
	}
	e, _, ok := venueError(failed)
	refusal := &client.Error{Wire: e, Status: e.HTTP()}
	if ok && client.NodeFailed(refusal) || unknown && e.Origin != schemas.OriginCore {
		return &nodeRefusal{err: refusal, answer: answer}
	}
	return nil
}

// seqOf returns the seq of a tool's result, of a batch the greatest one of its items, or 0.
func seqOf(result jsontext.Value) (seq schemas.U64) {
	var out struct {
		Seq     schemas.U64 `json:"seq"`
		Results []struct {
			Seq schemas.U64 `json:"seq"`
		} `json:"results"`
	}
	if v := object(result)["structuredContent"]; v == nil || json.Unmarshal(v, &out) != nil {
		return 0
	}
	seq = out.Seq
	for _, x := range out.Results {
		seq = max(seq, x.Seq)
	}
	return seq
}

// responseLimit returns how long a request waits for the response of one node: a write for writeTimeout, and any
// request for not much more than the venue's budget if there are other nodes. It is 0 for a read of the only node and
// for a tool that waits by itself, which the HTTP client bounds.
func responseLimit(c *client.Client, m *message, readOnly bool, writeTimeout time.Duration) time.Duration {
	switch waits := m.tool() == tools.WaitForEvent || m.tool() == "advance_clock" || m.method == "subscriptions/listen"; {
	case waits:
		return 0
	case c.Several() && readOnly:
		return timeouts.Of(headerTimeout)
	case c.Several():
		return min(timeouts.Of(headerTimeout), writeTimeout)
	case readOnly:
		return 0
	}
	return writeTimeout
}

// openNode sends a request to a node. Unless limit is 0, it waits no longer for the head of the response.
func openNode(ctx context.Context, n *client.Node, m *message, method string, header http.Header, limit time.Duration) (*http.Response, error) {
	if limit == 0 {
		return n.Open(ctx, method, Path, header, m.raw)
	}
	ctx, cancel := context.WithCancel(ctx)
	silent := time.AfterFunc(limit, cancel)
	resp, err := n.Open(ctx, method, Path, header, m.raw)
	if inTime := silent.Stop(); err != nil || !inTime {
		cancel()
		if err == nil {
			resp.Body.Close()
		}
		if !inTime && client.MayBeDone(err) {
			err = fmt.Errorf("no response within %s: %w", limit, context.DeadlineExceeded)
		}
		return nil, err
	}
	resp.Body = canceledBody{resp.Body, cancel}
	return resp, nil
}

// throughNodes calls send with one node after the other until it returns nil, and returns the error that says
// most about the request. A read is sent to the next node after any failure, once more to the only one. A write
// is sent to the next node if it was not executed, and so is an order of unknown outcome, with unknown set: its
// client_order_id prevents a second one. A repeat that the gate rejects leaves it unknown. Once the host has part of
// a response, nothing is sent again.
func throughNodes(ctx context.Context, c *client.Client, m *message, readOnly bool, send func(n *client.Node, unknown bool) error, partial func() bool) error {
	if !c.Several() {
		n := c.Nodes()[0]
		err := send(n, false)
		if err != nil && readOnly && !partial() && ctx.Err() == nil {
			err = send(n, false)
		}
		return err
	}
	var unknown error
	var end time.Time // of the attempts to settle
	var failed client.NodesError
	for pass := 1; ; pass++ {
		var err error
		for _, n := range c.Nodes() {
			if readOnly && m.method == "tools/call" {
				err = n.CatchUp(ctx)
			} else {
				err = nil
			}
			if err == nil {
				err = send(n, unknown != nil)
			}
			if err == nil {
				n.Answered()
				return nil
			}
			failed.Add(n, err)
			if ctx.Err() != nil || partial() {
				return failed.Or(cmp.Or(unknown, err))
			}
			if client.NodeFailed(err) {
				n.Failed(err)
			}
			var refused *nodeRefusal
			if unknown != nil && errors.As(err, &refused) && refused.err.Retry() == schemas.Never {
				return failed.Or(unknown)
			}
			if readOnly || !mayHaveExecuted(err) {
				continue
			}
			if !hasClientOrderID(m.tool()) {
				return err
			}
			if unknown == nil {
				unknown, end = err, time.Now().Add(settleTimeout)
			}
		}
		if unknown == nil && pass >= nodePasses || unknown != nil && time.Now().After(end) || !backoff.Sleep(ctx, backoff.Jitter(min(minNodeWait<<min(pass, 10), maxNodeWait))) {
			return failed.Or(cmp.Or(unknown, err))
		}
	}
}

// hasClientOrderID reports whether a tool can be called again after its outcome became unknown.
func hasClientOrderID(tool string) bool {
	return tool == "place_order" || tool == "place_orders" || tool == "replace_order"
}

// settled returns the response for the host to an order that an earlier attempt may have placed. If that one
// did, the venue's response to the repeat is duplicate_client_order_id, and the host gets the outcome of the
// first. The items of a batch, and a replace, keep the venue's own answer, which has the first order.
func settled(ctx context.Context, c *client.Client, m *message, answer jsontext.Value) jsontext.Value {
	var r schemas.ToolError
	content := object(object(answer)["result"])["structuredContent"]
	if m.tool() != "place_order" || content == nil || json.Unmarshal(content, &r) != nil || r.Error.Code != "duplicate_client_order_id" || !r.Replayed {
		return answer
	}
	var id schemas.U64
	if json.Unmarshal(object(m.params["arguments"])["client_order_id"], &id) != nil {
		return answer
	}
	out, err := c.Placed(ctx, id)
	var e *client.Error
	switch {
	case err == nil:
		return toolResponse(m, &out, false)
	case r.Order != nil && r.Order.OrderID == nil && errors.As(err, &e):
		rejected := schemas.ToolErrorOf(e.Wire)
		return toolErrorResponse(m, &rejected)
	default:
		return answer // the key may lack the scope read; the answer has the order
	}
}

// canceledBody ends the context of a response with its body.
type canceledBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b canceledBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
