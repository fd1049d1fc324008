package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/client"
	"duplex/schemas"
)

// followerOf is the process of a follower of a cluster.
type followerOf struct {
	*clusterTrial
	process memberProcess
	host    string
	args    []string // further or other flags of start
}

// follow prepares a follower, with a certificate of its own.
func (c *clusterTrial) follow() *followerOf {
	c.Helper()
	f := &followerOf{clusterTrial: c, host: strings.TrimSuffix(c.hosts[0], ".1") + ".9"}
	c.dx("cluster", "certs", filepath.Join(c.dir, "certs"), "--follower", "f="+f.host)
	c.Cleanup(func() {
		if c.Failed() && f.process.logs != nil {
			c.Logf("follower:\n%s", f.process.logs)
		}
		f.kill()
	})
	return f
}

func (f *followerOf) url(port int) string { return fmt.Sprintf("http://%s:%d", f.host, port) }

func (f *followerOf) start(members ...int) {
	f.Helper()
	path := dxPath(f)
	var from []string
	for _, i := range members {
		from = append(from, f.address(i, 7001))
	}
	certs := filepath.Join(f.dir, "certs")
	cmd := exec.Command(path, append([]string{
		"follow", "--from", strings.Join(from, ","), "--name", "f", "--data", filepath.Join(f.dir, "f"), "--api", f.host + ":8080", "--portal", f.host + ":8081", "--admin", f.host + ":8082", "--follow", f.host + ":7001",
		"--cluster-cert", filepath.Join(certs, "f.crt"), "--cluster-key", filepath.Join(certs, "f.key"), "--cluster-ca", filepath.Join(certs, "ca.crt"), "--mirror", "off",
	}, f.args...)...)
	f.process = *f.run(cmd, cmd.Start)
}

func (f *followerOf) kill() {
	if f.process.cmd == nil {
		return
	}
	_ = f.process.cmd.Process.Signal(syscall.SIGKILL) // fails if it has ended
	<-f.process.done
	f.process.cmd = nil
}

// waitState waits until /readyz names a state.
func (f *followerOf) waitState(state string) {
	f.Helper()
	last := ""
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(f.url(8082) + "/readyz")
		if err != nil {
			last = err.Error()
			continue
		}
		text, _ := io.ReadAll(resp.Body) // an error is not the state
		resp.Body.Close()
		if last = string(text); strings.Contains(last, `"state":"`+state+`"`) {
			return
		}
	}
	f.Fatalf("the follower is never %s: %s", state, last)
}

// waitEqual waits until the follower has the seq of a member, and compares their states.
func (f *followerOf) waitEqual(i int) {
	f.Helper()
	var state, want schemas.AdminState
	within(3*time.Minute, func() bool {
		status, text := f.send("GET", f.url(8082)+"/admin/state", "", clusterOperator)
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			f.Fatal(status, text, err)
		}
		if _, err := f.admin(f.Context(), i, "GET", "/admin/state", nil, &want); err != nil {
			f.Fatal(err)
		}
		return state.Seq == want.Seq
	})
	if state.Seq != want.Seq || state.StateHash != want.StateHash {
		f.Errorf("the follower at %s has %s at seq %d, a member %s at seq %d", f.host, state.StateHash, state.Seq, want.StateHash, want.Seq)
	}
}

// as returns a client of a base URL with the key of the trader.
func (c *clusterTrial) as(base string, key schemas.NewKey, options ...client.Option) *client.Client {
	c.Helper()
	secret, ok := schemas.ParseSecret(key.Secret)
	if !ok {
		c.Fatal("the secret is not one")
	}
	return client.Must(client.New(base, key.APIKey, secret, options...))
}

// depositOn makes one deposit on a member.
func (c *clusterTrial) depositOn(i int, user uint32, id string) {
	c.Helper()
	c.change(i, "POST", fmt.Sprintf("/admin/users/%d/deposits", user), map[string]string{"amount": "10000", "deposit_id": id})
}

