// Package top is the terminal screen of `dx top`: the nine series, and of the one
// selected its book, its trades, and the caller's own orders.
//
//	Run            a client's stream and reads become messages
//	Model.Update   a message changes the model; it asks for reads by commands
//	Model.View     the model as 80 by 24 characters, or more
//
// Update and View do nothing else, so that a screen is a function of the messages.
// Colour carries nothing: what is selected, above, below, bought or mine has a sign.
package top
