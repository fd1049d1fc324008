// Package noise runs the noise traders of a dev venue through the public REST lane, each on an
// account of its own. They trade without a reason, so that tapes, volumes and books move; package
// marketsim decides when and what.
//
//	Run   wait → markets, positions → the order of the intent → place
//
// Invariants:
//
//  1. The intents of a trader, and the waits between them, are a function of the seed and its name.
//  2. Its orders are few and small, and no order rests longer than 40 s.
//  3. It cancels its orders at the end.
//
// It has no view of the price and no inventory to manage: on average it pays the spread and fees.
package noise