// balanceAt reads the trader's cash at a node, at least as of a seq.
func (c *clusterTrial) balanceAt(at *client.Client, seq schemas.U64) (out schemas.Balance, err error) {
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	err = at.Do(ctx, "GET", "/v1/portfolio/balance", schemas.MinSeqOnly{MinSeqQuery: schemas.MinSeqQuery{MinSeq: seq}}, &out)
	return out, err
}

// seqOf is the seq of a member.
func (c *clusterTrial) seqOf(i int) schemas.U64 {
	c.Helper()
	var s schemas.AdminState
	if _, err := c.admin(c.Context(), i, "GET", "/admin/state", nil, &s); err != nil {
		c.Fatal(err)
	}
	return s.Seq
}

func codeOf(err error) string {
	var e *client.Error
	if err == nil {
		return ""
	}
	if errors.As(err, &e) {
		return e.Code
	}
	return err.Error()
}

// TestFollow runs a follower of three members: it serves what the members have acknowledged, refuses
// writes on every listener, goes on when the member that it follows dies or stops, survives its own
// death, and says so when it does not know the present.
func TestFollow(t *testing.T) {
	skipUnlessLong(t)
	c := startCluster(t)
	user := c.createUser("trader")
	var key schemas.NewKey
	if status, err := c.admin(t.Context(), 1, "POST", fmt.Sprintf("/admin/users/%d/keys", user), map[string]any{"scopes": []string{"read", "trade"}}, &key); err != nil || status != 201 {
		t.Fatal(status, err)
	}
	f := c.follow()
	f.start(0, 1)
	f.waitState("serving")
	reader := c.as(f.url(8080), key, client.MaxAttempts(1))

	// What a member has acknowledged is in a read with its seq.
	deposits := 0
	deposit := func(member int) schemas.U64 {
		t.Helper()
		deposits++
		c.depositOn(member, user, fmt.Sprint("follow-", deposits))
		return c.seqOf(member)
	}
	check := func(member int) {
		t.Helper()
		seq := deposit(member)
		var got schemas.Balance
		var err error
		within(3*time.Minute, func() bool { // a node that is held up may say that it is behind
			got, err = c.balanceAt(reader, seq)
			return codeOf(err) != "sequencing_timeout" && codeOf(err) != "node_behind"
		})
		if err != nil || got.AsOfSeq < seq || got.Cash != schemas.U64(deposits*10_000) {
			t.Errorf("after deposit %d at seq %d the follower has %+v, %v", deposits, seq, got, err)
		}
	}
	for member := range 3 {
		check(member)
	}
	if _, err := c.balanceAt(reader, c.seqOf(0)+1_000_000); codeOf(err) != "sequencing_timeout" {
		t.Errorf("a seq that does not come: %v", err)
	}

	// Writes are refused on every listener, and the answer names a member.
	_, err := reader.PlaceOrder(t.Context(), schemas.PlaceOrder{ClientOrderID: 1, MarketID: 1, Side: "buy", Outcome: "yes", Tick: schemas.Ptr(schemas.Int(1000)), Qty: 1})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != "read_only_node" || refused.Status != http.StatusMisdirectedRequest {
		t.Errorf("an order at a follower: %+v, want 421 read_only_node", err)
	} else if refused.Details == nil || (*refused.Details)["member_url"] != c.url(0, 8080) {
		t.Errorf("an order at a follower: %+v, want the member %s in its details", err, c.url(0, 8080))
	}
	token := c.accountToken(user)
	deposit(1) // the token precedes it
	if _, err := c.balanceAt(reader, c.seqOf(1)); err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]struct{ method, url, body, token string }{
		"a deposit":    {"POST", f.url(8082) + fmt.Sprintf("/admin/users/%d/deposits", user), `{"amount":"1","deposit_id":"x"}`, clusterOperator},
		"a pause":      {"POST", f.url(8082) + "/admin/markets/1/pause", `{}`, clusterOperator},
		"a fee":        {"PUT", f.url(8082) + "/admin/fees", `{}`, clusterOperator},
		"a price":      {"POST", f.url(8082) + "/admin/oracle/ticks", `{}`, clusterOperator},
		"a withdrawal": {"POST", f.url(8081) + "/withdrawals", `{}`, token},
		"a key":        {"POST", f.url(8081) + "/keys", `{}`, token},
	} {
		if status, text := c.send(r.method, r.url, r.body, r.token); status != http.StatusMisdirectedRequest || !strings.Contains(text, "read_only_node") {
			t.Errorf("%s at a follower: %d %s, want 421 read_only_node", what, status, text)
		}
	}
	if status, text := c.send("POST", f.url(8082)+"/admin/snapshot", "", clusterOperator); status != 200 {
		t.Errorf("a snapshot: %d %s", status, text)
	}
	if status, text := c.send("GET", f.url(8082)+fmt.Sprintf("/admin/users/%d", user), "", clusterOperator); status != 200 || !strings.Contains(text, "trader") {
		t.Errorf("a read of the operator: %d %s", status, text)
	}

	// Tools read and do not write.
	if got := c.tool(reader, "get_balance", map[string]any{"min_seq": fmt.Sprint(deposit(2))}); !strings.Contains(got, fmt.Sprint(deposits*10_000)) {
		t.Errorf("get_balance: %s", got)
	}
	if got := c.tool(reader, "cancel_all_orders", map[string]any{}); !strings.Contains(got, "read_only_node") {
		t.Errorf("cancel_all_orders: %s", got)
	}

	// Sockets get what happens, and wait for a seq.
	ws := c.dial(f.url(8080), key)
	seq := deposit(1)
	text := fmt.Sprintf(`{"id":1,"cmd":"subscribe","params":{"channels":["user"],"min_seq":"%d"}}`, seq)
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
	c.expect(ws, fmt.Sprintf(`"cash":"%d"`, deposits*10_000))
	deposit(0)
	c.expect(ws, `"follow-`+fmt.Sprint(deposits)+`"`)

	// The member that it follows stops, dies and returns: reads go on.
	l := c.deposit(user, 2)
	l.answered(50)
	if err := c.members[0].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.readsGoOn(reader, 4*time.Second)
	if err := c.members[0].cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.waitServing(0)
	c.kill(1)
	c.readsGoOn(reader, 4*time.Second)
	c.start(1)
	c.waitServing(1)

	// Its own death loses nothing.
	l.answered(50)
	f.kill()
	l.answered(50)
	f.start(0, 1)
	f.waitState("serving")
	l.stop()
	deposits += l.deposits
	check(2)
	f.waitEqual(2)
	if !within(3*time.Minute, func() bool {
		_, page := c.send("GET", f.url(8082)+"/metrics", "", clusterOperator)
		return strings.Contains(page, "duplex_cluster_follow_lag_groups 0\n") && strings.Contains(page, "duplex_cluster_follow_beat_age_seconds 0.")
	}) {
		t.Error("the metrics of a follower are missing")
	}
	if !within(3*time.Minute, func() bool { // it follows b if a was held up
		_, a := c.send("GET", c.url(0, 8082)+"/metrics", "", clusterOperator)
		_, b := c.send("GET", c.url(1, 8082)+"/metrics", "", clusterOperator)
		return strings.Count(a+b, "duplex_cluster_follow_streams 1\n") == 1 && strings.Contains(a, "duplex_cluster_follow_cut_total ") && strings.Contains(b, "duplex_cluster_follow_cut_total ")
	}) {
		t.Error("the metrics of the member that it follows are missing")
	}

	// Without any member it knows nothing after 3 s, also if it starts then.
	ws = c.dial(f.url(8080), key)
	begun := time.Now()
	for i := range 3 {
		c.kill(i)
	}
	f.waitState("isolated")
	if took := time.Since(begun); took < 2*time.Second {
		t.Errorf("isolated after %v", took)
	}
	if _, err := c.balanceAt(reader, 0); codeOf(err) != "node_behind" {
		t.Errorf("a read: %v", err)
	}
	if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("the socket ends with %v", err)
	}
	f.kill()
	f.start(0, 1)
	f.waitState("isolated")
	if _, err := c.balanceAt(reader, 0); codeOf(err) != "node_behind" {
		t.Errorf("a read after a start without members: %v", err)
	}
	for i := range 3 {
		c.start(i)
	}
	f.waitState("serving")
	check(0)

	// Another master key, other caps, no address: exit 2. TestFollowerOfAnotherVenue has more reasons.
	f.kill()
	for want, wrong := range map[string][]string{"the master key differs": {"--master-key", strings.Repeat("ab", 32)}, "--mirror is on, that of the cluster is off": {"--mirror", "sqlite"}, `"here" is not HOST:PORT`: {"--from", "here"}} {
		f.args = wrong
		f.start(0)
		kill := time.AfterFunc(3*time.Minute, func() { _ = f.process.cmd.Process.Kill() }) // fails if it has ended
		if err := <-f.process.done; !exitedWith(err, 2) || !strings.Contains(f.process.logs.String(), want) {
			t.Errorf("a follower with %v: %v\n%s\nwant exit 2 and %q", wrong, err, f.process.logs, want)
		}
		kill.Stop()
	}
	f.process.cmd = nil
	if out := c.dx("verify", filepath.Join(c.dir, "f")); !strings.HasPrefix(out, "whole: ") {
		t.Errorf("dx verify: %s", out)
	}
}

