// Package book keeps the resting orders: one book a market, in YES space, in price-time
// priority (docs/rules/prices.md#priority). It moves orders and nothing else; core/venue
// decides which orders to accept and what a fill costs.
//
//	Pool   the orders of all markets, by slot, with an index by order id
//	Queue  the orders of a price level or of an account, oldest first
//	Book   two sides of one Queue a price, and bitmaps that find the next level
//
//	r := pool.Alloc(id)         take a slot, then fill in the Order
//	book.Add(r, tick)           append it to its level
//	book.Reduce(r, n)           lower its quantity, keep its place
//	book.Remove(r)              take it off its level
//	pool.Free(r)                release the slot
//
// Invariants:
//
//  1. Within a level orders keep the sequence of their Add.
//  2. A level's total is the sum of its orders' Left.
//  3. The best price of each side is kept; BestPricesAreCorrect checks it by a search.
//  4. Removing an order writes to its own chunk of each queue, not to its neighbors.
//
// Nothing allocates once the pool has grown, except the first order with Terms, which
// makes room for the terms of all slots. A Pool and its books are for one goroutine.
package book
