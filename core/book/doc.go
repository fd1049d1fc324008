// Package book holds resting orders: one book a market, in YES space, price then
// time (contract core, Prices and the book).
//
//	Pool   every order of every market, by slot; found by id
//	Queue  slots in the order of their time, of a level or of an account; left
//	       without a look at the neighbours
//	Book   two sides of 10001 price levels, each a queue, and a bitmap that finds
//	       the next level without a search
//
// It moves orders and nothing else: who may place one, what a fill costs and
// whom it pays is the business of core/venue. Nothing here allocates once the
// pool has grown, but for the terms that few orders have: room for those of all slots
// is made with the first.
package book
