// Package rest is the REST lane: every operation of tools that has a route, as
// spec and contract rest give it. routes.go is its table of contents. huma routes
// and documents; admission and decoding are lanes/gate's, so that no parameter is
// read before the call is let in, and each body is validated once.
package rest
