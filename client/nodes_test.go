package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/internal/timeouts"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
	"duplex/schemas"
)

func init() { timeouts.Extend(30) } // of an attempt at a node

// severalNodes returns scripted nodes and a client of all of them.
func severalNodes(t *testing.T, opts []Option, answers ...[]string) (list []*script, c *Client) {
	var urls []string
	for _, a := range answers {
		s := &script{t: t, answers: a}
		h := httptest.NewServer(s)
		t.Cleanup(h.Close)
		list, urls = append(list, s), append(urls, h.URL)
	}
	return list, Must(New(strings.Join(urls, ", "), "k", make([]byte, schemas.SecretLen), opts...))
}

// TestFailover tests where a request goes next, by its kind and the first node's response.
func TestFailover(t *testing.T) {
	ctx := context.Background()
	place := func(c *Client) error { _, err := c.PlaceOrder(ctx, limit(1, "yes", 5000, 1)); return err }
	cancel := func(c *Client) error { _, err := c.Cancel(ctx, 9); return err }
	cancelAll := func(c *Client) error { _, err := c.CancelAll(ctx, schemas.CancelAll{MarketID: 1}); return err }
	arm := func(c *Client) error { _, err := c.ArmDeadman(ctx, 1000); return err }
	disarm := func(c *Client) error { _, err := c.DisarmDeadman(ctx); return err }
	redeem := func(c *Client) error { _, err := c.Redeem(ctx, schemas.Redeem{MarketID: 1, Qty: 1}); return err }
	withdraw := func(c *Client) error {
		_, err := c.Withdraw(ctx, schemas.RequestWithdrawal{ClientWithdrawalID: "w", Amount: 1, Destination: "bank"})
		return err
	}
	decrease := func(c *Client) error {
		_, err := c.Decrease(ctx, schemas.DecreaseOrder{OrderID: 9, ReduceBy: schemas.Ptr(schemas.Int(1))})
		return err
	}
	read := func(c *Client) error { _, err := c.Balance(ctx); return err }
	const done = `{"seq":"2"}`
	const balance = `{"cash":"1","reserved":"0","as_of_seq":"3"}`
	for _, c := range []struct {
		name          string
		do            func(*Client) error
		first, second []string
		want          string // the code; "" means success
		sent          [2]int
		sameBytes     bool
	}{
		{"a write to a follower", place, []string{"read_only_node"}, []string{placed}, "", [2]int{1, 1}, false},
		{"a cancel to a follower", cancel, []string{"read_only_node"}, []string{done}, "", [2]int{1, 1}, false},
		{"a member that does not serve", cancel, []string{"shed"}, []string{done}, "", [2]int{1, 1}, false},
		{"a member that stops", place, []string{"draining"}, []string{placed}, "", [2]int{1, 1}, false},
		{"a read of a node that is behind", read, []string{"node_behind"}, []string{balance}, "", [2]int{1, 1}, false},
		{"a lost read", read, []string{"lost"}, []string{balance}, "", [2]int{1, 1}, false},
		{"a read that is not applied in time", read, []string{"sequencing_timeout"}, []string{balance}, "", [2]int{1, 1}, false},
		{"two passes", cancel, []string{"shed", done}, []string{"shed"}, "", [2]int{2, 1}, false},
		{"a placement of unknown outcome", place, []string{"sequencing_timeout"}, []string{placed}, "", [2]int{1, 1}, false},
		{"a lost placement", place, []string{"lost", "lost"}, []string{"shed", placed}, "", [2]int{2, 2}, false},
		{"a lost placement that the core rejects", place, []string{"lost"}, []string{"market_paused"}, "market_paused", [2]int{1, 1}, false},
		{"a lost cancel is not sent again", cancel, []string{"lost"}, []string{done}, "transport", [2]int{1, 0}, false},
		{"a lost mass cancel", cancelAll, []string{"lost"}, []string{done}, "", [2]int{1, 1}, true},
		{"a lost dead-man switch", arm, []string{"lost"}, []string{done}, "", [2]int{1, 1}, true},
		{"a lost disarming", disarm, []string{"sequencing_timeout"}, []string{done}, "", [2]int{1, 1}, true},
		{"a lost decrease", decrease, []string{"lost"}, []string{"shed", "lost", done}, "", [2]int{3, 3}, true},
		{"a lost redeem", redeem, []string{"lost"}, []string{done}, "", [2]int{1, 1}, true},
		{"a lost withdrawal", withdraw, []string{"lost"}, []string{done}, "", [2]int{1, 1}, true},
		{"a lost decrease whose repeat is too late", decrease, []string{"lost"}, []string{"unauthorized"}, "transport", [2]int{1, 1}, true},
		{"an error of the request", place, []string{"bad_qty"}, []string{placed}, "bad_qty", [2]int{1, 0}, false},
		{"the key's rate is the venue's", place, []string{"rate_limited"}, []string{placed}, "rate_limited", [2]int{1, 0}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			nodes, cl := severalNodes(t, nil, c.first, c.second)
			err := c.do(cl)
			a, _ := nodes[0].seen()
			b, _ := nodes[1].seen()
			if got := codeOf(err); got != c.want || len(a) != c.sent[0] || len(b) != c.sent[1] {
				t.Errorf("%q after %d and %d requests: %v", got, len(a), len(b), err)
			}
			if same := len(b) > 0 && nodes[0].signed[0] == nodes[1].signed[0]; c.sameBytes && !same {
				t.Errorf("the repeat has another signature: %v, %v", nodes[0].signed, nodes[1].signed)
			}
		})
	}
}

