package venue

import (
	"fmt"
	"strings"

	"duplex/core"
)

// maker parses the commands of a maker: groups, quotes, dead-man switches, connections.
func (x *storyRunner) maker(u core.UserID, w []string) core.Command {
	switch w[1] {
	case "group": // `alice group 1 9 1s`, `alice group 1 reset`
		id := uint32(x.num(w[2]))
		switch w[3] {
		case "reset":
			return &core.ResetGroup{User: u, Group: id}
		case "delete":
			return &core.DeleteGroup{User: u, Group: id}
		}
		return &core.SetGroup{User: u, Group: id, FillLimit: core.Qty(x.num(w[3])), WindowMs: uint32(x.duration(w[4]) / core.NsPerMs)}
	case "deadman": // `alice deadman 5000`, or of a group with `g=1`
		return &core.ArmDeadman{User: u, TimeoutMs: uint32(x.num(w[2])), Group: x.groupOf(w[3:])}
	case "disarm":
		return &core.DisarmDeadman{User: u, Group: x.groupOf(w[2:])}
	case "bid", "ask":
		return x.quote(u, w[1:])
	case "bind": // `alice bind 2/7/1 g=1`: to connection 1 of process 7 of machine 2
		return &core.BindOrders{User: u, Group: x.groupOf(w[3:]), Line: x.connection(w[2])}
	case "release":
		return &core.BindOrders{User: u, Group: x.groupOf(w[2:]), Release: true}
	case "hangup":
		return &core.EndConnection{User: u, Line: x.connection(w[2])}
	}
	x.must(false, strings.Join(w, " "))
	return nil
}

// quote parses `bid 10 @4700 g=1` and `bid none g=1`, with what place takes.
func (x *storyRunner) quote(u core.UserID, w []string) core.Command {
	q := &core.QuoteSide{Cancel: w[1] == "none"}
	qty, faults := w[1], w[2:]
	if q.Cancel {
		qty = "0"
	}
	q.PlaceOrder = *x.place(u, append([]string{"buy", "yes", qty}, faults...))
	if w[0] == "ask" {
		q.Side = core.Sell
	}
	return q
}

func (x *storyRunner) groupOf(w []string) uint32 {
	if len(w) == 0 {
		return 0
	}
	return uint32(x.num(strings.TrimPrefix(w[0], "g=")))
}

func (x *storyRunner) connection(s string) core.Line {
	w := strings.Split(s, "/")
	return core.Line{Node: uint32(x.num(w[0])), Session: uint64(x.num(w[1])), Conn: uint64(x.num(w[2]))}
}

// rowOf describes the row of a group, as of ts.
func rowOf(g *core.Group, ts int64) string {
	out := fmt.Sprintf("group %d: %d of %d in %d ms, tripped %v", g.ID, g.Filled, g.FillLimit, g.WindowMs, g.Tripped)
	if g.Deadline != 0 {
		out += fmt.Sprintf(", dead-man in %d ms", (g.Deadline-ts)/core.NsPerMs)
	}
	if g.Bound {
		out += ", bound to a connection"
	}
	return out
}

func (x *storyRunner) makerEvent(e core.Event) {
	switch e := e.(type) {
	case *core.DeadmanChanged:
		of := people[e.User]
		if e.Group != 0 {
			of += " for group " + fmt.Sprint(e.Group)
		}
		x.say("%s: dead-man armed %v, fired %v", of, e.Armed, e.Fired)
	case *core.GroupChanged:
		g := e.Group
		bound := ""
		if g.Bound {
			bound = ", bound to a connection"
		}
		x.say("group %d of %s is %v: %d of %d in %d ms, tripped %v%s", g.ID, people[e.User], e.Change, g.Filled, g.FillLimit, g.WindowMs, g.Tripped, bound)
	case *core.Quoted:
		switch {
		case e.Order == 0:
			x.say("quotes nothing, %d canceled", e.Canceled)
		case e.Kept:
			x.say("keeps %s with %d, %d canceled", x.name(e.Order), e.Left, e.Canceled)
		case e.Reason != core.NoReason:
			x.say("quotes nothing: %v, %d canceled", e.Reason, e.Canceled)
		default:
			x.say("quotes %d, %d ahead, %d canceled", e.Left, e.Ahead, e.Canceled)
		}
	}
}
