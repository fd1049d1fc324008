// Package history asks whether the venue, seen from outside, behaves as if one thing
// happened after the other. Callers use REST, the agent lane and the event lane at
// once, some giving up before they are answered; what each asked and was told, with
// the times, is a history. Porcupine searches for an order of it that a plain
// sequential venue (model_test.go) could have gone through: there must be one.
//
// Sequence numbers must tell the same order: every write is above all before it, and a
// read is as of the last of them. That asks more than that there is an order, and it
// leaves the search little to try.
//
// In some the sequencer goes down again and again with requests in flight, and starts
// on what it has left.
//
//	go test ./lanes/history                      a few histories
//	go test ./lanes/history -histories 100       over 10,000 operations
package history