// TestNodesArePreferred tests that a client stays with the node that answered, sends writes to no known
// follower, and tries the node that it prefers again later.
func TestNodesArePreferred(t *testing.T) {
	ctx := context.Background()
	nodes, c := severalNodes(t, nil, []string{"read_only_node"}, []string{"draining", placed, `{"server_time":"1"}`}, []string{placed, placed})
	counts := func(want ...int) {
		t.Helper()
		for i, n := range nodes {
			if got, _ := n.seen(); len(got) != want[i] {
				t.Errorf("node %d got %v", i, got)
			}
		}
	}
	order := func(id uint64) {
		t.Helper()
		if _, err := c.PlaceOrder(ctx, limit(id, "yes", 5000, 1)); err != nil {
			t.Fatal(err)
		}
	}
	order(1)
	counts(1, 1, 1)
	order(2)
	counts(1, 1, 2)
	c.nodes.mu.Lock()
	c.nodes.list[1].failedAt = time.Now().Add(-tryAgainAfter)
	c.nodes.mu.Unlock()
	order(3)
	counts(1, 2, 2)
	if _, err := c.Time(ctx); err != nil {
		t.Fatal(err)
	}
	counts(1, 3, 2)
}

// TestLostReadIsSignedAgain tests that a read whose outcome one node left open is signed for the target that it
// has at the next one, which waits for the last write.
func TestLostReadIsSignedAgain(t *testing.T) {
	nodes, c := severalNodes(t, nil, []string{placed, "sequencing_timeout"}, []string{`{"orders":[],"cursor":"","as_of_seq":"12"}`})
	if _, err := c.PlaceOrder(t.Context(), limit(1, "yes", 5000, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Orders(t.Context(), schemas.ListOrders{}); err != nil {
		t.Error(err)
	}
	if got, _ := nodes[1].seen(); !slices.Equal(got, []string{"GET /v1/portfolio/orders?min_seq=9"}) {
		t.Errorf("the second node gets %v, want the read with min_seq=9", got)
	}
}

// TestReadsAreNotBehindWrites tests that a read of another node than the one that answered the last write
// waits for that write.
func TestReadsAreNotBehindWrites(t *testing.T) {
	ctx := context.Background()
	const row = `{"orders":[],"cursor":"","as_of_seq":"12"}`
	nodes, c := severalNodes(t, nil, []string{placed, row, "node_behind"}, []string{row, row, row, `{"cash":"1","as_of_seq":"20"}`})
	if _, err := c.PlaceOrder(ctx, limit(1, "yes", 5000, 1)); err != nil {
		t.Fatal(err)
	}
	list := func(q schemas.ListOrders) {
		t.Helper()
		if _, err := c.Orders(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	list(schemas.ListOrders{})
	list(schemas.ListOrders{Status: "resting"})
	list(schemas.ListOrders{})
	list(schemas.ListOrders{MinSeqQuery: schemas.MinSeqQuery{MinSeq: 5}})
	if _, err := c.Balance(ctx); err != nil {
		t.Fatal(err)
	}
	const at = "/v1/portfolio/orders"
	if got, _ := nodes[0].seen(); !slices.Equal(got, []string{"POST " + at, "GET " + at, "GET " + at + "?status=resting"}) {
		t.Errorf("the first: %v", got)
	}
	if got, _ := nodes[1].seen(); !slices.Equal(got, []string{"GET " + at + "?status=resting&min_seq=12", "GET " + at, "GET " + at + "?min_seq=5", "GET /v1/portfolio/balance"}) {
		t.Errorf("the second: %v", got)
	}
	if c.nodes.seq != 20 || c.nodes.seqAt != c.nodes.list[1] {
		t.Errorf("seq %d", c.nodes.seq)
	}
	for answer, want := range map[string]schemas.U64{`[{"seq":"3"},{"error":{"code":"bad_qty"}},{"seq":"7"}]`: 7, `{"results":[{"seq":"4"}]}`: 4, `{"seq":"9"}`: 9, `"x"`: 0} {
		if got := seqOf(&request{method: "POST", target: routeBatch}, []byte(answer), nil); got != want {
			t.Errorf("seqOf %s: %d, want %d", answer, got, want)
		}
	}
}

// TestAllNodesDown tests that the error names every address, and whether the request may have been executed.
func TestAllNodesDown(t *testing.T) {
	const a, b = "http://127.0.0.1:1", "http://127.0.0.1:2" // nobody listens there
	c := Must(New(a+","+b+"/", "k", make([]byte, schemas.SecretLen), MaxAttempts(1)))
	_, err := c.PlaceOrder(t.Context(), limit(1, "yes", 5000, 1))
	if err == nil || !strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), b+": ") || MayBeDone(err) {
		t.Errorf("%v, may be done %v", err, MayBeDone(err))
	}
	if _, _, _, err = c.Call(t.Context(), "GET", "/v1/time", nil); err == nil || !strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), b) {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var asked atomic.Int32
	lost := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if asked.Add(1) == 2 { // both have been asked
			stop()
		}
		panic(http.ErrAbortHandler)
	}))
	defer lost.Close()
	_, err = Must(New(lost.URL+","+a, "k", make([]byte, schemas.SecretLen))).PlaceOrder(ctx, limit(1, "yes", 5000, 1))
	if err == nil || !strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), lost.URL) {
		t.Errorf("the error of both nodes is %v, want their addresses in it", err)
	}
	if !MayBeDone(err) || ctx.Err() == nil {
		t.Errorf("%v: may be done %v, the context ended with %v, want both", err, MayBeDone(err), ctx.Err())
	}
	if c.mayRepeat(&request{method: "DELETE", target: routeOrders}, errors.New("lost"), true, &signature{at: time.Now().Add(-timeouts.Of(markedTime))}) {
		t.Error("a signature that is too old is sent again")
	}
}

