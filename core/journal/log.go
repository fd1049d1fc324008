package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Log is the sequencer: the groups that it delivers, in the order of delivery, are what
// happened (docs/rules/operation.md#sequence). Its methods may be called by several
// goroutines.
type Log interface {
	// Propose adds a group. The caller sets Node, Proposal and Body, the log sets the rest.
	// The group has happened once Deliver yields it, not when Propose returns. After an
	// error nobody knows whether it happened, until the log is opened again. The caller
	// must not change Body after the call.
	Propose(g Group) error
	// Deliver yields the durable groups in order, beginning with the number from (0 means
	// 1): those on disk, then each new one, until ctx ends. If the log fails or is closed,
	// the last pair has the error. A second concurrent call yields ErrBusy.
	Deliver(ctx context.Context, from uint64) iter.Seq2[Group, error]
	// Trim allows the log to remove groups with numbers less than below, because a verified
	// snapshot covers them. The log may keep them.
	Trim(below uint64) error
	// Close closes the log. Deliver then yields ErrClosed.
	Close() error
}

var (
	// ErrLocked means that another process has the log open.
	ErrLocked = errors.New("in use by another process")
	// ErrClosed means that Close was called.
	ErrClosed = errors.New("journal: closed")
	// ErrBusy means that another call of Deliver is active.
	ErrBusy = errors.New("journal: already delivering")
	// ErrTrimmed means that the log does not have a group any more, or not yet.
	ErrTrimmed = errors.New("journal: no such group on this log")
	// ErrTooBig means that a body is longer than BodyMax. The log continues.
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
