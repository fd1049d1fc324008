// Package model is a second, plain implementation of the venue's rules, written from docs/rules alone:
// maps, sorted lists and big.Int, with every sum computed when it is needed. Tests compare core/venue with
// it. It shares core's types, but no code for matching, money or rounds, and is much too slow for anything
// else.
//
//	Apply             one command with its stamp; returns the expected rejection, fills and ended orders
//	Balance, Depth, …  what an account, a market and the venue then have
//
// It stores no reservations: they are the sums over the resting orders. It knows nothing of journals, groups
// and crashes.
package model
