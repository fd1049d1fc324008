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
	gap, late, fresh, err := l.apply(m)
	if err != nil {
		return err
	}
	l.client.nodes.saw(l.node, m.Seq)
	if fresh && l.opt.OnEvent != nil {
		l.opt.OnEvent(StreamEvent{Type: m.Type, Seq: m.Seq, Msg: m.Msg, Raw: m.raw})
	}
	if late > 0 && l.opt.OnLate != nil {
		l.opt.OnLate(gap, late)
	}
	if gap == 0 {
		return nil
	}
	l.snapshotRequested[gap] = true
	return l.command(ctx, "update_subscription", schemas.WSUpdate{Sid: schemas.Int(m.Sid), Action: "get_snapshot", MarketIDs: []schemas.Int{schemas.Int(gap)}})
}

// apply updates books and account from a message. gap is the market whose snapshot to
// request, or 0; late is the age of a change that was too late, or 0. fresh is false for a repeated
// event and for an unknown type.
func (l *streamConn) apply(m *serverMessage) (gap uint32, late time.Duration, fresh bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch m.Type {
	case "orderbook_snapshot":
		return 0, 0, true, l.applySnapshot(m)
	case "orderbook_delta":
		gap, late, err = l.applyDelta(m)
		return gap, late, true, err
	case "user_snapshot":
		return 0, 0, true, l.applyUserSnapshot(m)
	case "user":
		fresh, err = l.applyUserEvent(m)
		return 0, 0, fresh, err
	case "trade", "oracle", "round":
		return 0, 0, true, nil
	default:
		return 0, 0, false, nil // later versions may add types
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
