package engine

import "duplex/core"

// revocation is one that was sealed. Until its group is applied the key still looks
// sound to whoever asks Engine.Key.
type revocation struct {
	user core.UserID
	key  string // "" is all of the user's
	over <-chan struct{}
}

// screen takes out of a sealed group what comes behind the revocation of the key it
// was sent with, in this group or one before it: what was proved in time may still
// be late (contract operator, Accounts service).
func (e *Engine) screen(g *group) {
	for len(e.revoking) > 0 && closed(e.revoking[0].over) {
		e.revoking = e.revoking[1:]
	}
	kept := g.order[:0]
	for _, r := range g.order {
		if c, ok := r.cmd.(*core.RevokeKey); ok {
			e.revoking = append(e.revoking, revocation{c.User, c.Key, g.done})
		}
		if r.key != nil && e.revoked(r.key) {
			r.err = ErrRevoked
			r.state.Store(screened)
			continue
		}
		kept = append(kept, r)
	}
	g.order = kept
}

func (e *Engine) revoked(k *core.Key) bool {
	for _, x := range e.revoking {
		if x.user == k.User && (x.key == "" || x.key == k.ID) {
			return true
		}
	}
	now := e.Key(k.ID)
	return now == nil || now.Revoked
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
