package engine

import "duplex/core"

// revocation is one that was sealed. Until its group is applied the key still looks
// sound to whoever asks Engine.Key.
type revocation struct {
	user core.UserID
	key  string // "" is all of the user's
	done <-chan struct{}
}

// dropRevoked takes out of a sealed group what comes behind the revocation of the key it
// was sent with, in this group or one before it: a command whose signature was
// verified in time may still be late (docs/rules/accounts.md#revocation).
func (e *Engine) dropRevoked(g *group) {
	for len(e.revoking) > 0 && isClosed(e.revoking[0].done) {
		e.revoking = e.revoking[1:]
	}
	kept := g.order[:0]
	for _, r := range g.order {
		if c, ok := r.cmd.(*core.RevokeKey); ok {
			e.revoking = append(e.revoking, revocation{c.User, c.Key, g.done})
		}
		if r.key != nil && e.revoked(r.key) {
			r.err = ErrRevoked
			r.state.Store(dropped)
			continue
		}
		kept = append(kept, r)
	}
	g.order = kept
}

// revoked tells whether a command that was sent with k comes behind its revocation.
func (e *Engine) revoked(k *core.Key) bool {
	for _, x := range e.revoking {
		if x.user == k.User && (x.key == "" || x.key == k.ID) {
			return true
		}
	}
	return e.Key(k.ID) == nil
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
