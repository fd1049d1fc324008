// Package replica is the state that a log determines: the venue, its read model, and how far
// the log was applied. The engine, its verification, the mirror and the proofs all apply the log
// through it, so that they cannot disagree about what a group means.
//
//	Restore, Load      the state of a snapshot
//	Commands, Apply    decode and apply the next group
//	Image, Stream      write a snapshot while groups are applied
//
// Invariants:
//
//  1. Two replicas that have applied the same groups hold the same state, wherever they began.
//  2. A group whose proposal is not above the highest applied one of its node has no effect.
//  3. A command whose key is revoked takes no seq and has no effect, nor does a late or repeated
//     marked command.
//  4. A snapshot is restored only if its state has the hash that it names.
//
// A Replica has no lock. It never reads the log and never compares a checkpoint; its user does.
package replica
