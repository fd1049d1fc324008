// Package tools declares the operations of the venue, each once, as a typed value. The
// lanes translate their own requests to these operations.
//
//	Op[In, Out]
//	    Spec   name, route, scope, bucket, errors, hints for agents
//	    Cost   tokens of a batch
//	    Do     run on the engine for a caller
//
// Running one:
//
//	Gate.Run: authorize, charge, decode, wait for min_seq
//	Do, a read:  Engine.Read, then convert rows to package schemas
//	Do, a write: Engine.Submit, then build the response from the command's own events
//	ErrorOf: convert the error to its wire form
//
// Invariants:
//
//  1. An operation does not depend on the lane that runs it.
//  2. All parts of a response are of one seq, its as_of_seq.
//  3. Pages neither skip nor repeat a row (docs/rules/rest.md#pages).
//
// A new operation is made in these files; the tests of the other lists and documents derive theirs
// from them, or say what is missing:
//
//	schemas                          the types of its request and its response
//	tools                            the operation
//	tools/operations.go              its line, by which the lanes offer it
//	docs/rules/rest.md               its route
//	docs/rules/agents.md             its tool, the number of tools and of their tokens
//	docs/guides/agents.md            the number of tools that the doctor shows
//	client                           its method
//	lanes/rest/testdata/openapi.json written by go test ./lanes/rest -run Golden -update
//	clients/python                   its records, written by generate.py from openapi.json
//
// A tool that writes also has its lookup in cmd/dx/bridge/unknown_outcome.go, and is in the list of
// lanes/mcp/parity_test.go if it is destructive.
//
// The package never authenticates, charges tokens or decodes a request.
package tools