// TestCallFailsOver tests that a request that the caller built is sent to the next node if it was not executed.
func TestCallFailsOver(t *testing.T) {
	for _, first := range []string{"read_only_node", "shed", "draining"} {
		nodes, c := severalNodes(t, nil, []string{first}, []string{placed})
		if status, _, body, err := c.Call(t.Context(), "POST", routeOrders, []byte("{}")); err != nil || status != 200 || string(body) != placed {
			t.Errorf("after %s: %d, %s, %v, want 200 from the next node", first, status, body, err)
		}
		if got, _ := nodes[0].seen(); len(got) != 1 {
			t.Errorf("after %s the first node gets %v, want one request", first, got)
		}
	}
	_, c := severalNodes(t, nil, []string{"funding_unavailable"}, []string{placed})
	if status, _, body, err := c.Call(t.Context(), "POST", routeWithdrawals, nil); err != nil || status != 503 || !strings.Contains(string(body), "funding_unavailable") {
		t.Errorf("a withdrawal: %d, %s, %v, want the 503 of the first node", status, body, err)
	}
	nodes, c := severalNodes(t, nil, []string{"lost"}, []string{placed})
	if _, _, _, err := c.Call(t.Context(), "POST", routeOrders, []byte("{}")); err == nil || !MayBeDone(err) {
		t.Error(err)
	}
	if got, _ := nodes[1].seen(); len(got) != 0 {
		t.Errorf("a lost write was sent again: %v", got)
	}
}

