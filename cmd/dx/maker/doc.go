// Package maker quotes every live series through the public REST lane, on an account
// of its own and under the same limits as anyone.
//
//	each Refresh   look     prices, markets, own orders, own positions: 6 reads
//	               fair     P(the settling mean > strike) of each market
//	               changes  what should rest, less what rests well enough
//	               act      cancel, then place, as far as the tokens go
//
// It buys YES below the fair value and buys NO below its complement, post-only, so
// it needs no inventory and pays no taker fee. Pairs that come together are redeemed.
// Quotes of both outcomes keep an edge over the fair value, so they never meet.
//
// The budget: a new account may write 20 times and cancel 40 times a second. Nine
// markets have 18 best quotes, so every one of them can move every second; the levels
// behind take what is left. A quote may drift while it keeps most of its edge. Nothing
// is canceled before its replacement can be paid for, but for what has lost its edge.
//
// It remembers nothing that the venue does not: after a restart of either it reads
// its orders again. If it dies, the dead-man switch takes its quotes back.
package maker
