package ws

import (
	"context"
	"errors"
	"slices"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/schemas"
	"duplex/tools"
)

// cancelOnDisconnect is the one command that changes the venue. It costs a cancel token, so that reads cannot keep
// an account from it.
const cancelOnDisconnect = "cancel_on_disconnect"

// commandError is the name of a wscode.
type commandError string

func (r commandError) Error() string { return string(r) }

// handleCommand runs one client message and answers it. Every message costs a read token,
// even a malformed one (docs/rules/events.md#commands). The caller has checked that the
// connection's key is not revoked.
func (c *conn) handleCommand(text []byte) {
	cmd, fault := schemas.DecodeWSCommand(text)
	bucket := tools.Read
	if cmd.Cmd == cancelOnDisconnect {
		bucket = tools.Cancel
	}
	err := c.lane.gate.Charge(c.call, bucket, 1)
	if err == nil && fault != nil {
		err = fault
	}
	if err == nil {
		err = c.run(&cmd)
	}
	if err != nil {
		c.answer(cmd.ID, "error", errorOf(err))
	}
}

func errorOf(err error) schemas.WSError {
	var name commandError
	var fault *schemas.Fault
	switch {
	case errors.As(err, &name):
		return schemas.WSErrorOf(string(name))
	case errors.As(err, &fault):
		return schemas.WSErrorOf(fault.Code)
	default:
		return schemas.WSErrorOfREST(tools.ErrorOf(err))
	}
}

func (c *conn) answer(id schemas.Int, typ string, msg any) {
	c.send(replyFrame(&schemas.WSAnswer{ID: id, Type: typ, Msg: msg}))
}

func (c *conn) run(cmd *schemas.WSCommand) error {
	switch cmd.Cmd {
	case "subscribe":
		return decodeParams(cmd, c.subscribe)
	case "unsubscribe":
		return decodeParams(cmd, c.unsubscribe)
	case "update_subscription":
		return decodeParams(cmd, c.update)
	case "list_subscriptions":
		return decodeParams(cmd, c.list)
	case cancelOnDisconnect:
		return decodeParams(cmd, c.cancelOnDisconnect)
	default:
		return commandError("unknown_command")
	}
}

// decodeParams decodes a command's params and runs it. An unknown member is an error.
func decodeParams[P any](cmd *schemas.WSCommand, do func(schemas.Int, *P) error) error {
	in := new(P)
	if f := schemas.DecodeOptional(cmd.Params, in); f != nil {
		return f
	}
	return do(cmd.ID, in)
}

// subscribe adds a subscription for each channel, or none on an error
// (docs/rules/events.md#subscribe).
func (c *conn) subscribe(id schemas.Int, p *schemas.WSSubscribe) error {
	if err := c.lane.waitSeq(p.MinSeq, p.SinceSeq); err != nil {
		return err
	}
	var start *userStart
	if slices.Contains(p.Channels, user.String()) {
		start = c.lane.userStart(c.call.Key.User, p.SinceSeq)
	}
	l := c.lane
	l.lockCaughtUp()
	defer l.mu.Unlock()
	if err := l.checkSubscribe(c, p); err != nil {
		return err
	}
	for _, name := range p.Channels {
		c.lastSid++
		s := newSub(c, c.lastSid, channelOf(name), marketSetOf(p.MarketIDs))
		c.subs = append(c.subs, s)
		msg := schemas.WSSubscribed{Channel: name, Sid: int64(s.sid)}
		if s.channel == user {
			msg.Resumed = schemas.Ptr(start.resumed)
		}
		c.answer(id, "subscribed", msg)
		if s.channel == user {
			l.subscribeUser(s, start)
			continue
		}
		l.topics.change(s, s.markets, with)
		l.snapshotSchedule.add(s)
		l.sendFirstSnapshots(s, s.markets)
	}
	return nil
}

