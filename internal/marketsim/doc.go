// Package marketsim generates a market without people: the quotes of a house maker, and the orders
// of noise traders. It only computes; a driver reads the venue, waits, and sends the orders.
//
//	model.Observe(price, second)                  each second, from any index
//	model.Fair(strike, now, close, window)        P(YES), and how far it moves in a second
//	  → maker.Ladder(fair, left, net, grid)       the quotes wanted in one market
//	    → ladder.Requote(level, rests)            what a level should have, given what rests of it
//	noise := NewNoise(seed, name, options)
//	  for wait, intent := noise.Next()            wait, then: intent.Order(markets) → an order
//
// dx dev drives it with wall time over REST (cmd/dx/maker, cmd/dx/noise). A driver in virtual time
// calls the same functions at the times of its own clock; then a seed determines every order.
// The models of arena compute with integers alone: NormalPips and Sqrt.
//
// Invariants:
//
//  1. Each generator draws from a stream of its own, derived from the seed and its name (Stream).
//     Adding a generator does not change the numbers of another.
//  2. A generator's draws do not depend on the market: an arrival of a noise trader uses the same
//     number of them whatever it does with them.
//  3. Every product of two floats is rounded before it is added to (mul), and only functions of
//     package math whose results are exact are used. So amd64 and arm64 compute the same integers.
//  4. A ladder never crosses itself, and each of its ticks is legal on its grid.
//
// The package has no clock and no goroutine. It never submits a command.
package marketsim
