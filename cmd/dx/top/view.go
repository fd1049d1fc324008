package top

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// The least screen that everything fits on, and the lines of it that are not panes.
const (
	least    = 80
	leastTop = 18
	fixed    = 14
)

var (
	bold     = lipgloss.NewStyle().Bold(true)
	faint    = lipgloss.NewStyle().Faint(true)
	inverted = lipgloss.NewStyle().Reverse(true)
)

// View is the screen, on a page of its own.
func (m Model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	v.WindowTitle = "dx top"
	return v
}

// screen has as many lines as the terminal, none wider than 79: the last column of a
// terminal is not always safe to write to.
func (m Model) screen() string {
	if m.width < least || m.height < leastTop {
		return fmt.Sprintf("dx top wants %d by %d;\nthis is %d by %d.\nq quits.", least, leastTop, m.width, m.height)
	}
	lines := []string{bold.Render(m.title()), faint.Render(seriesHead)}
	for i := range m.rows {
		line := m.series(i)
		if i == m.selected {
			line = inverted.Render(line)
		}
		lines = append(lines, line)
	}
	lines = append(lines, bold.Render(m.paneHead()))
	lines = append(lines, m.panes(m.height-fixed)...)
	return strings.Join(append(lines, m.money(), faint.Render(" up/down or k/j: series   q: quit")), "\n")
}

// title is the first line. An error of a read may have several of its own.
func (m *Model) title() string {
	state := short(strings.Join(strings.Fields(m.state), " "), 24)
	right := fmt.Sprintf("  %s  seq %d  %s", state, m.seq, m.now.UTC().Format("15:04:05"))
	return fit(fmt.Sprintf(" dx top  %s at %s", m.o.Who, m.o.Where), 79-lipgloss.Width(right)) + right
}

// fit cuts a text to a width, or fills it up.
func fit(s string, width int) string {
	s = short(s, width)
	return s + strings.Repeat(" ", width-lipgloss.Width(s))
}

// short cuts a text that is longer than a width.
func short(s string, width int) string {
	if lipgloss.Width(s) <= width {
		return s
	}
	r := []rune(s)
	return string(r[:min(len(r), width-1)]) + "…"
}

// panes are book, tape and orders, side by side.
func (m *Model) panes(n int) []string {
	book, tape, orders := m.ladder(n), m.trades(n), m.orders(n)
	out := make([]string, n)
	for i := range out {
		out[i] = strings.TrimRight(fit(at(book, i), 23)+" | "+fit(at(tape, i), 24)+" | "+fit(at(orders, i), 26), " ")
	}
	return out
}

func (m *Model) paneHead() string {
	book := " BOOK"
	if id := m.market(); id != 0 {
		book = fmt.Sprintf(" BOOK of market %d", id)
	}
	return fit(book, 23) + " | " + fit("TRADES", 24) + " | " + "MY ORDERS"
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}
