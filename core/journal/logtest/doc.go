// Package logtest tests implementations of journal.Log. It has the conformance cases of the
// contract, and a replicated log in memory that does everything which the contract allows.
//
//	Run(t, storage)            every case over one implementation
//	NewCluster(seed, faults)   the log of several nodes; Open returns the Log of one
//	Unpack(t, archive)         a recorded data directory
//
// Invariants:
//
//  1. A case uses nothing but journal.Log. It holds for every implementation.
//  2. A case proposes as the engine does: a group that is not confirmed is proposed again, under
//     the same number, before the next one.
//  3. A Cluster keeps the promises of journal.Log, whatever faults it injects.
//
// Only tests import the package.
package logtest
