// Package cluster is the log of several machines: etcd's server in this process, which three or five
// members run, and an archive beside it. Consensus, election and membership are etcd's.
//
//	Open        start etcd; read the configuration that the members agree on, or write it; compare it
//	            with the options; get a snapshot from another member if this one is new  (start.go)
//	OpenLog     open the archive; get from the other members what etcd has forgotten;    (catch_up.go)
//	            then
//
//	Propose ── put ──> etcd ── watch ──> pump ── Append ──> archive ──> Deliver, Tail    (log.go)
//
//	Repair      replace a damaged archive or snapshot from another member                (repair.go)
//	Members     what the state of this member derives from: voters, leader, contact, clock    (members.go)
//	follow port status, clock, snapshot and log, for the other nodes                     (follow.go)
//
// Invariants:
//
//  1. The number of a group is the base of the cluster plus the version of etcd's key "log", so
//     there are no gaps and every member has the same order.
//  2. A group is delivered only after its CRC, its cluster, its number and its chain are verified.
//     Anything else ends the log with a *journal.Damage.
//  3. A proposal is put again with the same bytes. No proposal of an earlier run has the number of a
//     new one: the life is stored in the file CLUSTER before anything is proposed in it.
//  4. etcd forgets a group only after a majority of the archives has synced it, and after every member that is
//     up has; members that are starting do not count.
//  5. A leader counts as reached only if a majority has confirmed it after the question was sent.
//
// The package never repairs etcd's files, never writes to etcd but by its own keys, and opens no port
// for etcd's clients.
package cluster
