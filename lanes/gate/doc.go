// Package gate authenticates, limits and runs every request of every lane. A lane only
// decodes its requests and encodes its responses.
//
//	for each HTTP request (Edge, Guard):
//	    limit the body, authenticate, check the target, route
//	for each operation (Run):
//	    authorize, charge, decode, charge the rest of a batch, wait for seq,
//	    execute, respond
//
// pipeline.go holds these stages in this order. Server and WrapListener are the HTTP
// edge of all listeners, around net/http:
//
//	framing.go    detects requests with an ambiguous end
//	malformed.go  gives errors of net/http the venue's error body
//	client.go     finds the client address behind trusted proxies
//	hosts.go      checks the Host header against DNS rebinding
//
// Invariants:
//
//  1. Every read and write of a connection has a deadline, unless the handler sets its
//     own.
//  2. A request whose end is ambiguous, or whose body was not read, is the last of its
//     connection.
//  3. Every response with status 400 or above has the error body and an X-Request-Id.
//  4. The checks run in one order on every lane: docs/rules/rest.md#order-of-checks.
//
// The package never decides the outcome of a command: that is the core's.
package gate
