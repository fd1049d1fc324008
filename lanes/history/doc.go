// Package history tests that the venue is linearizable as its clients see it. The package has
// no code outside its tests.
//
// User 0 is an owner and user 1 an agent, whose owner moves money to it and halts it meanwhile.
// Both quote a side of the market beside their other orders. Two operators approve the same deposits to user 1 and
// book their own, of which some are too large.
// Clients call REST, the agent lane and the event lane concurrently, and some give up before
// they are answered. The requests and answers with their times are a history. Porcupine
// searches for an order of the operations that a sequential model (model_test.go) allows.
//
// Invariants of every history:
//
//  1. Such an order exists.
//
//  2. It agrees with the sequence numbers: each write has a higher seq than every operation
//     before it, and each read is as of the last write before it.
//
//  3. Both hold across crashes of the sequencer with requests in flight.
//
//     go test ./lanes/history                      a few histories
//     go test ./lanes/history -histories 100       over 10,000 operations
package history
