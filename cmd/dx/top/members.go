package top

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"duplex/cmd/dx/cli"
	"duplex/internal/address"
	"duplex/schemas"
)

// members are the members of the cluster as the last read saw them.
type members struct {
	list    []schemas.ClusterMember
	err     error // of the last read; list is older
	single  bool  // the venue has no members
	reading bool
}

// readMembers reads the members, unless a read is under way, the venue has none, or the operator's
// listener is not known. It has the second of the clock as its interval.
func (m *Model) readMembers() tea.Cmd {
	read := m.opt.ReadMembers
	if read == nil || m.members.reading || m.members.single {
		return nil
	}
	m.members.reading = true
	return func() tea.Msg { return read() }
}

func (s *members) onRead(r MembersMsg) {
	s.reading, s.single, s.err = false, r.Single, r.Err
	if r.Err == nil {
		s.list = r.Members
	}
}

// minPanes is how many lines the panes keep when every member has a line of its own. With less room
// the members share one line.
const minPanes = 6

// memberLines has a line for each member, or one for all if there is no room for them in n lines; none if
// the members are not shown.
func (m *Model) memberLines(n int) (out []string) {
	s := &m.members
	switch {
	case s.single, n < 1:
		return nil
	case s.err != nil:
		return []string{red.Render(truncate(" members not known: "+strings.Join(strings.Fields(address.RedactError(s.err)), " "), m.cols()))}
	case len(s.list) == 0:
		return nil
	}
	name, newest := 0, schemas.U64(0)
	for i := range s.list {
		name = max(name, len(s.list[i].Node))
		newest = max(newest, s.list[i].Number)
	}
	if n-len(s.list) < minPanes {
		return []string{s.short(m.cols())}
	}
	for i := range s.list {
		o := &s.list[i]
		line := fmt.Sprintf(" %-*s  %-7s  %s", name, o.Node, o.Role, stateText(o.State, 9))
		if o.State != stateDown {
			line += fmt.Sprintf("  seq %d  behind %s", o.Seq, cli.Grouped(newest-o.Number))
		}
		out = append(out, truncate(line, m.cols()))
	}
	return out
}

// stateDown is the state of a member that does not answer, of which nothing else is known.
const stateDown = "down"

// short is one line with the state of each member.
func (s *members) short(width int) string {
	var parts []string
	for i := range s.list {
		o := &s.list[i]
		text := o.Node + " " + stateText(o.State, 0)
		if o.Role != "voter" {
			text = o.Node + " " + o.Role + " " + stateText(o.State, 0)
		}
		parts = append(parts, text)
	}
	return truncate(" members  "+strings.Join(parts, "  "), width)
}

func stateText(state string, width int) string {
	style := red
	if state == "serving" {
		style = green
	}
	return style.Render(fmt.Sprintf("%-*s", width, state))
}
