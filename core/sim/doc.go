// Package sim tests the venue by simulation: from a seed it runs the real engine on the real journal through
// crashes, full disks and overlapping requests, and compares the venue with a second implementation of the
// rules. The same seed gives the same run.
//
// The engine and the journal run in the virtual time of a synctest bubble, and the journal writes real files
// in a directory in memory. The seed decides everything else: callers that give up, repeat requests or
// overtake each other, operators, outages of feeds, a clock that is set back and forth, slow and full disks.
// At some step of the journal it injects a fault: the power is cut and some of the sectors that were not
// synced are lost, the process is killed, or a sync fails. Then the venue starts on the files that are left.
//
//	workload   what callers, operators and feeds send      disk, image   the faults, and the files they leave
//	model      what each command must do                   agree         compares venue and model
//	barrier    when the sequencer continues                trace         everything that happened, hashed
//	observe    what was applied, compared with the model   call          what callers learned, compared with the log
//	lanes      requests instead of commands; lanes/sim implements it
//
// The checks:
//
//  1. Each command has the outcome that the model gives, and every balance, position, book and round is the
//     model's.
//  2. After a crash the log has every answered command, and each other group completely or not at all.
//  3. A refused command is not in the log.
//  4. A replay of the log gives the same state hash.
//  5. The invariant holds, in the venue and in the model.
//
// How to run it:
//
//	go test ./core/sim                                   a few seeds, some thousand commands
//	go test ./core/sim -run Seeds -seeds 1000            more than 10,000 crashes
//	go test ./core/sim -run ModelAgrees -commands 10000000
//	go test ./core/sim -run Seeds -seed 17               one run, with its trace
package sim
