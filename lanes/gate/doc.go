// Package gate is the one door: every request of every lane passes it.
//
//	Edge          request id, panics, body cap, Authenticate; around a lane's handler
//	Authenticate  three headers, window, signature over the raw target and body
//	Run           a write's signature is spent, where the venue is set so →
//	              Admit (scope, one token) → decode → the other tokens → min_seq →
//	              a place among those in hand, where they are bounded → Do
//
// Listen's connections see to what net/http does not tell (smuggle.go), and spare it
// what it does for every request and almost none needs (patience.go).
//
// The order is that of contract core, Order of checks. What a lane adds is how a
// call is read and how its answer is written, never whether it may happen.
package gate