// readsGoOn reads for a while, and checks that no read fails. While the follower catches up with the next
// member, it may say that it is behind.
func (c *clusterTrial) readsGoOn(reader *client.Client, d time.Duration) {
	c.Helper()
	var last schemas.U64
	n, first := 0, schemas.U64(0)
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		got, err := c.balanceAt(reader, 0)
		switch {
		case codeOf(err) == "node_behind":
			continue
		case err != nil:
			c.Fatalf("read %d: %v", n, err)
		case got.AsOfSeq < last:
			c.Fatalf("a read went back from seq %d to %d", last, got.AsOfSeq)
		case n == 0:
			first = got.AsOfSeq
		}
		last = got.AsOfSeq
		n++
	}
	if last == first {
		c.Errorf("the follower stayed at seq %d", first)
	}
}

// send sends a request with a bearer token.
func (c *clusterTrial) send(method, url, body, token string) (status int, text string) {
	c.Helper()
	return send(c.T, method, url, body, "Authorization", "Bearer "+token)
}

// accountToken gives an account a new account token.
func (c *clusterTrial) accountToken(user uint32) string {
	c.Helper()
	var out schemas.NewUser
	if status, err := c.admin(c.Context(), 0, "POST", fmt.Sprintf("/admin/users/%d/token", user), map[string]string{}, &out); err != nil || status != 200 {
		c.Fatal(status, err)
	}
	return out.AccountToken
}

