package arena

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// seatColors can be distinguished by color-blind readers.
var seatColors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#8c564b"}

func seatColor(i int) string { return seatColors[i%len(seatColors)] }

// The size of a chart and the margin for its axes, in units of the picture.
const chartWidth, chartHeight, chartLeft, chartRight, chartBottom = 780.0, 300.0, 80.0, 30.0, 30.0

const chartTop = 12.0 // where a text in the picture is at the highest

const seatLabel = 11 // letters of a seat's name beside a chart

// chart draws in SVG, with x and y in units of the data.
type chart struct {
	strings.Builder
	x0, x1, y0, y1 float64
}

func newChart(title string, x0, x1, y0, y1 float64) *chart {
	if x1 <= x0 {
		x1 = x0 + 1
	}
	if y1 <= y0 {
		y0, y1 = y0-1, y1+1
	}
	c := &chart{x0: x0, x1: x1, y0: y0, y1: y1}
	fmt.Fprintf(c, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartWidth, chartHeight, title)
	return c
}

// text writes a text at a place of the picture; anchor is start, middle or end.
func (c *chart) text(x, y float64, anchor, text string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, template.HTMLEscapeString(text))
}

func (c *chart) at(x, y float64) (px, py float64) {
	right := float64((x - c.x0) / (c.x1 - c.x0) * (chartWidth - chartLeft - chartRight)) // rounded, so that no machine fuses it with the sum
	up := float64((y - c.y0) / (c.y1 - c.y0) * (chartHeight - chartBottom - 10))
	return chartLeft + right, chartHeight - chartBottom - up
}

// roundedAxis returns an axis that holds low and high, from one multiple of a step to another. A step is
// 1, 2 or 5 times a power of ten, and there are at most eight.
func roundedAxis(low, high float64) (from, to, step float64) {
	if !(high > low) {
		low, high = low-1, high+1
	}
	least := (high - low) / 7
	step = 1
	for step > least {
		step /= 10
	}
	for step*10 <= least {
		step *= 10
	}
	for _, times := range []float64{1, 2, 5, 10} {
		if step*times >= least {
			step *= times
			break
		}
	}
	return math.Floor(low/step) * step, math.Ceil(high/step) * step, step
}

// axes draws a line of the same height at each step, and the text below the x axis.
func (c *chart) axes(step float64, label func(float64) string, below string) {
	for i := range int(math.Round((c.y1-c.y0)/step)) + 1 {
		y := c.y0 + float64(step*float64(i))
		x1, py := c.at(c.x0, y)
		x2, _ := c.at(c.x1, y)
		fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="grid"/>`, x1, py, x2, py)
		c.text(x1-6, py+4, "end", label(y))
	}
	c.text((chartLeft+chartWidth)/2, chartHeight-8, "middle", below)
}

// axisMoney returns the labels of an axis in dollars: with cents only if its steps need them.
func axisMoney(step float64) func(float64) string {
	return func(x float64) string {
		text := strings.TrimSuffix(money(x), ".00")
		if step >= 1 {
			text, _, _ = strings.Cut(text, ".")
		}
		return text
	}
}

func (c *chart) path(points [][2]float64, attributes string) {
	c.WriteString(`<path d="`)
	for i, p := range points {
		x, y := c.at(p[0], p[1])
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		fmt.Fprintf(c, "%s%.1f %.1f", verb, x, y)
	}
	fmt.Fprintf(c, `" %s/>`, attributes)
}

func (c *chart) end() template.HTML {
	c.WriteString("</svg>")
	return template.HTML(c.String()) //nolint:gosec // numbers and fixed texts, and what text has escaped
}
