package journal

import (
	"context"
	"errors"
	"iter"
)

// Log is the sequencer: what it delivers, in the order it delivers it, is what
// happened. Any engine that keeps these four verbs can stand behind it.
type Log interface {
	// Propose hands a group over; Node, Proposal and Body are the caller's, the
	// rest is given by the log. It returns when the log has taken the group, which
	// is decided only when Deliver yields it. After an error its fate is unknown
	// until the log has been opened again. The Body belongs to the log from here on.
	Propose(g Group) error
	// Deliver yields durable groups in the one order from number from on (0 is 1):
	// first what is on disk, then live, until ctx ends. When the log fails, the
	// last pair carries the error. One consumer at a time, else ErrBusy.
	Deliver(ctx context.Context, from uint64) iter.Seq2[Group, error]
	// Trim tells that no group below below is needed any more, because a verified
	// snapshot covers them. What is kept beyond that is the log's affair.
	Trim(below uint64) error
	// Close ends Deliver with ErrClosed.
	Close() error
}

var (
	// ErrLocked: another process has the log open.
	ErrLocked = errors.New("in use by another process")
	// ErrClosed: the log was closed by its owner.
	ErrClosed = errors.New("journal: closed")
	// ErrBusy: a second consumer of Deliver.
	ErrBusy = errors.New("journal: already delivering")
	// ErrTrimmed: the groups asked for are no longer, or not yet, on this log.
	ErrTrimmed = errors.New("journal: no such group on this log")
	// ErrTooBig: a body longer than BodyMax. The log goes on.
	ErrTooBig = errors.New("journal: group is too big")
)
