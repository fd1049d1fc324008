// Package hostile holds tests of malicious and broken clients. It runs a venue with all
// lanes on loopback, behind the HTTP server of dx serve, and sends it malformed, forged and
// slow requests over REST, the agent lane and the WebSocket.
//
// Each case names the expected response. After each case an ordinary client's signed read on
// its own connection must succeed. If the case must change nothing, the seq and the state
// hash must be the same as before.
//
// The package has no code outside its tests.
package hostile
