// Package sim simulates a market for a venue without real prices: four seeded sources of
// BTC and one each of gold and WTI. Their names begin with "sim"
// (docs/rules/prices-sources.md#simulated-and-recorded-prices).
//
// The price of each feed is a geometric random walk in steps of 100 ms, with quiet periods
// and bursts. Each source quotes the walk with a little noise and, if outages are on,
// falls silent at times. All arithmetic is on integers.
//
//	World.Step(dt) ──▶ quotes                     virtual time, for tests
//	Source.Run     ──▶ out(price, now)            wall time, the same steps
//
// A price is a function of the seed, the source and the number of steps. Every source has
// its own copy of its feed's walk, drawn from the same seed, so that sources share no
// state and need no lock.
package sim
