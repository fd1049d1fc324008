// Package view keeps what readers ask for and the machine itself does not need:
// rows of orders, fills, trades, rounds with their evidence, settlements, the newest
// events of each account, and who gave the venue which orders. It is folded from
// events, one command at a time, and so is a function of the journal like the venue
// itself.
//
//	Fold, Record                  after every command
//	reads                         under the lock of core/engine, with the venue at
//	                              the same seq
//
// What is kept is bounded by Caps (contract core, Rounds: Retention). Resting
// orders are never evicted, only terminal rows are (spec 4.8).
package view
