package client

import (
	"context"
	"errors"
	"time"

	"duplex/schemas"
)

// errGap ends a connection that missed events of the account. The next one resumes.
var errGap = errors.New("the stream has a gap")

// handle applies one message, calls OnEvent, and requests a snapshot after a gap.
func (l *streamConn) handle(ctx context.Context, m *serverMessage) error {
	switch m.Type {
	case "subscribed", "ok":
		delete(l.pending, m.ID)
		return nil
	case "error":
		return l.onCommandError(ctx, m)
	}
	done, err := l.apply(ctx, m)
	if err != nil {
		return err
	}
	l.client.nodes.saw(l.node, m.Seq)
	if done.fresh && l.opt.OnEvent != nil {
		l.opt.OnEvent(StreamEvent{Type: m.Type, Seq: m.Seq, Msg: m.Msg, Raw: m.raw})
	}
	if done.late > 0 && l.opt.OnLate != nil {
		l.opt.OnLate(done.gap, done.late)
	}
	if done.gap == 0 {
		return nil
	}
	l.snapshotRequested[done.gap] = true
	return l.command(ctx, "update_subscription", schemas.WSUpdate{Sid: schemas.Int(m.Sid), Action: "get_snapshot", MarketIDs: []schemas.Int{schemas.Int(done.gap)}})
}

// applied is what a message did.
type applied struct {
	gap   uint32        // the market whose snapshot to request, or 0
	late  time.Duration // the age of a change that made its book unknown, or 0
	fresh bool          // neither a repeated event nor of an unknown type
}

// apply updates books and account from a message.
func (l *streamConn) apply(ctx context.Context, m *serverMessage) (done applied, err error) {
	var delta schemas.WSBookDelta
	var age time.Duration
	if m.Type == "orderbook_delta" { // may ask the venue, while others read the books
		if err := decode(m.Msg, &delta); err != nil {
			return done, err
		}
		age = l.age(ctx, delta.Ts)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch m.Type {
	case "orderbook_snapshot":
		return applied{fresh: true}, l.applySnapshot(m)
	case "orderbook_delta":
		return l.applyDelta(m, &delta, age), nil
	case "user_snapshot":
		return applied{fresh: true}, l.applyUserSnapshot(m)
	case "user":
		done.fresh, err = l.applyUserEvent(m)
		return done, err
	case "trade", "oracle", "round", "draining":
		return applied{fresh: true}, nil
	default:
		return applied{}, nil // later versions may add types
	}
}

// CommandError is the venue's error for a command of the stream.
type CommandError struct{ schemas.WSError }

func (r *CommandError) Error() string { return "stream command: " + r.Name }

// onCommandError resends a rate-limited command later. Any other error is final.
func (l *streamConn) onCommandError(ctx context.Context, m *serverMessage) error {
	r := &CommandError{}
	if err := decode(m.Msg, &r.WSError); err != nil {
		return err
	}
	text, known := l.pending[m.ID]
	if r.RetryAfterMs == nil || !known {
		return r
	}
	l.resendAfter(ctx, text, time.Duration(*r.RetryAfterMs)*time.Millisecond)
	return nil
}
