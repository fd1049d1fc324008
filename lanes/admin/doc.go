// Package admin is the operator's listener (contract operator, Admin). It is never
// on the API's address.
//
//	/livez /readyz              open: a supervisor has no token
//	/metrics /debug/pprof       the operator's bearer token
//	/admin/...                  the operator's bearer token
//	anything else               the operator's bearer token, then 404
//
// What the operator does to the venue is a command of the core that says who gave
// it and why, so it is journaled, replayed and audited like any other. routes.go is
// the table of contents; decoding, errors and misses are lanes/gate's.
package admin
