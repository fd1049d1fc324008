// Package maker quotes every trading series through the public REST lane, on an account of
// its own and within the limits of any account. Package marketsim computes the quotes.
//
//	each Refresh   readVenue     prices, markets, own orders and positions: 6 reads
//	               ladder        the quotes of each market, by P(mean of the settle window > strike)
//	               requotes      the levels whose quotes change; each level is a group of orders
//	               apply         put_quotes, as far as the tokens suffice
//
// Invariants:
//
//  1. Its quotes are post-only: it bids for YES below the fair value and offers it above, and the venue sells what
//     is free of it or buys NO. So it needs no inventory and pays no taker fee. It redeems the pairs it collects.
//  2. The quotes of both outcomes keep an edge to the fair value, so that they never match
//     each other.
//  3. It quotes until the round closes, wider in the last seconds, so that holders can sell.
//  4. A quote goes in the command that places the next one, so that no side is ever empty. Without a token for that
//     it is canceled only if it has lost its edge.
//  5. It has no state that the venue does not have. After a restart it reads its orders
//     again; if it dies, the dead-man switch cancels them
//     (docs/rules/orders.md#dead-man-switch).
//
// A new account may write 20 times and cancel 40 times a second
// (docs/rules/limits.md#buckets). The best quotes of nine markets cost nine tokens, so that each of them can
// move every second; deeper levels use the remaining tokens. A quote may drift while it
// keeps a quarter of its edge.
package maker
