package top

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// The minimum size of the screen, and the number of lines outside the panes.
const (
	minWidth   = 80
	minHeight  = 18
	fixedLines = 14
)

var (
	bold     = lipgloss.NewStyle().Bold(true)
	faint    = lipgloss.NewStyle().Faint(true)
	inverted = lipgloss.NewStyle().Reverse(true)
)

// View renders the screen on the alternate screen of the terminal.
func (m Model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	v.WindowTitle = "dx top"
	return v
}

// screen has as many lines as the terminal. No line is wider than 79 characters, because
// writing to the last column wraps on some terminals.
func (m Model) screen() string {
	if m.width < minWidth || m.height < minHeight {
		return fmt.Sprintf("dx top needs %d by %d;\nthis is %d by %d.\nq quits.", minWidth, minHeight, m.width, m.height)
	}
	lines := []string{bold.Render(m.title()), faint.Render(seriesHead)}
	for i := range m.rows {
		line := m.seriesLine(i)
		if i == m.selected {
			line = inverted.Render(line)
		}
		lines = append(lines, line)
	}
	lines = append(lines, bold.Render(m.paneHead()))
	lines = append(lines, m.panes(m.height-fixedLines)...)
	return strings.Join(append(lines, m.accountLine(), faint.Render(" up/down or k/j: series   q: quit")), "\n")
}

// title is the first line. It joins the lines of an error into one.
func (m *Model) title() string {
	state := truncate(strings.Join(strings.Fields(m.state), " "), 24)
	right := fmt.Sprintf("  %s  seq %d  %s", state, m.seq, m.now.UTC().Format("15:04:05"))
	return padTo(fmt.Sprintf(" dx top  %s at %s", m.opt.Account, m.opt.Address), 79-lipgloss.Width(right)) + right
}

// padTo truncates or pads a text to a width.
func padTo(s string, width int) string {
	s = truncate(s, width)
	return s + strings.Repeat(" ", width-lipgloss.Width(s))
}

// truncate shortens a text to a width.
func truncate(s string, width int) string {
	if lipgloss.Width(s) <= width {
		return s
	}
	r := []rune(s)
	return string(r[:min(len(r), width-1)]) + "…"
}

// panes are the book, the trades and the orders, side by side.
func (m *Model) panes(n int) []string {
	book, trades, orders := m.bookLines(n), m.tradeLines(n), m.orderLines(n)
	out := make([]string, n)
	for i := range out {
		out[i] = strings.TrimRight(padTo(lineAt(book, i), 23)+" | "+padTo(lineAt(trades, i), 24)+" | "+padTo(lineAt(orders, i), 26), " ")
	}
	return out
}

func (m *Model) paneHead() string {
	book := " BOOK"
	if id := m.market(); id != 0 {
		book = fmt.Sprintf(" BOOK of market %d", id)
	}
	return padTo(book, 23) + " | " + padTo("TRADES", 24) + " | " + "MY ORDERS"
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}
