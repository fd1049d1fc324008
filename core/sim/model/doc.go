// Package model is a venue written down a second time, plainly, from the contract
// alone: maps, sorted lists and big.Int, every sum added up when it is asked for.
// It shares the core's words and none of its matching, money or rounds, and it is
// far too slow for anything but telling the core what it should have done.
//
//	Apply     one command with its stamp: the refusal, the fills, the orders that ended
//	Balance … what an account, a market and the venue then have
//
// It knows nothing of the log, of groups or of crashes. Reservations are never kept:
// they are what the resting orders add up to.
package model
