package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"

	"duplex/core"
	"duplex/core/engine"
	"duplex/lanes/lanetest"
	"duplex/lanes/mcp"
	"duplex/lanes/rest"
	"duplex/lanes/ws"
	"duplex/schemas"
	"duplex/tools"
)

// testVenue is a test server with three lanes, and the history of the operations on it.
type testVenue struct {
	*lanetest.Server
	keys  [2]lanetest.Key
	began time.Time
	stamp atomic.Int64 // makes the timestamp of each request unique

	mu   sync.Mutex
	done []porcupine.Operation
	ids  [2]map[uint64]string // order ids by client_order_id, from the answers
	next uint64               // the last client_order_id

	owner, agent core.UserID // of user 1
	noTimeouts   bool        // clients wait for every answer
	asks         uint64      // number of asks of user 1
	approvals    []uint64    // ids of deposits to user 1 that wait for a second operator; the number of one is its index
}

func newTestVenue(t *testing.T, tune ...func(*engine.Options)) *testVenue {
	t.Helper()
	s := &testVenue{Server: lanetest.New(t, tune...), began: time.Now(), ids: [2]map[uint64]string{{}, {}}}
	s.FreezeClock() // so that no order expires and no round ends
	s.Venue.Config.WriteFloor, s.Venue.Config.ReadRate = 1_000_000, 1_000_000
	rest.Mount(s.Routes, s.Gate, "test")
	agents := mcp.Mount(s.Routes, s.Gate, "test")
	t.Cleanup(agents.Close)
	events := ws.Mount(s.Routes, s.Gate)
	s.Serve()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := events.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	s.Submit(&core.SetFees{})
	s.owner, s.agent = 2, 3
	s.Submit(&core.CreateAgent{Owner: s.owner, Name: "agent", Fund: lanetest.InitialCash / 2, Mandate: core.Mandate{Set: 1 << core.RuleAskAbove, AskAbove: askQty * 4000}})
	for u, account := range [2]core.UserID{1, s.agent} {
		s.keys[u] = s.NewKey(account, core.ScopeRead|core.ScopeTrade)
	}
	for n := range 24 {
		r := s.Submit(&core.RequestApproval{Action: s.approvalAction(n), Audit: core.Audit{Who: "first"}})
		s.approvals = append(s.approvals, r.Stamp.Seq)
	}
	return s
}

// approvalAction returns the deposit of an approval by its number.
func (s *testVenue) approvalAction(n int) core.ApprovalAction {
	return core.ApprovalAction{Kind: core.ApproveDeposit, User: s.agent, DepositID: fmt.Sprint("approved ", n), Amount: core.Pips(100 + n)}
}

// runApprover approves n deposits, which an operator submits to the engine. Several approve the same
// ones. Some operations are a deposit of its own instead, which can be too large.
func (s *testVenue) runApprover(client, n int, seed uint64) error {
	return s.runCommands(client, n, seed, func(r *rand.Rand, at int) (operation, core.Command) {
		if r.IntN(4) == 0 {
			amount := core.Pips(100+r.IntN(100)) + core.Pips(r.IntN(2))*core.DepositMax
			return operation{kind: deposit, user: 1, qty: int64(amount)},
				&core.Deposit{User: s.agent, DepositID: fmt.Sprintf("d%d-%d-%d", seed, client, at), Amount: amount}
		}
		i := r.IntN(len(s.approvals))
		x := s.approvalAction(i)
		return operation{kind: approve, user: 1, id: uint64(i), qty: int64(x.Amount)},
			&core.DecideApproval{Approval: s.approvals[i], Approve: true, Action: x, Audit: core.Audit{Who: "second"}}
	})
}

// runOwner runs n transfers, halts and resumptions of the agent, which the owner submits to the
// engine.
func (s *testVenue) runOwner(client, n int, seed uint64) error {
	return s.runCommands(client, n, seed, func(r *rand.Rand, i int) (operation, core.Command) {
		in := operation{kind: transfer, user: 1, qty: int64(1 + r.IntN(1000))}
		switch r.IntN(3) {
		case 0:
			return operation{kind: halt, user: 1}, &core.HaltAgent{Owner: s.owner, Agent: s.agent}
		case 1:
			return operation{kind: resume, user: 1}, &core.ResumeAgent{Owner: s.owner, Agent: s.agent}
		}
		return in, &core.Transfer{Owner: s.owner, ClientID: fmt.Sprintf("t%d-%d-%d", seed, client, i), From: s.owner, To: s.agent, Amount: core.Pips(in.qty)}
	})
}

