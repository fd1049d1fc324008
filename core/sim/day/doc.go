// Package day writes the journal of one simulated day: a whole UTC day of the three BTC series
// with a market maker and four traders. It is for trying what reads a journal: mirrors, exports,
// proofs (docs/guides/data.md).
//
//	Write(ctx, dir, seed, progress)
//	    each second   a group with the index tick and the maker's quotes
//	                  a group with the orders of the traders, if there are any
//	    now and then  actions of an operator: deposits, a withdrawal, a void
//
// Invariants:
//
//  1. A seed gives the same journal, byte for byte, on every machine: all arithmetic is on
//     integers, and all time is virtual.
//  2. The real venue applies every command before the next ones are drawn, so traders see the
//     book that a reader of the API would see.
//  3. After the last command no round is open, so that every result is final.
//  4. The journal gets its final name when it is complete.
//
// The package never reads a clock and never changes a journal that exists.
package day
