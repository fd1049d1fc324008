package arena

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"money": money, "interval": interval, "score": scoreText, "color": func(i int) template.CSS { return template.CSS(seatColor(i)) }, "count": func(f Figure) string { return fmt.Sprintf("%.0f", f.Mean) }}).Parse(pageText))

// page returns the report as one page that loads nothing.
func (r *Report) page(name string) ([]byte, error) {
	x := struct {
		*Report
		Name        string
		Equity      template.HTML
		Calibration template.HTML
		Profits     template.HTML
	}{Report: r, Name: name, Equity: r.equityChart(), Calibration: r.calibrationChart(), Profits: r.profitChart()}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, &x)
	return b.Bytes(), err
}

func scoreText(f *Figure) string {
	if f == nil {
		return "–"
	}
	return fmt.Sprintf("%.4f", f.Mean)
}

// seatColors are told apart by people who see few colors.
var seatColors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#8c564b"}

func seatColor(i int) string { return seatColors[i%len(seatColors)] }

// The size of a chart and the margin for its axes, in units of the picture.
const chartWidth, chartHeight, chartLeft, chartRight, chartBottom = 780.0, 300.0, 80.0, 30.0, 30.0

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

// equityChart draws the mean equity of each seat over seeds, in a band from the least to the greatest
// tenth of the seeds.
func (r *Report) equityChart() template.HTML {
	type line struct{ mean, low, high [][2]float64 }
	var lines []line
	low, high, last := math.Inf(1), math.Inf(-1), 1.0
	for _, c := range r.curves {
		var l line
		for i := 0; ; i++ {
			var at []float64
			for _, e := range c.equity {
				if i < len(e) {
					at = append(at, e[i])
				}
			}
			if len(at) == 0 {
				break
			}
			m := mean(at)
			slices.Sort(at)
			a, b := at[len(at)/10], at[len(at)-1-len(at)/10]
			x := float64(i*equityStep) / 60
			l.mean, l.low, l.high = append(l.mean, [2]float64{x, m}), append(l.low, [2]float64{x, a}), append(l.high, [2]float64{x, b})
			low, high, last = min(low, a), max(high, b), max(last, x)
		}
		lines = append(lines, l)
	}
	low, high, step := roundedAxis(low, high)
	c := newChart("Equity by seat", 0, last, low, high)
	c.axes(step, axisMoney(step), fmt.Sprintf("minutes of venue time, 0 to %.0f", last))
	for i, l := range lines {
		slices.Reverse(l.low)
		c.path(append(slices.Clone(l.high), l.low...), fmt.Sprintf(`fill="%s" fill-opacity="0.15" stroke="none"`, seatColor(i)))
	}
	for i, l := range lines {
		c.path(l.mean, fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2"`, seatColor(i)))
	}
	return c.end()
}

// calibrationChart draws how often YES came true for the forecasts of each tenth.
func (r *Report) calibrationChart() template.HTML {
	c := newChart("Calibration", 0, 1, 0, 1)
	c.axes(0.25, func(y float64) string { return fmt.Sprintf("%.2f", y) }, "forecast, 0 to 1; height: how often YES came true")
	c.path([][2]float64{{0, 0}, {1, 1}}, `fill="none" class="grid"`)
	any := false
	for i, x := range r.curves {
		var points [][2]float64
		for _, b := range x.bins {
			if b.n > 0 {
				points = append(points, [2]float64{b.p / float64(b.n), float64(b.yes) / float64(b.n)})
			}
		}
		if len(points) > 0 {
			any = true
			c.path(points, fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2"`, seatColor(i)))
			for _, p := range points {
				px, py := c.at(p[0], p[1])
				fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`, px, py, seatColor(i))
			}
		}
	}
	if !any {
		return ""
	}
	return c.end()
}

// profitChart draws the profit of each seed as a point, a row for each seat.
func (r *Report) profitChart() template.HTML {
	low, high := 0.0, 0.0
	for _, x := range r.curves {
		for _, p := range x.profit {
			low, high = min(low, p), max(high, p)
		}
	}
	low, high, step := roundedAxis(low, high)
	label := axisMoney(step)
	n := float64(len(r.curves))
	c := newChart("Profit by seed", low, high, 0, n)
	for i := range int(math.Round((high-low)/step)) + 1 {
		x := low + float64(step*float64(i))
		px, py := c.at(x, 0)
		_, top := c.at(x, n)
		fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="grid"/>`, px, py, px, top)
		c.text(px, py+18, "middle", label(x))
	}
	for i, x := range r.curves {
		name := r.Seats[i].Name
		if len(name) > seatLabel {
			name = name[:seatLabel-1] + "…"
		}
		_, py := c.at(low, n-float64(i)-0.5)
		c.text(chartLeft-6, py+4, "end", name)
		for _, p := range x.profit {
			px, py := c.at(p, n-float64(i)-0.5)
			fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s" fill-opacity="0.5"/>`, px, py, seatColor(i))
		}
	}
	return c.end()
}
