// Package hostile is for the tests of those who do not mean well: a whole venue on
// loopback, with the server that dx serve makes, and tables of what a stranger, a
// broken client or another account may send to it by REST, the agent lane and the
// socket.
//
// Each case names the answer it is owed. After each the venue must be unharmed: an
// ordinary client's signed read on a connection of its own succeeds, and where nothing
// may change, seq and state hash are what they were.
package hostile
