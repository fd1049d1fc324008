// Package maker quotes every trading series through the public REST lane, on an account of
// its own and within the limits of any account. Package marketsim computes the quotes.
//
//	each Refresh   readVenue     prices, markets, own orders and positions: 6 reads
//	               ladder        the quotes of each market, by P(mean of the settle window > strike)
//	               quoteChanges  the wanted quotes less the resting ones that still match
//	               applyChanges  cancel, then place, as far as the tokens suffice
//
// Invariants:
//
//  1. It only places post-only buys: YES below the fair value, NO below its complement. So
//     it needs no inventory and pays no taker fee. It redeems the pairs it collects.
//  2. The quotes of both outcomes keep an edge to the fair value, so that they never match
//     each other.
//  3. It quotes until the round closes, wider in the last seconds, so that holders can sell.
//  4. It cancels a quote only with a token for the replacement at hand, unless the quote
//     has lost its edge.
//  5. It has no state that the venue does not have. After a restart it reads its orders
//     again; if it dies, the dead-man switch cancels them
//     (docs/rules/orders.md#dead-man-switch).
//
// A new account may write 20 times and cancel 40 times a second
// (docs/rules/limits.md#buckets). Nine markets have 18 best quotes, so that each of them can
// move every second; deeper levels use the remaining tokens. A quote may drift while it
// keeps a quarter of its edge.
package maker
