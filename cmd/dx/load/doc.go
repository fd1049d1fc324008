// Package load is the load generator of dx bench: it sends requests to a venue on this
// machine and reports how many the venue answered and how long each took. Its requests are
// signed, and pass through the same lanes as those of any client.
//
//	Run, without a mix           placements over REST, each sent when the last is answered
//	  idle                       one connection places, and waits for its frames (frame_probe.go)
//	  load                       all connections place as fast as they can
//	  half load                  both together, the load at half the rate it reached
//	Run, with a mix              requests of several kinds over all lanes (mix.go)
//	  clients                    closed loop, or open loop at a fixed rate
//	  readers                    connections of the event lane (frame_reader.go)
//	  markets                    the markets that trade, kept up to date (markets.go)
//
// Invariants:
//
//  1. Only a venue on a loopback address is loaded.
//  2. In an open loop a latency counts from the moment the request was due. A stall of the
//     venue thus counts for every request it delays.
//  3. A rejected request counts by its code and in no percentile.
//  4. A frame is timed only if a command of this run caused it: the first frame of each seq
//     at each reader.
//
// The package reads no flags, files or environment variables, and never logs a secret.
package load
