package main

import "fmt"

// comparisons are what is measured.
var comparisons = []comparison{
	{Name: "rest-place", Peer: "net/http + HMAC + JSON", peer: requests(plainPlace), venue: requests(restPlace)},
	{Name: "rest-orderbook", Peer: "net/http + HMAC, the same bytes", peer: plainRead(orderbook), venue: restRead(orderbook)},
	{Name: "rest-orders", Peer: "net/http + HMAC, the same bytes", peer: plainRead(orders), venue: restRead(orders)},
	{Name: "mcp-read", Peer: "mcp-go", peer: requests(peerTool("get_balance")), venue: requests(venueTool("get_balance"))},
	{Name: "mcp-place", Peer: "mcp-go", peer: requests(peerTool("place_order")), venue: requests(venueTool("place_order"))},
	inLog(16),
	inLog(128),
	fanOut(1000),
	fanOut(5000),
	single(1000),
}

const openOrders = 160 // under the limit of 200 a market and account

// body is an order that rests: deep bids, none of which meets an ask.
func (r *rig) body(turn, conn, n int) []byte {
	return fmt.Appendf(nil, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","type":"limit","tick":%d,"qty":10,"tif":"gtc"}`, turn*10_000_000+n+1, r.market, 1000+100*(n%20))
}

// restPlace places one resting order after the other, and clears them in time.
func restPlace(r *rig) load {
	r.turn++
	turn := r.turn
	return load{addr: r.host, pid: r.pids[venue], next: func(conn, n int) request {
		if n%(openOrders+1) == 0 {
			return request{bytes: r.keys[conn].wire("DELETE", "/v1/portfolio/orders", "", nil), want: 200, free: true}
		}
		return request{bytes: r.keys[conn].wire("POST", "/v1/portfolio/orders", "", r.body(turn, conn, n)), want: 201}
	}}
}

func plainPlace(r *rig) load {
	s := signer{"peer", peerSecret, r.peers["net/http"]}
	return load{addr: s.host, pid: r.pids["net/http"], next: func(conn, n int) request {
		return request{bytes: s.wire("POST", "/v1/portfolio/orders", "", r.body(1, conn, n)), want: 200}
	}}
}

const mcpHeaders = "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"

func calling(tool string, arguments []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
}

func (r *rig) arguments(tool string, turn, conn, n int) []byte {
	if tool == "place_order" {
		return r.body(turn, conn, n)
	}
	return []byte(`{}`)
}

func venueTool(tool string) func(*rig) load {
	return func(r *rig) load {
		r.turn++
		turn := r.turn
		return load{addr: r.host, pid: r.pids[venue], next: func(conn, n int) request {
			if tool == "place_order" && n%(openOrders+1) == 0 {
				return request{bytes: r.keys[conn].wire("DELETE", "/v1/portfolio/orders", "", nil), want: 200, free: true}
			}
			return request{bytes: r.keys[conn].wire("POST", "/v1/mcp", mcpHeaders, calling(tool, r.arguments(tool, turn, conn, n))), want: 200}
		}}
	}
}

func peerTool(tool string) func(*rig) load {
	return func(r *rig) load {
		s := signer{"peer", peerSecret, r.peers["mcp-go"]}
		return load{addr: s.host, pid: r.pids["mcp-go"], next: func(conn, n int) request {
			return request{bytes: s.wire("POST", "/v1/mcp", mcpHeaders, calling(tool, r.arguments(tool, 1, conn, n))), want: 200}
		}}
	}
}
