package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"duplex/schemas"
)

// point is the index of one second.
type point struct {
	second int64
	price  schemas.U64 // at 1e8
}

// maxPoints bounds the points kept of a feed: more than the longest round has.
const maxPoints = 1000

// addPoints returns points with others added, in order, once for each second.
func addPoints(old, add []point) []point {
	all := slices.Concat(old, add)
	slices.SortStableFunc(all, func(a, b point) int { return int(a.second - b.second) })
	all = slices.CompactFunc(all, func(a, b point) bool { return a.second == b.second })
	return all[max(len(all)-maxPoints, 0):]
}

// The height from which there is a chart, the lines that the panes keep, and the most lines of a
// chart.
const (
	tallScreen = 34
	paneLines  = 13
	maxChart   = 18
)

// chartHeight is the number of lines of the chart among the lines below the table of series; 0 for
// none.
func (m *Model) chartHeight(lines int) int {
	if m.height < tallScreen {
		return 0
	}
	return min(max(lines-paneLines, 0), maxChart)
}

const labelWidth = 12

// chartLines are the chart of the index in the round of the selected series, from its opening to
// its close, with the strike as a horizontal line and the start of the settle window as a vertical
// one.
func (m *Model) chartLines(n int) []string {
	r := &m.rows[m.selected].round
	from, to := r.OpenTs.Int64()/1e9, r.CloseTs.Int64()/1e9
	if n < 3 || r.RoundNumber == 0 || to <= from || r.Strike == 0 {
		return slices.Repeat([]string{""}, n)
	}
	head := fmt.Sprintf(" INDEX of %s, %s to %s; ┊ settle window, ┄ strike", allSeries[m.selected].Feed, m.opt.Zone.In(time.Unix(from, 0)).Format(time.TimeOnly), m.opt.Zone.In(time.Unix(to, 0)).Format(time.TimeOnly))
	c := newCanvas(m.cols()-labelWidth-2, n-1, r.Strike)
	c.plot(m.prices[allSeries[m.selected].Feed], from, to)
	return append([]string{bold.Render(truncate(head, m.cols()))}, c.lines(from, to, to-r.TwapWindowSecs)...)
}

// canvas is a grid of characters, each with two by four dots.
type canvas struct {
	wide, high int
	strike     schemas.U64
	low, top   schemas.U64 // the prices at the lowest and the highest row of dots
	dots       []uint8
}

func newCanvas(wide, high int, strike schemas.U64) *canvas {
	return &canvas{wide: wide, high: high, strike: strike, low: strike, top: strike, dots: make([]uint8, wide*high)}
}

// plot draws the points of a period. The strike is always within the prices shown.
func (c *canvas) plot(points []point, from, to int64) {
	points = slices.DeleteFunc(slices.Clone(points), func(p point) bool { return p.second < from || p.second > to || p.price == 0 })
	for _, p := range points {
		c.low, c.top = min(c.low, p.price), max(c.top, p.price)
	}
	margin := max((c.top-c.low)/20, 1_000_000)
	c.low, c.top = c.low-min(margin, c.low), c.top+margin
	lastX, lastY := -1, 0
	for _, p := range points {
		x, y := int((p.second-from)*int64(2*c.wide-1)/(to-from)), c.row(p.price)
		if lastX < 0 {
			lastX, lastY = x, y
		}
		for k := lastX; k <= x; k++ { // a line of steps
			c.set(k, lastY)
		}
		for k := min(lastY, y); k <= max(lastY, y); k++ {
			c.set(x, k)
		}
		lastX, lastY = x, y
	}
}

// row is the row of dots of a price, from the top.
func (c *canvas) row(price schemas.U64) int {
	rows := schemas.U64(4*c.high - 1)
	return int(rows - (price-c.low)*rows/(c.top-c.low))
}

// braille has the bit of each dot of a character, by row and column.
var braille = [4][2]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

func (c *canvas) set(x, y int) { c.dots[y/4*c.wide+x/2] |= braille[y%4][x%2] }

// lines renders the canvas with the prices at its top, its bottom and the strike on the right.
func (c *canvas) lines(from, to, window int64) (out []string) {
	strikeRow := c.row(c.strike) / 4
	windowColumn := int((window-from)*int64(2*c.wide-1)/(to-from)) / 2
	for y := range c.high {
		style := green
		if y > strikeRow {
			style = red
		}
		var b strings.Builder
		for x := range c.wide {
			switch dots := c.dots[y*c.wide+x]; {
			case dots != 0:
				b.WriteString(style.Render(string(rune(0x2800 + int(dots)))))
			case y == strikeRow:
				b.WriteString(faint.Render("┄"))
			case x == windowColumn:
				b.WriteString(faint.Render("┊"))
			default:
				b.WriteByte(' ')
			}
		}
		label := ""
		switch y {
		case strikeRow:
			label = priceText(c.strike)
		case 0:
			label = priceText(c.top)
		case c.high - 1:
			label = priceText(c.low)
		}
		out = append(out, " "+b.String()+lipgloss.NewStyle().Width(labelWidth).Align(lipgloss.Right).Render(label))
	}
	return out
}
