// Package arena runs agents against whole venues in virtual time, many times from seeds, and reports
// with statistics how they did (docs/guides/arena.md).
//
//	Run
//	    each seed    a venue of package server with a virtual clock
//	        sequence     what is due: index ticks, timers, the market maker, noise traders
//	        give turns   one seat after the other, until each waits
//	        wait         venue time jumps to what is due next
//	    analyze      replay the journal, read the trajectories
//	    report       figures over seeds, with intervals
//
// Invariants:
//
//  1. In step pace venue time stands still during a turn, and only one seat's requests are admitted.
//     So the same seed and the same behavior give the same commands with the same stamps.
//  2. Every part of the market draws from a stream of its own, and on integers: another seat or another
//     machine changes no draw.
//  3. Every figure of a report but those of the machine's clock is computed from the bundles, by the
//     same functions when the run ends and when it is verified.
//  4. A bundle has a manifest if and only if it is complete. It has no secret, and no hash of one.
//
// The package never changes a rule of the venue for a seat, and never corrects what an agent sends.
package arena