// TestOneOrderThroughFailures places orders through two addresses of a venue, of which the first drops answers
// after the order was sequenced, and dies in the middle. Every order exists once.
func TestOneOrderThroughFailures(t *testing.T) {
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	h.Serve()
	venue := h.Gate.Edge(h.Routes)
	var writes atomic.Int64
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" && writes.Add(1)%3 == 0 {
			venue.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		venue.ServeHTTP(w, r)
	}))
	defer first.Close()
	k := h.NewKey(1, core.ScopeRead|core.ScopeTrade)
	c := Must(New(first.URL+","+h.URL, k.ID, k.Secret, WaitForTokens()))
	c.SetClock(time.Duration(h.Now() - time.Now().UnixNano()))
	seen := map[schemas.U64]bool{}
	const orders = 12
	for i := range uint64(orders) {
		if i == orders/2 {
			first.CloseClientConnections()
			first.Close()
		}
		c.nodes.list[0].Answered() // it is tried first again
		o, err := c.PlaceOrder(t.Context(), limit(i+1, "yes", 5000, 1))
		if err != nil || o.Status != "resting" || o.ClientOrderID != schemas.U64(i+1) || seen[o.OrderID] {
			t.Fatalf("order %d: %+v, %v", i+1, o, err)
		}
		seen[o.OrderID] = true
	}
	n := 0
	for o, err := range c.AllOrders(t.Context(), schemas.ListOrders{}) {
		if err != nil || o.OrderID == nil || !seen[*o.OrderID] {
			t.Errorf("an order in the list: %+v, %v, want one that was placed", o, err)
		}
		n++
	}
	if n != orders || writes.Load() < 3 {
		t.Errorf("%d orders, %d writes to the first", n, writes.Load())
	}
}

// TestStreamFailsOver tests that a stream resumes at the next node after the last event, and that it waits there
// until that node has applied what it knows.
func TestStreamFailsOver(t *testing.T) {
	var dead atomic.Bool
	first := &scriptedServer{t: t, free: make(chan struct{}), scripts: []func(*scriptedConn){func(s *scriptedConn) {
		dead.Store(true)
		s.expect(subscribeUser)
		s.send(userIs, accountAt(5, 0, 100), balanceAt(6, 5, 101), balanceAt(7, 6, 102))
		_ = s.ws.CloseNow()
	}}}
	second := &scriptedServer{t: t, free: make(chan struct{}), scripts: []func(*scriptedConn){
		func(s *scriptedConn) {
			s.expect(strings.Replace(userSince("6"), `"}}`, `","min_seq":"7"}}`, 1))
			s.send(`{"id":1,"type":"error","msg":{"code":13,"name":"sequencing_timeout"}}`)
			s.expectIdle()
		},
		func(s *scriptedConn) {
			s.expect(strings.Replace(userSince("6"), `"}}`, `","min_seq":"7"}}`, 1))
			s.send(userIsResumed, balanceAt(7, 0, 102), balanceAt(8, 7, 103))
			s.expectIdle()
		},
	}}
	a, b := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if dead.Load() {
			panic(http.ErrAbortHandler)
		}
		first.ServeHTTP(w, r)
	})), httptest.NewServer(second)
	behind, c := severalNodes(t, nil, []string{"node_behind", "node_behind", "node_behind"})
	f := follow(t, Must(New(a.URL+","+c.nodes.list[0].base+","+b.URL, "k", make([]byte, schemas.SecretLen))), quick, "user")
	defer func() {
		close(first.free)
		close(second.free)
		a.Close()
		b.Close()
		first.open.Wait()
		second.open.Wait()
	}()
	f.until("the last", func() bool { x, _ := f.Account(); return x.Cash == 103 })
	f.stop()
	_ = f.ended()
	f.wants(101, 102, 103)
	if got, _ := behind[0].seen(); len(got) == 0 {
		t.Error("the second of three was not tried")
	}
}
