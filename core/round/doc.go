// Package round holds the rules of a round's life (contract core, Rounds, series,
// slots): when a series may open one, what it settles on, who won. It is
// arithmetic over core.Round and a feed's ticks; core/venue does the paying.
package round
