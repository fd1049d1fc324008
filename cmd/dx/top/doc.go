// Package top is the terminal screen of `dx top`: every series, and for the selected one
// its book, its trades, and the caller's own orders.
//
//	Run            sends events of the stream and results of reads as messages
//	Model.Update   applies a message to the model and may request reads
//	Model.View     renders the model as 80 by 24 characters or more
//
// Invariants:
//
//  1. Update and View have no side effects: the screen is a function of the messages.
//  2. Color carries no information: the selection, above and below the strike, bought and
//     own orders each have a sign.
package top