// tool calls a tool and returns the response.
func (c *clusterTrial) tool(at *client.Client, name string, args map[string]any) string {
	c.Helper()
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": name, "arguments": args},
	})
	if err != nil {
		c.Fatal(err)
	}
	resp, err := at.Open(c.Context(), "POST", "/v1/mcp", http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-06-18"}}, body)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	return string(text)
}

// dial opens a socket.
func (c *clusterTrial) dial(base string, key schemas.NewKey) *websocket.Conn {
	c.Helper()
	secret, ok := schemas.ParseSecret(key.Secret)
	if !ok {
		c.Fatal("the secret is not one")
	}
	ts, h := fmt.Sprint(time.Now().UnixMilli()), http.Header{}
	h.Set(schemas.HeaderKey, key.APIKey)
	h.Set(schemas.HeaderTimestamp, ts)
	h.Set(schemas.HeaderSignature, schemas.Sign(secret, ts, "GET", "/v1/ws", nil))
	ws, _, err := websocket.Dial(c.Context(), base+"/v1/ws", &websocket.DialOptions{HTTPHeader: h})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { ws.CloseNow() })
	return ws
}

// expect reads messages until one contains a text.
func (c *clusterTrial) expect(ws *websocket.Conn, text string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 3*time.Minute)
	defer cancel()
	var got []string
	for {
		_, b, err := ws.Read(ctx)
		if err != nil {
			c.Fatalf("no message with %s: %v\n%s", text, err, strings.Join(got, "\n"))
		}
		if strings.Contains(string(b), text) {
			return
		}
		got = append(got, string(b))
	}
}
