package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/client"
	"duplex/internal/logbuffer"
	"duplex/schemas"
)

// callerOrders is how many orders each caller of TestClusterCallers places before and after the kill.
const callerOrders = 20

// TestClusterCallers kills the member that a Go client and a bridge use with -9 while they place orders. Both go
// on with the next one: every order has an outcome and exists once, also one whose answer died with the member.
// The venue has no price, so the core rejects each order with market_not_trading or unknown_market, which uses its
// client_order_id like an order that rests, without the minutes until a round opens.
func TestClusterCallers(t *testing.T) {
	skipUnlessLong(t)
	c := startCluster(t, loadRates...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	urls := strings.Join([]string{c.url(0, 8080), c.url(1, 8080), c.url(2, 8080)}, ",")
	callers := []struct {
		name string
		key  clusterKey
		code func(id uint64) (string, error) // places an order and returns its error code
	}{{name: "client", key: c.createKey(1, c.createUser("client"))}, {name: "bridge", key: c.createKey(2, c.createUser("bridge"))}}
	k := callers[0].key
	trader := client.Must(client.New(urls, k.APIKey, k.secret, client.WaitForTokens()))
	callers[0].code = func(id uint64) (string, error) {
		_, err := trader.PlaceOrder(ctx, schemas.PlaceOrder{ClientOrderID: schemas.U64(id), MarketID: 1, Side: "buy", Outcome: "yes", Tick: schemas.Ptr(schemas.Int(100)), Qty: 1})
		if code := codeOf(err); code != "" {
			return code, nil
		}
		return "", err
	}
	callers[1].code = c.bridgeOrders(urls, callers[1].key)

	var work sync.WaitGroup
	half := make(chan struct{}, len(callers))
	killed := make(chan struct{})
	for _, k := range callers {
		work.Go(func() {
			for id := uint64(1); id <= 2*callerOrders; id++ {
				if id == callerOrders+1 {
					half <- struct{}{} // the next orders meet the kill
				}
				if id == 2*callerOrders {
					<-killed
				}
				code, err := k.code(id)
				if err != nil || code != "" && code != "market_not_trading" && code != "unknown_market" && code != "stale_generation" {
					t.Errorf("%s: order %d: %q, %v", k.name, id, code, err)
				}
			}
		})
	}
	for range callers {
		<-half
	}
	c.kill(0)
	close(killed)
	work.Wait()
	seq := max(c.seqOf(1), c.seqOf(2)) // includes what both have answered
	for _, k := range callers {
		for _, member := range []int{1, 2} {
			at, n := c.client(member, k.key), map[schemas.U64]int{}
			for o, err := range at.AllOrders(ctx, schemas.ListOrders{MinSeqQuery: schemas.MinSeqQuery{MinSeq: seq}}) {
				if err != nil {
					t.Fatal(err)
				}
				n[o.ClientOrderID]++
			}
			for id := schemas.U64(1); id <= 2*callerOrders; id++ {
				if n[id] != 1 {
					t.Errorf("%s: order %d is there %d times on member %s", k.name, id, n[id], memberNames[member])
				}
			}
			if len(n) != 2*callerOrders {
				t.Errorf("%s: %d orders on member %s", k.name, len(n), memberNames[member])
			}
		}
	}
}

// bridgeOrders starts dx mcp with several addresses and returns a function that places an order through it.
func (c *clusterTrial) bridgeOrders(urls string, k clusterKey) func(id uint64) (string, error) {
	c.Helper()
	path := dxPath(c)
	ctx, end := context.WithTimeout(context.Background(), 2*time.Minute) // it ends with its input
	c.Cleanup(end)
	host, logs := exec.CommandContext(ctx, path, "mcp"), &logbuffer.Buffer{}
	host.Env, host.Stderr = append(os.Environ(), "DX_URL="+urls, "DX_KEY="+k.APIKey, "DX_SECRET="+k.Secret), logs
	in, lines := startPiped(c.T, host)
	c.Cleanup(func() {
		in.Close()
		if err := host.Wait(); err != nil || c.Failed() {
			c.Errorf("dx mcp: %v\n%s", err, logs)
		}
	})
	return func(id uint64) (string, error) {
		_, err := io.WriteString(in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"place_order","arguments":{"client_order_id":"%d","market_id":1,"generation":1,"side":"buy","outcome":"yes","tick":100,"qty":1},`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n", id, id))
		if err != nil {
			return "", err
		}
		if !lines.Scan() {
			return "", fmt.Errorf("dx mcp ends: %v", lines.Err())
		}
		line := lines.Bytes()
		var answer struct {
			Result struct {
				StructuredContent struct {
					Error  schemas.Error `json:"error"`
					Status string        `json:"status"`
				} `json:"structuredContent"`
			} `json:"result"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return "", err
		}
		if r := answer.Result.StructuredContent; r.Error.Code != "" || r.Status != "" {
			return r.Error.Code, nil
		}
		return "", fmt.Errorf("no outcome: %.500s", line)
	}
}
