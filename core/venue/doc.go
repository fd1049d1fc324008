// Package venue is the deterministic machine: State = f(commands). Apply takes one
// command with its stamp and gives events and a refusal, nothing else happens.
//
//	Apply
//	  place      admit (the checks of docs/rules/orders.md#order-of-checks, in order) → hold → match → rest
//	  cancel …   what ends or lowers resting orders
//	  advance    on a clock or index tick: expiry, dead-man, stale feeds, rounds
//	  close      balances and positions that changed become events; THE INVARIANT
//
// Fetch, before a group, reads the memory its commands will touch.
//
// It reads no clock, file, chance or map order and starts no goroutine. Time is
// the stamp's. A refusal changes nothing but the record of the refused order.
// A broken invariant panics with core.Broken; the machine is not to be used after.
// Reads (State, Hash, Preview, the accessors) may run side by side with each other
// but not with Apply or Fetch.
package venue
