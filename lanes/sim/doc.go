// Package sim takes the simulation of core/sim through the door: what callers command
// becomes signed requests of REST or tool calls of the agent lane, what operators do
// requests of their own listener. The real gate and the real handlers serve them, on an
// http.Server whose connections are pipes, in the virtual time of one bubble and from
// one seed. The event lane is not in it.
//
// Between caller and venue lies a network that brings requests late, out of order and
// twice, cuts bodies or brings them slowly, and loses answers. Keys are made and
// revoked while requests of theirs are under way; some lack the scope, and some sign
// with a clock that is wrong. In some seeds the buckets are tight, in some each
// signature is good once. Disk, crashes, clock and operators are those of core/sim.
//
//	door     one life of the venue's door after the other, and what is known of keys
//	network  pipes that may be cut
//	request  commands written as a request, and what the door must say of it
//	answer   what the contract has answered, written by hand and not by the schemas
//	desk     the same for an operator's
//	ledger   rows of orders, fills and withdrawals, from the log and the model
//	look     what callers read, held against the model and the rows
//
// After each answer there is a command in the log that it is the whole truth of, and
// no other answer has told of; after shed, draining, an empty bucket or a refusal by the
// door there is none. A placement whose answer was lost, or whose outcome was unknown,
// is asked for by its client_order_id: it is there as the log has it, or not at all.
//
//	go test ./lanes/sim                                      a few seeds
//	go test ./lanes/sim -run Seeds -seeds 200 -timeout 60m   over 4,000 crashes
//	go test ./lanes/sim -run Seeds -seed 17                  one run, told line by line
package sim
