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
// Opening, settling, voiding and all payments are in core/venue.
package round
