// Package top is the terminal screen of `dx top`: every series with its results, for the selected
// one its book and its trades, the caller's orders and positions, a ticket to place and cancel orders and to redeem pairs,
// and for the operator of a cluster its members.
//
//	Run            sends events of the stream and results of calls as messages
//	Model.Update   applies a message to the model and may request calls
//	Model.View     renders the model as 80 by 18 characters or more, with more columns where it is wide
//	                and a chart where it is high
//
// Invariants:
//
//  1. Update and View have no side effects: the screen is a function of the messages.
//  2. Color carries no information: the selection, above and below the strike, bought and
//     own orders each have a sign.
//  3. A ticket sends nothing before y, sends once, and belongs to one round: it closes when the
//     round ends, and its order names the generation of the round. No text of a preview is cut.
package top