// askIDs is where the client_order_ids of asks begin, and askers that of the clients that decide them.
const askIDs, askers = 1 << 40, 100

// runAsker asks the owner n times for an order of the agent, over REST. Then two of its devices decide it, and the agent
// takes it back, all at once.
func (s *testVenue) runAsker(client, n int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, uint64(client)))
	for range n {
		s.mu.Lock()
		in := operation{kind: ask, user: 1, id: s.asks}
		s.asks++
		s.mu.Unlock()
		body := fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"side":"buy","outcome":"no","tick":5000,"qty":%d,"tif":"fok"}`, askIDs+in.id, askQty)
		a, err := s.sendAsk(client, in, "POST", "", body)
		if err != nil || a.Code == "draining" {
			return err
		}
		if a.Status != "waiting" {
			continue
		}
		var all errgroup.Group
		for device, qty := range []int64{int64(r.IntN(2)), int64(r.IntN(2))} {
			all.Go(func() error {
				return s.decideAsk(askers+device, operation{kind: decide, id: in.id, qty: qty}, uint64(a.ApprovalID))
			})
		}
		if r.IntN(2) == 0 {
			all.Go(func() error {
				_, err := s.sendAsk(client, operation{kind: withdraw, user: 1, id: in.id}, "DELETE", fmt.Sprint("/by-client-order-id/", askIDs+in.id), "")
				return err
			})
		}
		if err := all.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// sendAsk sends a request of the agent about an ask.
func (s *testVenue) sendAsk(client int, in operation, method, target, body string) (a answer, err error) {
	start := s.now()
	if err := s.send(context.Background(), 1, method, "/v1/portfolio/orders"+target, []byte(body), nil, &a); err != nil {
		return a, err
	}
	a.Code = a.Error.Code
	out := result{seq: uint64(a.Seq), code: a.Code, left: a.CanceledQty}
	switch {
	case a.Code == "sequencing_timeout":
		s.add(client, in, result{unanswered: true}, start, math.MaxInt64)
		return a, nil
	case a.Code == "draining", a.Code == "shed":
		return a, nil
	case a.Status == "waiting":
		out.code = a.Status
	}
	s.add(client, in, out, start, s.now())
	return a, nil
}

// decideAsk sends a decision of the owner twice, as one does whose first answer was lost.
func (s *testVenue) decideAsk(client int, in operation, id uint64) error {
	for range 2 {
		start := s.now()
		out, err := tools.DecideApproval(context.Background(), s.Venue, s.owner, id, in.qty == 1)
		var code core.Reject
		switch {
		case errors.Is(err, engine.ErrUnknown):
			s.add(client, in, result{unanswered: true}, start, math.MaxInt64)
		case errors.Is(err, engine.ErrShed), errors.Is(err, engine.ErrStopped): // not executed
		case errors.As(err, &code): // its seq is not known
			s.add(client, in, result{code: code.String()}, start, s.now())
		case err != nil:
			return err
		default:
			s.add(client, in, result{seq: uint64(out.Seq), code: out.Approval.Status}, start, s.now())
		}
	}
	return nil
}

// runCommands submits n commands to the engine, each with its operation in the model.
func (s *testVenue) runCommands(client, n int, seed uint64, draw func(r *rand.Rand, i int) (operation, core.Command)) error {
	r := rand.New(rand.NewPCG(seed, uint64(client)))
	for i := range n {
		in, cmd := draw(r, i)
		start := s.now()
		receipt, err := s.Engine.Submit(context.Background(), cmd)
		switch {
		case errors.Is(err, engine.ErrUnknown):
			s.add(client, in, result{unanswered: true}, start, math.MaxInt64)
		case errors.Is(err, engine.ErrShed): // not executed
		case errors.Is(err, engine.ErrStopped): // not executed, and no later operation will be
			return nil
		case err != nil:
			return err
		default:
			s.add(client, in, result{seq: receipt.Stamp.Seq, code: receipt.Reject.String()}, start, s.now())
		}
	}
	return nil
}

// runClients runs n operations of each user over each lane, and beside them commands of the owner and of
// two approvers, and more.
func (s *testVenue) runClients(t *testing.T, seed uint64, n, owner, approver int, more ...func() error) {
	t.Helper()
	var all errgroup.Group
	for _, f := range more {
		all.Go(f)
	}
	all.Go(func() error { return s.runOwner(5, owner, seed) })
	all.Go(func() error { return s.runAsker(8, approver, seed) })
	for client := 6; client < 8; client++ {
		all.Go(func() error { return s.runApprover(client, approver, seed) })
	}
	for client := range 4 {
		all.Go(func() error {
			return s.runOperations(client, client%2, []sendFunc{viaREST, viaTool}[client/2], n, seed)
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

func (s *testVenue) now() int64 { return int64(time.Since(s.began)) }

// sign returns a signed request. No two requests are the same.
func (s *testVenue) sign(ctx context.Context, user int, method, target string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.URL+target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	k := s.keys[user]
	ts := strconv.FormatInt(s.Now()/core.NsPerMs-4000+s.stamp.Add(1)%8000, 10)
	r.Header.Set(schemas.HeaderKey, k.ID)
	r.Header.Set(schemas.HeaderTimestamp, ts)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(k.Secret, ts, method, target, body))
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// answer holds the answer to any operation on any lane.
type answer struct {
	OrderID      string      `json:"order_id"`
	Seq          schemas.U64 `json:"seq"`
	AsOfSeq      schemas.U64 `json:"as_of_seq"`
	FilledQty    int64       `json:"filled_qty"`
	RestingQty   int64       `json:"resting_qty"`
	CanceledQty  int64       `json:"canceled_qty"`
	Replaced     schemas.Replaced
	RemainingQty int64 `json:"remaining_qty"`
	Fills        []struct {
		TickYes int64 `json:"tick_yes"`
		Qty     int64
	}
	Cash, Reserved schemas.U64
	Yes, No        [][2]int64
	Code           string
	Error          struct{ Code string }

	Status     string
	ApprovalID schemas.U64 `json:"approval_id"`

	Canceled int64 // orders, by a quote
	Kept     bool
	Reason   string
}

// quoteRow is the answer to the quote of one market.
type quoteRow struct{ Bid, Ask answer }

// of returns the answer for the side of a user. Its seq is that of the last side.
func (q *quoteRow) of(user int) answer {
	a := [2]answer{q.Bid, q.Ask}[user]
	if a.Code = a.Error.Code; a.Code == "" {
		a.Code = a.Reason
	}
	a.Seq = max(q.Bid.Seq, q.Ask.Seq)
	return a
}

// sendFunc sends an operation over one lane. It returns an error if it receives no answer.
type sendFunc func(ctx context.Context, s *testVenue, in operation, id string) (answer, error)

// viaREST sends an operation over REST.
func viaREST(ctx context.Context, s *testVenue, in operation, id string) (a answer, err error) {
	method, target, body := "", "/v1/portfolio/orders", ""
	switch in.kind {
	case place:
		method, body = "POST", string(arguments(in, id))
	case cancel:
		method, target = "DELETE", target+"/"+id
	case replace:
		method, target, body = "POST", target+"/"+id+"/replace", fmt.Sprintf(`{"client_order_id":"%d","tick":%d,"qty":%d}`, in.id, in.tick, in.qty)
	case decrease:
		method, target, body = "POST", target+"/"+id+"/decrease", fmt.Sprintf(`{"reduce_to":%d}`, in.qty)
	case balance:
		method, target = "GET", "/v1/portfolio/balance"
	case book:
		method, target = "GET", "/v1/markets/1/orderbook"
	case quote:
		var raw json.RawMessage
		if err = s.send(ctx, in.user, "PUT", "/v1/portfolio/quotes", arguments(in, id), nil, &raw); err != nil {
			return a, err
		}
		var rows []quoteRow
		if json.Unmarshal(raw, &rows) == nil && len(rows) == 1 {
			return rows[0].of(in.user), nil
		}
		err = json.Unmarshal(raw, &a) // the whole request is rejected
		a.Code = a.Error.Code
		return a, err
	}
	err = s.send(ctx, in.user, method, target, []byte(body), nil, &a)
	a.Code = a.Error.Code
	return a, err
}

// viaTool sends an operation as a tool call.
func viaTool(ctx context.Context, s *testVenue, in operation, id string) (a answer, err error) {
	tool := map[kind]string{place: "place_order", cancel: "cancel_order", decrease: "decrease_order", balance: "get_balance", book: "get_orderbook", replace: "replace_order", quote: "put_quotes"}[in.kind]
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments(in, id))
	var out struct {
		Result struct {
			StructuredContent struct {
				answer
				Results []quoteRow
			}
			IsError bool
		}
		Error *struct{ Message string }
	}
	header := http.Header{"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-06-18"}}
	if err = s.send(ctx, in.user, "POST", mcp.Path, body, header, &out); err != nil {
		return a, err
	}
	if out.Error != nil {
		return a, fmt.Errorf("rpc: %s", out.Error.Message)
	}
	if rows := out.Result.StructuredContent.Results; len(rows) == 1 {
		return rows[0].of(in.user), nil
	}
	a = out.Result.StructuredContent.answer
	if out.Result.IsError && a.Code == "" {
		a.Code = a.Error.Code
	}
	return a, nil
}

func arguments(in operation, id string) []byte {
	switch in.kind {
	case place:
		return fmt.Appendf(nil, `{"client_order_id":"%d","market_id":1,"generation":1,"side":"buy","outcome":%q,"tick":%d,"qty":%d}`, in.id, [2]string{"yes", "no"}[in.user], in.tick, in.qty)
	case replace:
		return fmt.Appendf(nil, `{"order_id":%q,"client_order_id":"%d","tick":%d,"qty":%d}`, id, in.id, in.tick, in.qty)
	case quote:
		side := fmt.Sprintf(`{"client_order_id":"%d","tick":%d,"qty":%d}`, in.id, []int64{in.tick, 10000 - in.tick}[in.user], in.qty)
		sides := [2]string{`"bid":` + side + `,"ask":null`, `"bid":null,"ask":` + side}[in.user]
		return fmt.Appendf(nil, `{"quotes":[{"market_id":1,"generation":1,"group_id":1,%s}]}`, sides)
	case cancel:
		return fmt.Appendf(nil, `{"order_id":%q}`, id)
	case decrease:
		return fmt.Appendf(nil, `{"order_id":%q,"reduce_to":%d}`, id, in.qty)
	case book:
		return []byte(`{"market_id":1}`)
	default:
		return []byte(`{}`)
	}
}

func (s *testVenue) send(ctx context.Context, user int, method, target string, body []byte, header http.Header, into any) error {
	r, err := s.sign(ctx, user, method, target, body)
	if err != nil {
		return err
	}
	for name, v := range header {
		r.Header[name] = v
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w in %s", err, text)
	}
	return nil
}

// resultOf converts an answer to the model's result.
func resultOf(in operation, a *answer) result {
	if in.kind == quote && a.Code == core.PostOnlyCross.String() {
		return result{seq: uint64(a.Seq), code: a.Code, gone: a.Canceled}
	}
	if a.Code != "" {
		return result{code: a.Code}
	}
	switch in.kind {
	case place, replace:
		var fills []string
		for _, f := range a.Fills {
			fills = append(fills, fmt.Sprintf("%d×%d", f.Qty, f.TickYes))
		}
		return result{seq: uint64(a.Seq), filled: a.FilledQty, resting: a.RestingQty, fills: strings.Join(fills, " "), left: a.Replaced.CanceledQty}
	case quote:
		return result{seq: uint64(a.Seq), resting: a.RestingQty, gone: a.Canceled, kept: a.Kept}
	case cancel:
		return result{seq: uint64(a.Seq), left: a.CanceledQty}
	case decrease:
		return result{seq: uint64(a.Seq), left: a.RemainingQty}
	case balance:
		return result{seq: uint64(a.AsOfSeq), cash: a.Cash.Int64(), reserved: a.Reserved.Int64()}
	default:
		return result{seq: uint64(a.AsOfSeq), book: levels(a.Yes) + "/" + levels(a.No)}
	}
}

func levels(list [][2]int64) string {
	var out []string
	for _, l := range list {
		out = append(out, fmt.Sprintf("%d×%d", l[1], l[0]))
	}
	return strings.Join(out, " ")
}

// draw returns a random operation of a user and the id of the order it applies to, if any.
func (s *testVenue) draw(r *rand.Rand, user int) (in operation, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in = operation{kind: place, user: user}
	if n := r.IntN(10); n == 4 && len(s.ids[user]) > 0 {
		in.kind = replace
		for in.old, id = range s.ids[user] { // any order
			break
		}
	} else if n >= 5 && n < 8 && len(s.ids[user]) > 0 {
		in.kind = []kind{cancel, cancel, decrease}[n-5]
		for in.id, id = range s.ids[user] { // any order
			break
		}
		in.qty = int64(r.IntN(4))
		if in.kind == cancel {
			in.qty = 0
		}
		return in, id
	} else if n >= 8 {
		in.kind = []kind{balance, book}[n-8]
		return in, ""
	}
	if in.kind == place && r.IntN(3) == 0 {
		in.kind = quote
	}
	s.next++
	in.id, in.tick, in.qty = s.next, int64(4700+100*r.IntN(7)), int64(1+r.IntN(6))
	return in, id
}

// runOperations runs n random operations of one user over one lane. At random it gives up on
// a placement before the answer.
func (s *testVenue) runOperations(client int, user int, via sendFunc, n int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, uint64(client)))
	for range n {
		in, id := s.draw(r, user)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if in.kind == place && !s.noTimeouts && r.IntN(8) == 0 {
			ctx, cancel = context.WithTimeout(context.Background(), time.Duration(r.IntN(1500))*time.Microsecond)
		}
		start := s.now()
		a, err := via(ctx, s, in, id)
		back := s.now()
		gaveUp := ctx.Err() != nil
		cancel()
		switch {
		case err == nil && a.Code == "sequencing_timeout", err != nil && gaveUp && in.kind == place:
			s.add(client, in, result{unanswered: true}, start, math.MaxInt64)
		case err != nil:
			return err
		case a.Code == "draining": // not executed, and no later operation will be
			return nil
		case a.Code == "shed": // not executed
		default:
			s.answered(client, in, &a, start, back)
		}
	}
	return nil
}

func (s *testVenue) add(client int, in operation, out result, start, back int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: start, Return: back})
}

func (s *testVenue) answered(client int, in operation, a *answer, start, back int64) {
	s.add(client, in, resultOf(in, a), start, back)
	s.mu.Lock()
	defer s.mu.Unlock()
	if (in.kind == place || in.kind == replace) && a.OrderID != "" {
		s.ids[in.user][in.id] = a.OrderID
	}
}

// watch requests n snapshots of the book over the event lane.
func (s *testVenue) watch(client, n int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := s.sign(ctx, 1, "GET", "/v1/ws", nil)
	if err != nil {
		return err
	}
	conn, _, err := websocket.Dial(ctx, s.URL+"/v1/ws", &websocket.DialOptions{HTTPHeader: r.Header})
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_snapshot"],"market_ids":[1]}}`)); err != nil {
		return err
	}
	for i := range n {
		id := i + 2
		start := s.now()
		if err := conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"id":%d,"cmd":"update_subscription","params":{"sid":1,"action":"get_snapshot"}}`, id)); err != nil {
			return err
		}
		for confirmed := false; ; {
			_, text, err := conn.Read(ctx)
			if err != nil {
				return err
			}
			var m struct {
				ID   int
				Type string
				Seq  schemas.U64
				Msg  answer
			}
			if err := json.Unmarshal(text, &m); err != nil {
				return fmt.Errorf("%w in %s", err, text)
			}
			if m.ID == id {
				if confirmed = m.Type == "ok"; !confirmed {
					return fmt.Errorf("%s", text)
				}
			}
			if confirmed && m.Type == "orderbook_snapshot" {
				in, back := operation{kind: book, user: 1}, s.now()
				s.add(client, in, resultOf(in, &m.Msg), start, back)
				break
			}
		}
	}
	return nil
}

// resolveUnanswered looks up unanswered placements and replaces by client_order_id. It sets the seq of
// those that were executed and removes the others from the history. An unanswered cancel or
// decrease cannot be looked up; the checker may place it at the end of the history.
func (s *testVenue) resolveUnanswered() error {
	kept := s.done[:0]
	for _, op := range s.done {
		if in := op.Input.(operation); (in.kind == place || in.kind == replace) && op.Output.(result).unanswered {
			var l schemas.OrderList
			if err := s.send(context.Background(), in.user, "GET", fmt.Sprintf("/v1/portfolio/orders?client_order_id=%d", in.id), nil, nil, &l); err != nil {
				return err
			}
			if len(l.Orders) > 1 {
				return fmt.Errorf("order %d is listed %d times", in.id, len(l.Orders))
			}
			if len(l.Orders) == 0 {
				continue
			}
			op.Output = result{unanswered: true, seq: uint64(l.Orders[0].CreatedSeq)}
		}
		kept = append(kept, op)
	}
	s.done = kept
	return nil
}
