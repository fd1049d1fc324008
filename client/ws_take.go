package client

import (
	"context"
	"errors"
	"time"

	"duplex/schemas"
)

// errGap ends a connection that lost events of the account: the next one resumes.
var errGap = errors.New("the stream has a gap")

// take folds one message in, hands it on, and asks again for what is missing.
func (l *link) take(ctx context.Context, m *received) error {
	switch m.Type {
	case "subscribed", "ok":
		delete(l.said, m.ID)
		return nil
	case "error":
		return l.refused(ctx, m)
	}
	gap, fresh, err := l.fold(m)
	if err != nil {
		return err
	}
	if fresh && l.opt.On != nil {
		l.opt.On(StreamEvent{Type: m.Type, Seq: m.Seq, Msg: m.Msg, Raw: m.raw})
	}
	if gap == 0 {
		return nil
	}
	l.asked[gap] = true
	return l.command(ctx, "update_subscription", schemas.WSUpdate{Sid: schemas.Int(m.Sid), Action: "get_snapshot", MarketIDs: []schemas.Int{schemas.Int(gap)}})
}

// fold keeps what a message tells. gap is the market whose snapshot has to be asked
// for; fresh is false of what came before, or is of no kind that is known.
func (l *link) fold(m *received) (gap uint32, fresh bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch m.Type {
	case "orderbook_snapshot":
		return 0, true, l.snapshot(m)
	case "orderbook_delta":
		gap, err = l.delta(m)
		return gap, true, err
	case "user_snapshot":
		return 0, true, l.userSnapshot(m)
	case "user":
		fresh, err = l.userEvent(m)
		return 0, fresh, err
	case "trade", "oracle", "round":
		return 0, true, nil
	default:
		return 0, false, nil // later versions may add some
	}
}

// Refused is a command of the stream that the venue did not take.
type Refused struct{ schemas.WSError }

func (r *Refused) Error() string { return "the stream: " + r.Name }

// refused sends what was rate limited again when it may; any other refusal is final.
func (l *link) refused(ctx context.Context, m *received) error {
	r := &Refused{}
	if err := decode(m.Msg, &r.WSError); err != nil {
		return err
	}
	text, known := l.said[m.ID]
	if r.RetryAfterMs == nil || !known {
		return r
	}
	l.repeat(ctx, text, time.Duration(*r.RetryAfterMs)*time.Millisecond)
	return nil
}
