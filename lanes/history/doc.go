// Package history asks whether the venue, seen from outside, behaves as if one thing
// happened after the other. Callers use REST, the agent lane and the event lane at
// once, some giving up before they are answered; what each asked and was told, with
// the times, is a history. Porcupine searches for an order of it that a plain
// sequential venue (model_test.go) could have gone through: there must be one.
//
// Beside that, sequence numbers must not lie: a command that was answered before
// another was sent has the lower one, and a read says no lower as_of_seq than that of
// any write that was answered before it was asked.
//
// In some the sequencer goes down again and again with requests in flight, and starts
// on what it has left.
//
//	go test ./lanes/history                      a few histories
//	go test ./lanes/history -histories 100       over 10,000 operations
package history
