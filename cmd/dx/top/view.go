package top

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// The minimum size of the screen.
const (
	minWidth  = 80
	minHeight = 18
)

// The colors are those of the terminal's palette. Without color, because NO_COLOR is set or the
// terminal has none, bubbletea leaves them out and keeps bold, faint and inverted.
var (
	bold     = lipgloss.NewStyle().Bold(true)
	faint    = lipgloss.NewStyle().Faint(true)
	inverted = lipgloss.NewStyle().Reverse(true)
	green    = lipgloss.NewStyle().Foreground(lipgloss.Green)
	red      = lipgloss.NewStyle().Foreground(lipgloss.Red)
	yellow   = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	cyan     = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
)

// View renders the screen on the alternate screen of the terminal.
func (m Model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	v.WindowTitle = "dx top"
	return v
}

// cols is the width to use: one less than that of the terminal, because writing to the last column
// wraps on some terminals.
func (m *Model) cols() int { return m.width - 1 }

// screen has as many lines as the terminal.
func (m Model) screen() string {
	if m.width < minWidth || m.height < minHeight {
		return fmt.Sprintf("dx top needs %d by %d;\nthis is %d by %d.\nq quits.", minWidth, minHeight, m.width, m.height)
	}
	if m.help {
		return m.helpScreen()
	}
	lines := []string{bold.Render(m.title()), faint.Render(m.seriesHead())}
	for i := range m.rows {
		line := m.seriesLine(i)
		if i == m.selected {
			line = inverted.Render(padTo(ansi.Strip(line), m.cols()))
		}
		lines = append(lines, line)
	}
	bottom := m.bottom()
	members := m.memberLines(m.height - len(lines) - len(bottom))
	bottom = append(members, bottom...)
	room := m.height - len(lines) - len(bottom)
	chart := m.chartHeight(room)
	lines = append(append(lines, m.panes(room-chart)...), m.chartLines(chart)...)
	return strings.Join(append(lines, bottom...), "\n")
}

// bottom has the lines below the panes: the account, and either a message and the keys, or the
// ticket. Where it is low, a long text takes the line of the account too.
func (m *Model) bottom() []string {
	below := m.height - 2 - len(m.rows) // the title and the table of series are above
	var lines []string
	if m.ticket.phase != closed {
		lines = m.ticketLines(below)
	} else {
		for _, l := range wrap(m.message, m.cols()-1, 1, below-1) {
			lines = append(lines, " "+l)
		}
		lines = append(lines, faint.Render(truncate(keyLine(), m.cols())))
	}
	if len(lines) < below {
		lines = append([]string{m.accountLine()}, lines...)
	}
	return lines
}

// key is a key of the screen, or several that belong together.
type key struct {
	names string
	short string // for the last line of the screen; "" if they are not in it
	does  string
}

var keys = []key{
	{"1-9, ↑ ↓", "1-9: series", "select a series; the keys below act in its market"},
	{"b, s", "b: buy  s: sell", "buy or sell: fill in the ticket, enter shows what it would do"},
	{"c", "c: close", "close: redeem the pairs of YES and NO, then sell the rest, no\nmore than 2 cents lower"},
	{"x, X", "x: cancel  X: all", "cancel your orders in this market, or in all"},
	{"y, enter, n", "", "send it, or not: nothing is sent before it is shown"},
	{"?, q, esc", "?: help  q: quit", "this list; quit; esc closes a ticket"},
}

var signs = []key{
	{"▲ ▼ =", "", "a price above, below or at the strike; a taker of YES, of NO"},
	{"*", "", "a level of the book with an order of yours"},
	{"YES", "", "the chance that the orders of others imply: the middle of bid and\nask, or a bound (≥, ≤) if one side is empty"},
	{"RESULTS", "", "the last rounds, newest first: Y, N, or - for a void one"},
}

// keyLine is the last line of the screen.
func keyLine() string {
	line := ""
	for _, k := range keys {
		if k.short != "" {
			line += "  " + k.short
		}
	}
	return line[1:]
}

// Help has a line for each key and sign of the screen, or two.
func Help() string {
	text := ""
	for i, list := range [][]key{keys, signs} {
		if i > 0 {
			text += "\n"
		}
		for _, k := range list {
			for n, does := range strings.Split(k.does, "\n") {
				if n > 0 {
					k.names = " "
				}
				text += padTo(k.names, 13) + does + "\n"
			}
		}
	}
	return text
}

// helpScreen has as many lines as the terminal.
func (m *Model) helpScreen() string {
	lines := []string{bold.Render(m.title()), ""}
	for l := range strings.SplitSeq(Help()+"\nAny key goes back.", "\n") {
		lines = append(lines, " "+l)
	}
	return strings.Join(append(lines, make([]string, m.height-len(lines))...), "\n")
}

// title is the first line. It joins the lines of an error into one.
func (m *Model) title() string {
	state := truncate(strings.Join(strings.Fields(m.state), " "), m.cols()*3/10)
	right := fmt.Sprintf("  %s  seq %d  %s", state, m.seq, m.opt.Zone.In(m.now).Format("15:04:05 MST"))
	return padTo(fmt.Sprintf(" dx top  %s at %s", m.opt.Account, m.opt.Address), m.cols()-lipgloss.Width(right)) + right
}

// padTo truncates or pads a text to a width.
func padTo(s string, width int) string {
	s = truncate(s, width)
	return s + strings.Repeat(" ", max(0, width-lipgloss.Width(s)))
}

// truncate shortens a text to a width.
func truncate(s string, width int) string { return ansi.Truncate(s, max(width, 0), "…") }
