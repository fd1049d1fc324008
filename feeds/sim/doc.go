// Package sim is a made-up market for a venue that has no real one: seeded
// sources that quote gold, WTI and, four of them, BTC. Their prices are worth
// nothing; whoever shows them says "sim" (contract oracle, Wire formats).
//
// Each feed walks geometrically in fixed steps, with quiet spells and bursts;
// each source quotes the walk with a little noise of its own, and now and then
// falls silent if outages are on. Integers throughout.
//
//	World.Step(dt) ──▶ quotes                     a test's own time
//	Source.Run     ──▶ out(price, now)            wall time, the same steps
//
// Every source carries its own copy of its feed's walk, drawn from the same
// seed, so sources share nothing and need no lock; a price is a function of the
// seed, the source and the number of steps alone.
package sim
