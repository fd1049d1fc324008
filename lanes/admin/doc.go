// Package admin is the operator's listener (docs/rules/operation.md#listeners). It has an
// address of its own.
//
//	/ /assets/...               no token: the files of the operator's page
//	/livez /readyz              no token: supervisors probe them
//	/metrics /debug/pprof       the operator's bearer token
//	/admin/...                  the operator's bearer token
//	any other path              the operator's bearer token, then not_found
//
// Invariants:
//
//  1. Every change of the venue's state is a command of the core with an audit mark, so it
//     is journaled, replayed and audited.
//  2. Every action is logged with its reason. Neither bodies nor secrets are logged.
//  3. A metric is read where it is counted, at the time of the scrape, outside the venue's
//     lock as far as possible.
//
// routes.go lists the routes; lanes/gate decodes requests and writes errors.
package admin
