// Package venue is the state machine of the exchange: accounts, books, rounds and money as a
// function of the commands so far. Apply takes one command with its stamp, changes the state,
// appends events and returns OK or the rule that rejects the command.
//
// The flow of a command:
//
//	Prefetch   before a group: read the memory that its commands will touch
//	Apply
//	  place    admit (docs/rules/orders.md#order-of-checks) -> match -> rest what is left
//	  cancel   remove or reduce resting orders
//	  advance  on a clock or index tick: expiry, dead-man switches, stale feeds, rounds
//	  ...      one method per command, in the file named after its subject
//	  emitAccountChanges   events for changed balances and positions; check the invariant
//
// Invariants:
//
//  1. Equal commands with equal stamps make equal states: MarshalBinary returns the same bytes
//     on every machine (docs/rules/operation.md#determinism).
//  2. No money or contract appears or disappears (docs/rules/money.md#the-invariant). The
//     ledger's sums are checked after every command; a violation panics with
//     core.InvariantViolation and the Venue must not be used again.
//  3. No book is crossed: match removes every crossing order before rest adds one.
//  4. Each buy reserves enough cash before it matches, so a fill cannot overdraw an account.
//  5. A rejected placement changes only its own row and the use of its client_order_id. Any
//     other rejected command changes nothing.
//
// The package never reads a clock, a file, a random source or a map in its iteration order, and
// starts no goroutine. Time is the stamp of the command.
//
// Apply, Prefetch, Due, Image, MarshalBinary and Hash need exclusive access. The other reads may
// run concurrently with each other, but not with those.
package venue
