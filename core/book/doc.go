// Package book holds resting orders: one book a market, in YES space, price then
// time (contract core, Prices and the book).
//
//	Pool   every order of every market, by slot; found by id
//	Book   two sides of 10001 price levels, each a queue of slots, and a bitmap
//	       that finds the best level without a search
//
// It moves orders and nothing else: who may place one, what a fill costs and
// whom it pays is the business of core/venue. Nothing here allocates once the
// pool has grown.
package book