// waitSeq waits until the venue has applied minSeq (docs/rules/events.md#subscribe). On a node of
// several it also waits for since, which another node may have sent, but a seq that does not come is
// no error: the caller then gets a snapshot.
func (l *Lane) waitSeq(minSeq schemas.U64, since *schemas.U64) error {
	_, several := l.engine.MemberStatus()
	if minSeq == 0 && (since == nil || !several) {
		return nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.gate.Budget())
	defer cancel()
	if err := l.engine.WaitApplied(ctx, uint64(minSeq)); err != nil {
		return err
	}
	if since != nil && several {
		_ = l.engine.WaitApplied(ctx, uint64(*since)) // else a snapshot
	}
	return nil
}

// checkSubscribe checks a subscribe against the markets and the connection's subscriptions.
func (l *Lane) checkSubscribe(c *conn, p *schemas.WSSubscribe) error {
	if err := l.checkMarkets(p.MarketIDs); err != nil {
		return err
	}
	markets := marketSetOf(p.MarketIDs)
	for i, name := range p.Channels {
		if slices.Contains(p.Channels[:i], name) || c.overlaps(channelOf(name), markets, nil) {
			return commandError("already_subscribed")
		}
	}
	if len(c.subs)+len(p.Channels) > maxSubscriptions {
		return commandError("too_many_subscriptions")
	}
	return nil
}

// checkMarkets returns an error unless every market has opened at least once.
func (l *Lane) checkMarkets(ids []schemas.Int) error {
	for _, id := range ids {
		if m := id.MarketID(); m == 0 || m > venue.Slots || l.books[m] == nil {
			return commandError("unknown_market")
		}
	}
	return nil
}

// overlaps reports whether a subscription other than except already carries the channel for
// any of the markets.
func (c *conn) overlaps(ch channel, markets marketSet, except *sub) bool {
	return slices.ContainsFunc(c.subs, func(s *sub) bool { return s != except && s.overlaps(ch, markets) })
}

// sendFirstSnapshots queues a snapshot per market if the subscription carries books.
func (l *Lane) sendFirstSnapshots(s *sub, markets marketSet) {
	if !s.channel.book() {
		return
	}
	s.snapshotSince = time.Now()
	s.conn.mu.Lock()
	s.answeredAt = l.clock.Load()
	s.conn.mu.Unlock()
	for m := range l.openMarkets(s, markets).each() {
		s.send(l.books[m].frameAsOf(l.last))
	}
}

// openMarkets returns the markets in the set that have opened. If the subscription covers
// all markets, it returns every market that has opened.
func (l *Lane) openMarkets(s *sub, markets marketSet) (out marketSet) {
	for m := core.MarketID(1); m <= venue.Slots; m++ {
		if l.books[m] != nil && (s.all || markets.has(m)) {
			out |= marketBit(m)
		}
	}
	return out
}

func (c *conn) find(sid schemas.Int) (*sub, error) {
	for _, s := range c.subs {
		if schemas.Int(s.sid) == sid {
			return s, nil
		}
	}
	return nil, commandError("unknown_sid")
}

func (c *conn) unsubscribe(id schemas.Int, p *schemas.WSUnsubscribe) error {
	l := c.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	out := schemas.WSUnsubscribed{}
	for i, sid := range p.Sids {
		if _, err := c.find(sid); err != nil || slices.Contains(p.Sids[:i], sid) {
			return commandError("unknown_sid")
		}
		out.Sids = append(out.Sids, int64(sid))
	}
	for _, sid := range p.Sids {
		s, _ := c.find(sid)
		l.remove(s)
		c.subs = slices.DeleteFunc(c.subs, func(x *sub) bool { return x == s })
	}
	c.answer(id, "unsubscribed", out)
	return nil
}

func (c *conn) list(id schemas.Int, _ *schemas.WSListSubscriptions) error {
	l := c.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	out := schemas.WSSubscriptions{}
	for _, s := range c.subs {
		out.Subscriptions = append(out.Subscriptions, s.toWire())
	}
	c.answer(id, "ok", out)
	return nil
}
