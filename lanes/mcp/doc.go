// Package mcp is the agent lane, `POST /v1/mcp`: MCP over Streamable HTTP without
// sessions (docs/rules/agents.md). It offers the operations of REST as tools.
//
// A request:
//
//	parse               one strict JSON-RPC message, or a protocol error
//	negotiateRevision   the protocol revision; compare the headers with the body
//	answer              run the method on the handler's goroutine; a long poll blocks here
//	encodeResponse      the response with the id exactly as it was sent
//	stream.serve        subscriptions/listen continues as server-sent events
//
// Invariants:
//
//  1. A tool runs its operation through Gate.Run, as every other lane does.
//  2. A rejected operation is a result with the error of REST and hints (hints.go); each
//     rejected item of a batch has its own (batch.go).
//  3. A result is that of REST with the members of added_members.go; a page is short (pages.go).
//  4. wait_for_event returns every event after a seq once, or reports that some are missed.
//  5. All definitions of tools, and each result, fit into a bounded number of tokens.
//
// The lane never places, cancels or changes anything by itself, and keeps no state of a
// client between requests.
//
// An error is a jsonrpc2.Error, with the library's codes. The lane does not use jsonrpc2's
// Request and Response, whose ID changes large and negative ids, or its Conn, because each
// HTTP request is one message, and because a Conn closes without a response on bad JSON,
// takes a null id for a notification, and lets a panic end the process.
package mcp
