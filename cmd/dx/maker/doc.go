// Package maker quotes every live series through the public REST lane, on an account
// of its own and under the same limits as anyone.
//
//	each Refresh   read markets, prices, own orders, own positions
//	               fair value of each market (fair.go)
//	               cancel what no longer stands where it should, place anew
//	               refresh the dead-man switch, so that its quotes go if it dies
//
// It buys YES below the fair value and buys NO below its complement, post-only, so
// it needs no inventory and pays no taker fee. Pairs that come together are redeemed.
package maker
