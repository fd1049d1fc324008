package ws

import (
	"errors"
	"slices"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/schemas"
	"duplex/tools"
)

// refusal is the name of a wscode.
type refusal string

func (r refusal) Error() string { return string(r) }

// command answers one message. Each costs a read token, also one that cannot be read
// (contract ws, Commands). One of a key that was revoked is not heard: the pump may be
// yet to close the connection, and whoever revoked it has been answered.
func (c *conn) command(text []byte) {
	if k := c.lane.engine.Key(c.call.Key.ID); k != nil && k.Revoked {
		c.shut(keyRevoked)
		return
	}
	cmd, fault := schemas.ReadWSCommand(text)
	err := c.lane.gate.Pay(c.call, tools.Read, 1)
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
	var name refusal
	var fault *schemas.Fault
	switch {
	case errors.As(err, &name):
		return schemas.WSErrorOf(string(name))
	case errors.As(err, &fault):
		return schemas.WSErrorOf(fault.Code)
	default:
		return schemas.WSErrorFrom(tools.ErrorOf(err))
	}
}

func (c *conn) answer(id schemas.Int, typ string, msg any) {
	c.send(reply(&schemas.WSAnswer{ID: id, Type: typ, Msg: msg}))
}

func (c *conn) run(cmd *schemas.WSCommand) error {
	switch cmd.Cmd {
	case "subscribe":
		return with(cmd, c.subscribe)
	case "unsubscribe":
		return with(cmd, c.unsubscribe)
	case "update_subscription":
		return with(cmd, c.update)
	case "list_subscriptions":
		return with(cmd, c.list)
	default:
		return refusal("unknown_command")
	}
}

// with decodes a command's params, as closed as REST.
func with[P any](cmd *schemas.WSCommand, do func(schemas.Int, *P) error) error {
	in := new(P)
	if f := schemas.DecodeOptional(cmd.Params, in); f != nil {
		return f
	}
	return do(cmd.ID, in)
}

// subscribe adds a subscription for each channel, or none.
func (c *conn) subscribe(id schemas.Int, p *schemas.WSSubscribe) error {
	var start *opening
	if slices.Contains(p.Channels, user.String()) {
		start = c.lane.opening(c.call.Key.User, p.SinceSeq)
	}
	l := c.lane
	l.abreast()
	defer l.mu.Unlock()
	if err := l.may(c, p); err != nil {
		return err
	}
	for _, name := range p.Channels {
		c.sids++
		s := newSub(c, c.sids, channelOf(name), slotsOf(p.MarketIDs))
		c.subs = append(c.subs, s)
		msg := schemas.WSSubscribed{Channel: name, Sid: int64(s.sid)}
		if s.channel == user {
			msg.Resumed = schemas.Of(start.resumed)
		}
		c.answer(id, "subscribed", msg)
		if s.channel == user {
			l.join(s, start)
			continue
		}
		l.topics.add(s)
		l.phase.add(s)
		l.first(s, s.markets)
	}
	return nil
}

// may checks a subscribe against what there is.
func (l *Lane) may(c *conn, p *schemas.WSSubscribe) error {
	if err := l.known(p.MarketIDs); err != nil {
		return err
	}
	markets := slotsOf(p.MarketIDs)
	for i, name := range p.Channels {
		if slices.Contains(p.Channels[:i], name) || c.carries(channelOf(name), markets, nil) {
			return refusal("already_subscribed")
		}
	}
	if len(c.subs)+len(p.Channels) > subsMax {
		return refusal("too_many_subscriptions")
	}
	return nil
}

// known wants markets that have opened.
func (l *Lane) known(ids []schemas.Int) error {
	for _, id := range ids {
		if m := id.Slot(); m == 0 || m > venue.Slots || l.books[m] == nil {
			return refusal("unknown_market")
		}
	}
	return nil
}

// carries tells whether a subscription but one has any of this already.
func (c *conn) carries(ch channel, markets slots, but *sub) bool {
	return slices.ContainsFunc(c.subs, func(s *sub) bool { return s != but && s.overlaps(ch, markets) })
}

// first queues what a subscription begins with: of books a snapshot per market.
func (l *Lane) first(s *sub, markets slots) {
	if !s.channel.book() {
		return
	}
	s.born = time.Now()
	for m := range l.opened(s, markets).each() {
		s.put(l.books[m].now(l.at))
	}
}

// opened are those of a subscription's markets that there are; of all, if it has all.
func (l *Lane) opened(s *sub, markets slots) (out slots) {
	for m := core.MarketID(1); m <= venue.Slots; m++ {
		if l.books[m] != nil && (s.all || markets.has(m)) {
			out |= bit(m)
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
	return nil, refusal("unknown_sid")
}

func (c *conn) unsubscribe(id schemas.Int, p *schemas.WSUnsubscribe) error {
	l := c.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	out := schemas.WSUnsubscribed{}
	for i, sid := range p.Sids {
		if _, err := c.find(sid); err != nil || slices.Contains(p.Sids[:i], sid) {
			return refusal("unknown_sid")
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

func (c *conn) list(id schemas.Int, _ *schemas.None) error {
	l := c.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	out := schemas.WSSubscriptions{}
	for _, s := range c.subs {
		out.Subscriptions = append(out.Subscriptions, s.wire())
	}
	c.answer(id, "ok", out)
	return nil
}
