package cli

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// HasColor reports whether to write colors to w: it is a terminal that has them, and the user has
// not set NO_COLOR (https://no-color.org).
func HasColor(w any) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Table prints rows in aligned columns.
type Table struct {
	right []bool
	rows  [][]string
}

// NewTable returns a table with column names. A name that begins with > is that of a column of
// numbers, which is aligned to the right.
func NewTable(names ...string) *Table {
	t := &Table{right: make([]bool, len(names))}
	for i := range names {
		names[i], t.right[i] = strings.CutPrefix(names[i], ">")
	}
	t.rows = append(t.rows, names)
	return t
}

// Row adds a row with a cell for each column: a text, which may contain colors, or a number, which is Grouped. The
// number of a thing, such as an order, is a text (ID).
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = cellText(cell)
	}
	t.rows = append(t.rows, row)
}

// cellText panics on a value that is neither a text nor an integer.
func cellText(cell any) string {
	switch v := reflect.ValueOf(cell); {
	case v.Kind() == reflect.String:
		return v.String()
	case v.CanInt():
		return Grouped(v.Int())
	case v.CanUint():
		return Grouped(v.Uint())
	}
	panic(fmt.Sprintf("cli: a cell of a table cannot be a %T", cell))
}

// Len is the number of rows, without that of the names.
func (t *Table) Len() int { return len(t.rows) - 1 }

// Print prints the table, or the text empty if it has no rows.
func (t *Table) Print(out io.Writer, empty string) error {
	if t.Len() == 0 {
		_, err := fmt.Fprintln(out, empty)
		return err
	}
	return t.print(out, t.rows)
}

// PrintRows prints the table without the names of the columns.
func (t *Table) PrintRows(out io.Writer) error { return t.print(out, t.rows[1:]) }

func (t *Table) print(out io.Writer, rows [][]string) error {
	width := make([]int, len(t.right))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], ansi.StringWidth(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			space := strings.Repeat(" ", width[i]-ansi.StringWidth(cell))
			if t.right[i] {
				line += space + cell + "  "
			} else {
				line += cell + space + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// FormatGain formats a profit in pips as dollars; with color, a profit is green and a loss red.
func FormatGain(pips int64, color bool) string {
	text := FormatDollars(pips)
	switch {
	case !color || pips == 0:
		return text
	case pips > 0:
		return ansi.Style{}.ForegroundColor(ansi.Green).Styled(text)
	}
	return ansi.Style{}.ForegroundColor(ansi.Red).Styled(text)
}
