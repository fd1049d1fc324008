package engine

import "duplex/core"

// revocation is a RevokeKey that is sealed. Engine.Key still returns the key until the group
// is applied.
type revocation struct {
	user core.UserID
	key  string          // "" means all keys of the user
	done <-chan struct{} // closed when the group is complete
}

// dropRevoked removes from a sealed group each command whose key is revoked by an earlier
// command of this group or of a group before it. The signature of such a command was
// verified while the key was still valid (docs/rules/accounts.md#revocation).
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

// revoked reports whether k is revoked, or will be by a command that is already sealed.
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
