// Package sim runs the simulation of core/sim through the lanes: user commands are signed
// REST requests or tool calls of the agent lane, and operator commands are requests to the
// operator's listener. The package has no code outside its tests.
//
// The real gate and handlers serve the requests on an http.Server whose connections are
// pipes, in the virtual time of one synctest bubble and from one seed. The event lane is not
// simulated. Disk, crashes, clock and operators are those of core/sim.
//
// A simulated network between client and venue delays, reorders and repeats requests, cuts
// bodies, delivers them slowly, and loses answers. Keys are created and revoked while their
// requests are in flight; some lack a scope, and some clients sign with a wrong clock. Some
// seeds have small token buckets, of each key or of each account too, and some run with the
// replay guard.
//
//	gate          the gate and lanes of one run, and the state that a client can know
//	network       pipes that can be cut
//	request       writes commands as requests, and derives the gate's expected answer
//	reply         parses answers, written by hand and without package schemas
//	operator      the same for an operator's requests
//	expectations  expected orders, fills and withdrawals, from the log and the model
//	reads         compares reads with the model and the expectations
//
// Invariants:
//
//  1. An answered command is in the log once, the answer equals its outcome, and no two
//     answers are of one command.
//  2. A command answered with shed, draining, rate_limited or a rejection of the gate is not
//     in the log. Nor is a placement of an account that never held money.
//  3. A placement without an answer, or with an unknown outcome, can be looked up by its
//     client_order_id: it is listed as the log has it, or not at all.
//
// Usage:
//
//	go test ./lanes/sim                                      a few seeds
//	go test ./lanes/sim -run Seeds -seeds 200 -timeout 60m   over 4,000 crashes
//	go test ./lanes/sim -run Seeds -seed 17                  one run, with a trace
package sim
