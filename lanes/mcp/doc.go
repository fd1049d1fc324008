// Package mcp is the agent lane: `POST /v1/mcp` (contract mcp), MCP over Streamable
// HTTP without sessions. The same operations as REST, as tools.
//
//	edge → parse     one strict JSON-RPC message, or a protocol error
//	     → speak     which revision it is in; headers held against the body
//	     → park      what waits for an event waits here, on the handler's goroutine
//	     → exchange  a jsonrpc2.Conn that yields the one message and takes its answer
//	     → stream    subscriptions/listen goes on as SSE after its acknowledgment
//
// tools.go is the table of contents; offer binds an operation, and gate.Run admits
// and does it as for every other lane.
//
// jsonrpc2 closes silently on what it does not like, mangles ids, marshals params
// anew and does not recover panics. So it is given an id of our own and no params,
// and what it writes is put into the caller's id.
package mcp
