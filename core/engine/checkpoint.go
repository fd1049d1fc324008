package engine

import (
	"time"

	"duplex/core"
)

// checkpoint is the state hash at a seq, which a later Checkpoint command carries
// (docs/rules/operation.md#determinism). In a log of several machines it carries the seq alone.
type checkpoint struct {
	seq  uint64
	hash [32]byte
	at   int64 // stamp of seq, ns
}

// pendingHash is a state hash that is being computed.
type pendingHash struct {
	done chan struct{} // closed when hash and took are set
	hash [32]byte
	took time.Duration
}

func (h *pendingHash) wait() [32]byte {
	<-h.done
	return h.hash
}

// checkpoint applies a Checkpoint: it compares the hash that the command carries with the one
// computed here, and begins to hash the current state for the next checkpoint, or for the Attest
// of this one. It hashes an image in the background, because hashing takes too long to hold up
// commands.
func (e *Engine) checkpoint(c *core.Checkpoint) error {
	d := &e.replica.State
	if c.Hash == ([32]byte{}) && c.Seq != d.Seq {
		return nil // another member's Checkpoint came first
	}
	if e.hashing != nil {
		d.Hash = e.hashing.wait()
		e.backlog.Applying += e.hashing.took // a replay hashes as well
	}
	if err := d.Compare(c); err != nil {
		return err
	}
	image, err := e.replica.Venue.Image()
	if err != nil {
		return err
	}
	d.Seq, d.CheckedAt = e.replica.Venue.Now().Seq, e.replica.Venue.Now().Ts
	h, next := &pendingHash{done: make(chan struct{})}, checkpoint{seq: d.Seq, at: d.CheckedAt}
	own := core.Attest{Seq: d.Seq, Chain: e.replica.At.Chain}
	if e.attestations != nil {
		if err := e.attestations.begin(own); err != nil {
			return err
		}
	}
	e.hashing = h
	compute := func() {
		defer close(h.done)
		begun := time.Now()
		defer func() { h.took = time.Since(begun) }()
		var err error
		if h.hash, err = image.Hash(); err != nil {
			e.fail(err)
			return
		}
		next.hash, own.Hash = h.hash, h.hash
		e.nextCheckpoint.Store(&next)
		if e.attestations != nil {
			if err := e.attest(own); err != nil {
				e.fail(err)
			}
		}
	}
	if isClosed(e.ready) {
		go compute()
	} else { // a replay keeps nobody waiting
		compute()
	}
	return nil
}
