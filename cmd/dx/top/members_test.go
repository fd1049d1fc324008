package top

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestMembers checks when the members are read: once a second and one read at a time, and never again in a
// venue that has none.
func TestMembers(t *testing.T) {
	s := open(t)
	reads := 0
	clock := func() {
		t.Helper()
		before := s.m.members.reading
		s.send(ClockMsg(noon))
		if !before && s.m.members.reading {
			reads++
		}
	}
	if clock(); reads != 0 {
		t.Error("a read without the operator's listener")
	}
	s.m.opt.ReadMembers = func() MembersMsg { return threeMembers }
	clock()
	if clock(); reads != 1 {
		t.Errorf("%d reads before the first has ended", reads)
	}
	s.send(threeMembers)
	if screen := ansi.Strip(s.m.screen()); !strings.Contains(screen, "bern") {
		t.Error(screen)
	}
	clock()
	s.send(MembersMsg{Single: true})
	if clock(); reads != 2 {
		t.Errorf("%d reads of a venue without members", reads)
	}
	if screen := ansi.Strip(s.m.screen()); strings.Contains(screen, "bern") || strings.Contains(screen, "members") {
		t.Error(screen)
	}
}
