package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"

	"duplex/internal/address"
	"duplex/schemas"
)

// Node is one address of the venue: the single machine, or a member or a follower of a cluster.
type Node struct {
	client *Client
	base   string

	failedAt time.Time // zero: its last response was an answer. Guarded by nodes.mu
	follower bool      // it has answered read_only_node. Guarded by nodes.mu
}

// String returns the address.
func (n *Node) String() string { return n.base }

// nodes are the addresses of one client, in the order of preference.
type nodes struct {
	list []*Node

	mu    sync.Mutex
	seq   schemas.U64 // the newest seq that the client knows
	seqAt *Node       // has applied seq; nil: no node is known to
}

const (
	tryAgainAfter = 30 * time.Second // a node that failed is left out for so long while others answer
	nodeTimeout   = 4 * time.Second  // of one attempt if there are other nodes; above the venue's budget of 2 s
)

// Addresses splits a list of base URLs at its commas.
func Addresses(base string) (list []string) {
	for a := range strings.SplitSeq(base, ",") {
		if a = strings.TrimSuffix(strings.TrimSpace(a), "/"); a != "" {
			list = append(list, a)
		}
	}
	return list
}

func (c *Client) setNodes(base string) error {
	list := Addresses(base)
	if list == nil {
		list = []string{base}
	}
	if strings.TrimSpace(base) != base {
		return errors.New("client: the address must have no blanks around it")
	}
	for _, a := range list {
		if scheme, rest, ok := strings.Cut(a, "://"); ok {
			a = strings.ToLower(scheme) + "://" + rest
		}
		err := address.CheckBase(a, "http", "https")
		if err == nil && strings.ContainsFunc(a, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\\' || r == '%' }) {
			err = errors.New("must have a host without blanks, control characters, backslashes and percent signs")
		}
		if err != nil {
			return fmt.Errorf("client: the address %s %w", address.Show(a), err)
		}
		c.nodes.list = append(c.nodes.list, &Node{client: c, base: a})
	}
	return nil
}

func (s *nodes) several() bool { return len(s.list) > 1 }

// Nodes returns the addresses in the order in which a request tries them: those that answered last as
// listed, then those that failed, then the known followers, which take no writes. An address that failed
// is tried as listed again after tryAgainAfter, by one request.
func (c *Client) Nodes() []*Node {
	s := &c.nodes
	if !s.several() {
		return s.list
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var order, failed, followers []*Node
	for _, n := range s.list {
		switch {
		case n.follower:
			followers = append(followers, n)
		case n.failedAt.IsZero():
			order = append(order, n)
		case len(order) == 0 && time.Since(n.failedAt) >= tryAgainAfter:
			n.failedAt = time.Now() // for other requests, until it answers
			order = append(order, n)
		default:
			failed = append(failed, n)
		}
	}
	slices.SortStableFunc(failed, func(a, b *Node) int { return a.failedAt.Compare(b.failedAt) })
	return append(append(order, failed...), followers...)
}

// Answered records that the node has answered a request.
func (n *Node) Answered() {
	n.client.nodes.mu.Lock()
	defer n.client.nodes.mu.Unlock()
	n.failedAt = time.Time{}
}

// Failed records that the node has not answered a request, or with an error for which NodeFailed holds.
func (n *Node) Failed(err error) {
	s := &n.client.nodes
	s.mu.Lock()
	defer s.mu.Unlock()
	n.failedAt = time.Now()
	var e *Error
	n.follower = n.follower || errors.As(err, &e) && e.Code == codeReadOnlyNode
	if s.seqAt == n {
		s.seqAt = nil // it may come back with less
	}
}

const codeReadOnlyNode = "read_only_node"

// NodeFailed reports whether a request that returned err is to be sent to another node: this one was not
// reached, does not serve, takes no writes, or did not know the outcome in time.
func NodeFailed(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		var never notSent
		return err != nil && !errors.As(err, &never)
	}
	switch e.Code {
	case "node_behind", "draining", "shed", codeReadOnlyNode, "sequencing_timeout":
		return true
	case "":
		return e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable || e.Status == http.StatusGatewayTimeout
	}
	return false
}

// saw records that a node has applied a seq.
func (s *nodes) saw(n *Node, seq schemas.U64) {
	if !s.several() || seq == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq >= s.seq {
		s.seq, s.seqAt = seq, n
	}
}

// minSeq returns the seq that a read of a node must reflect, so that it is not behind what the client has
// written and read. It is 0 if the node has applied that seq.
func (s *nodes) minSeq(n *Node) schemas.U64 {
	if !s.several() {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seqAt == n {
		return 0
	}
	return s.seq
}

// seqOf returns the seq of the response to a write, or the seq that a read is as of. 0: it has none.
func seqOf(r *request, answer []byte, out any) (seq schemas.U64) {
	if r.isRead() {
		v := reflect.Indirect(reflect.ValueOf(out))
		if v.Kind() != reflect.Struct {
			return 0
		}
		if at, ok := v.Type().FieldByName("AsOfSeq"); ok {
			if f, err := v.FieldByIndexErr(at.Index); err == nil {
				seq, _ = f.Interface().(schemas.U64)
			}
		}
		return seq
	}
	type one struct {
		Seq     schemas.U64 `json:"seq"`
		Results []struct {
			Seq schemas.U64 `json:"seq"`
		} `json:"results"`
	}
	var a one
	if len(answer) > 0 && answer[0] == '[' {
		answer = append(append([]byte(`{"results":`), answer...), '}')
	}
	if json.Unmarshal(answer, &a) != nil {
		return 0 // a response of another form says nothing
	}
	for _, x := range a.Results {
		a.Seq = max(a.Seq, x.Seq)
	}
	return a.Seq
}

// NodesError is the failure of a request at every node that was tried.
type NodesError struct {
	tried []nodeError
	cause error // decides whether the request may have been executed
}

type nodeError struct {
	node *Node
	err  error
}

func (e *NodesError) Error() string {
	var b strings.Builder
	b.WriteString("no node answered")
	for i, t := range e.tried {
		b.WriteString([]string{": ", "; "}[min(i, 1)] + t.node.base + ": " + t.err.Error())
	}
	return b.String()
}

func (e *NodesError) Unwrap() error { return e.cause }

// Add records the last error of each node.
func (e *NodesError) Add(n *Node, err error) {
	for i := range e.tried {
		if e.tried[i].node == n {
			e.tried[i].err = err
			return
		}
	}
	e.tried = append(e.tried, nodeError{n, err})
}

// Or returns err with the errors of all nodes, if there was more than one.
func (e *NodesError) Or(err error) error {
	if len(e.tried) < 2 {
		return err
	}
	e.cause = err
	return e
}

// Several reports whether the client has several nodes.
func (c *Client) Several() bool { return c.nodes.several() }

// Saw records that the node has applied a seq: it answered a write with it.
func (n *Node) Saw(seq schemas.U64) { n.client.nodes.saw(n, seq) }

// CatchUp waits until the node has applied the newest seq that the client knows. It sends nothing to the
// node that answered with that seq.
func (n *Node) CatchUp(ctx context.Context) error {
	r := request{method: "GET", target: routeStatus, waits: true}
	if n.client.nodes.minSeq(n) == 0 {
		return nil
	}
	answer, err := n.client.attempt(ctx, n, &r, &signature{})
	if err != nil {
		return err
	}
	var out schemas.Status
	if err := json.Unmarshal(answer, &out); err != nil {
		return err
	}
	n.Saw(seqOf(&r, answer, &out))
	return nil
}
