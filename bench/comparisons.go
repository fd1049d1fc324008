package main

import (
	"fmt"

	"duplex/internal/rawhttp"
)

// comparisons lists the measurements of bench.
var comparisons = []comparison{
	{Name: "rest-place", Peer: "net/http + HMAC + JSON", peer: loopMeasurement(plainPlace), venue: loopMeasurement(restPlace)},
	{Name: "rest-mandate", Peer: "the venue, accounts without bounds", peer: loopMeasurement(restPlace), venue: loopMeasurement(agentPlace)},
	{Name: "rest-orderbook", Peer: "net/http + HMAC, the same bytes", peer: plainRead(orderbook), venue: restRead(orderbook)},
	{Name: "rest-orders", Peer: "net/http + HMAC, the same bytes", peer: plainRead(orders), venue: restRead(orders)},
	{Name: "mcp-read", Peer: "mcp-go", peer: loopMeasurement(peerTool("get_balance")), venue: loopMeasurement(venueTool("get_balance"))},
	{Name: "mcp-place", Peer: "mcp-go", peer: loopMeasurement(peerTool("place_order")), venue: loopMeasurement(venueTool("place_order"))},
	journalComparison(16),
	journalComparison(128),
	throughputComparison(1000),
	throughputComparison(5000),
	latencyComparison(1000),
}

const openOrders = 160 // below the limit of 200 open orders per market and account

// body returns a placement that rests: a low bid without a matching ask.
func (r *harness) body(runID, conn, n int) []byte {
	return fmt.Appendf(nil, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","type":"limit","tick":%d,"qty":10,"tif":"gtc"}`, runID*10_000_000+n+1, r.market, 1000+100*(n%20))
}

// restPlace returns a loop that places resting orders, and cancels all of them before the
// limit of open orders.
func restPlace(r *harness) requestLoop { return r.placeWith(r.keys) }

// agentPlace is restPlace by agents whose mandates have every bound that lets them buy.
func agentPlace(r *harness) requestLoop { return r.placeWith(r.agents) }

func (r *harness) placeWith(keys []rawhttp.Signer) requestLoop {
	r.runID++
	runID := r.runID
	return requestLoop{addr: r.host, pid: r.pids[venue], next: func(conn, n int) request {
		if n%(openOrders+1) == 0 {
			return request{bytes: keys[conn].AppendRequest(nil, "DELETE", "/v1/portfolio/orders", "", nil), want: 200, free: true}
		}
		return request{bytes: keys[conn].AppendRequest(nil, "POST", "/v1/portfolio/orders", "", r.body(runID, conn, n)), want: 201}
	}}
}

func plainPlace(r *harness) requestLoop {
	s := rawhttp.Signer{Key: "peer", Secret: peerSecret, Host: r.peers["net/http"]}
	return requestLoop{addr: s.Host, pid: r.pids["net/http"], next: func(conn, n int) request {
		return request{bytes: s.AppendRequest(nil, "POST", "/v1/portfolio/orders", "", r.body(1, conn, n)), want: 200}
	}}
}

const mcpHeaders = "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"

func toolsCallBody(tool string, arguments []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
}

func (r *harness) arguments(tool string, runID, conn, n int) []byte {
	if tool == "place_order" {
		return r.body(runID, conn, n)
	}
	return []byte(`{}`)
}

func venueTool(tool string) func(*harness) requestLoop {
	return func(r *harness) requestLoop {
		r.runID++
		runID := r.runID
		return requestLoop{addr: r.host, pid: r.pids[venue], next: func(conn, n int) request {
			if tool == "place_order" && n%(openOrders+1) == 0 {
				return request{bytes: r.keys[conn].AppendRequest(nil, "DELETE", "/v1/portfolio/orders", "", nil), want: 200, free: true}
			}
			return request{bytes: r.keys[conn].AppendRequest(nil, "POST", "/v1/mcp", mcpHeaders, toolsCallBody(tool, r.arguments(tool, runID, conn, n))), want: 200}
		}}
	}
}

func peerTool(tool string) func(*harness) requestLoop {
	return func(r *harness) requestLoop {
		s := rawhttp.Signer{Key: "peer", Secret: peerSecret, Host: r.peers["mcp-go"]}
		return requestLoop{addr: s.Host, pid: r.pids["mcp-go"], next: func(conn, n int) request {
			return request{bytes: s.AppendRequest(nil, "POST", "/v1/mcp", mcpHeaders, toolsCallBody(tool, r.arguments(tool, 1, conn, n))), want: 200}
		}}
	}
}
