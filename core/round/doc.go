// Package round implements the rules of a round: when a series may open one, what price
// it settles on, and the winner (docs/rules/rounds.md). It is arithmetic on core.Round and
// a feed's ticks.
//
//	MayOpen         trading    if the series may open a round now
//	Freeze          frozen     fixes settle price, coverage and fresh sources
//	HasCoverage     ...        whether the round can propose that price by itself
//	Propose         proposed   fixes the winner
//	NextTransition  ...        when the clock alone moves the round on
//
// Invariants:
//
//  1. A period of a series has at most one round.
//  2. Ticks that arrive after the freeze do not change the settle price or the coverage.
//  3. YES wins if and only if the settle price is strictly above the strike.
//
// The package reads no clock: the caller passes every time, in ns since the Unix epoch. It
// never moves money; opening, settling, voiding and all payments are in core/venue.
package round
