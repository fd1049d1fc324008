// Package sim runs the real engine on the real log against simulated callers, operators,
// feeds, clock and disk, and checks it with a model. One seed decides everything, so a
// failure can be repeated.
//
// A run takes place in the virtual time of a synctest bubble; the log writes real files to a
// directory in memory. Callers time out, send again and overtake each other; feeds fall
// silent; the clock is set back and forth; the disk is slow or full. At a random step of the
// log a fault strikes: a power cut, after which some, all or none of the sectors that were
// not synced are on disk; a killed process; or a failed sync. Then the venue starts on what
// is left.
//
//	sim       a run: steps, virtual time, restarts, snapshots
//	workload  the commands of callers, owners, operators and feeds
//	call      calls, what their callers know of them, and counts of commands
//	lanes     the interface for runs through the lanes: lanes/sim implements it
//	stepper   blocks the sequencer until the simulation is ready
//	disk      faults, and the files that a fault leaves
//	agree     compares venue and model: outcomes of commands, and state
//	trace     a line for each thing that happens, hashed
//	model     the rules written a second time (core/sim/model)
//
// Invariants that a run checks:
//
//  1. The outcome of each command is the model's.
//  2. After a crash each command with a response is in the log. Each group without one is in
//     the log as a whole or not at all. No shed command is in the log.
//  3. After a crash a replay of the log has the same state hash, all money adds up, and each
//     balance, position, book and round is the model's.
//  4. Two runs of a seed have the same trace.
//
// The package never uses the wall clock, a random source other than the seed, or the
// scheduling of goroutines to decide anything.
//
// Usage:
//
//	go test ./core/sim                                   a few seeds, some thousand commands
//	go test ./core/sim -run Seeds -seeds 1000            over 10,000 crashes
//	go test ./core/sim -run ModelAgrees -commands 10000000
//	go test ./core/sim -run MandateBounds -commands 1000000
//	go test ./core/sim -run Seeds -seed 17               one run, with its trace
package sim
