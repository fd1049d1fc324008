package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Log is the sequencer: the groups that it delivers, in the order of delivery, are what
// happened (docs/rules/operation.md#sequence). Its methods may be called by several
// goroutines. On one machine a Log is a File. On several machines each opens its own Log, and
// all of these deliver the same groups. Package logtest has the conformance tests of this
// contract.
//
// A group has happened once it is delivered, not when Propose returns. Its fields come from
// three places:
//
//	the caller of Propose    Node, Proposal, Body
//	the log, at Propose      the time that becomes the stamp
//	the log, on delivery     Number, Stamp, Chain, as Position.Next derives them
//
// Deliveries keep these promises:
//
//  1. A delivered group is durable: no crash that the log is built to survive takes it back.
//  2. Numbers rise by one without a gap, stamps never fall, and each chain continues the one
//     before. A log that cannot verify this delivers an error instead of the group.
//  3. Every Log of the same log delivers the same group under the same number, in every run.
//  4. A proposal may be delivered several times, under several numbers, with the same Body: it
//     was proposed again, or the log itself repeated it. The first delivery counts, and the
//     caller drops the later ones. They may come at any time, also after later proposals and
//     after a restart of the node.
//  5. If the caller proposes a group only after Propose has returned nil for the one before it,
//     or after that one was delivered, the first deliveries of a node's groups have the order of
//     the proposals.
type Log interface {
	// Propose adds a group. The caller must not change Body after the call. There are these
	// outcomes:
	//
	//	nil              The group is durable and will be delivered.
	//	ErrUnconfirmed   The group may have happened, may still happen, or may be lost. The log
	//	                 goes on. The caller may propose the same group again, under the same
	//	                 Proposal. It proposes no other group before this one is delivered or
	//	                 Propose has returned nil for it, because promise 5 would not hold.
	//	ErrTooBig        The group has not happened and will not. The log goes on.
	//	any other error  The log accepts nothing more, and Propose returns an error from now on.
	//	                 The group may have happened: the log shows it when it is opened again.
	//
	// When ctx ends, Propose stops waiting for other machines and returns ErrUnconfirmed. It
	// does not interrupt a write to the disk of this machine.
	Propose(ctx context.Context, g Group) error
	// NewLife begins a new life of the node and returns its number, which is greater than that
	// of every earlier life of this node, also of those that proposed nothing. The log has
	// stored it durably before NewLife returns. A node that numbers its proposals by life and
	// proposal never uses a number twice, even if it does not know what it proposed before a
	// crash. NewLife returns 0 if the log needs no lives: no proposal of an earlier run can be
	// delivered after the groups up to Head. Errors: that of ctx, or a final one.
	NewLife(ctx context.Context) (uint32, error)
	// Head returns the number of a group that is not before any group that was delivered
	// anywhere before the log was opened. A start that has delivered it lacks nothing that was
	// answered earlier.
	Head() uint64
	// Deliver yields the durable groups in order, beginning with the number from (0 means
	// 1): the old ones, then each new one, until ctx ends. If the log fails or is closed, the
	// last pair has the error: ErrBusy if another call is active, ErrTrimmed if the log does
	// not have the group from, ErrClosed, a *Damage, or the reason why the log failed.
	Deliver(ctx context.Context, from uint64) iter.Seq2[Group, error]
	// Trim allows the log to remove groups with numbers less than below, because a verified
	// snapshot covers them. The log may keep them.
	Trim(below uint64) error
	// Close closes the log. Deliver then yields ErrClosed, and Propose returns it. A second
	// Close is a no-op.
	Close() error
}

var (
	// ErrLocked means that another process has the log open, or holds the lock of a folder.
	ErrLocked = errors.New("in use by another process")
	// ErrClosed means that Close was called.
	ErrClosed = errors.New("journal: closed")
	// ErrBusy means that another call of Deliver is active.
	ErrBusy = errors.New("journal: already delivering")
	// ErrTrimmed means that the log does not have a group any more, or not yet.
	ErrTrimmed = errors.New("journal: no such group on this log")
	// ErrUnconfirmed means that the log goes on without knowing whether a proposed group will
	// be delivered. The caller may propose the same group again.
	ErrUnconfirmed = errors.New("journal: the group is not confirmed")
	// ErrTooBig means that a body is longer than the log takes, at most BodyMax. The log
	// continues.
	ErrTooBig = errors.New("journal: group is too big")
)

// Damage is the reason why a log or a snapshot is refused. No file was changed
// (docs/rules/operation.md#journal).
type Damage struct {
	File   string
	Offset int64  // of the damaged part, in bytes
	Group  uint64 // number of the group expected there; 0 if none
	Err    error
}

func (d *Damage) Error() string {
	if d.Group == 0 {
		return fmt.Sprintf("journal: damaged: %s at byte %d: %v", d.File, d.Offset, d.Err)
	}
	return fmt.Sprintf("journal: damaged: %s at byte %d, group %d: %v", d.File, d.Offset, d.Group, d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

// Torn is the rest of a write that a crash interrupted. It holds no group that was ever
// delivered. Open cuts it; Scan and Check, which change nothing, yield it last.
type Torn struct {
	File   string
	Offset int64  // of its first byte in File
	Bytes  int64  // its length
	Group  uint64 // the number that its group would have had
}

func (t *Torn) Error() string {
	return fmt.Sprintf("journal: torn tail: %s at byte %d, %d bytes of group %d", t.File, t.Offset, t.Bytes, t.Group)
}
