// Package rest is the REST lane: every operation of package tools that has a route, and its
// OpenAPI document. docs/rules/rest.md has the rules of the interface.
//
//	huma routes a request → Gate.Run → Gate.Respond
//
// Invariants:
//
//  1. The routes are tools.Operations and tools.RouteOnly, and in an arena those of its clock and its report.
//  2. Routes, schemas and the document come from the same types, so that they agree.
//
// huma only routes, and makes the document when it is asked for. lanes/gate limits,
// authenticates, decodes and runs the requests, so that no parameter is read before the request is
// charged and each body is validated once.
package rest
