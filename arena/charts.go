package arena

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"duplex/arena/stats"
)

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
			m := stats.Mean(at)
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

// calibrationChart draws how often YES came true for the forecasts of each tenth, with their number.
func (r *Report) calibrationChart() template.HTML {
	c := newChart("Calibration", 0, 1, 0, 1)
	c.axes(0.25, func(y float64) string { return fmt.Sprintf("%.2f", y) }, "forecast, 0 to 1; height: how often YES came true; numbers: forecasts")
	c.path([][2]float64{{0, 0}, {1, 1}}, `fill="none" class="grid"`)
	drawn := false
	for i := range r.Seats {
		if r.Seats[i].Calibration == nil {
			continue
		}
		drawn = true
		var points [][2]float64
		var counts []int
		for _, b := range r.Seats[i].Calibration.Bins {
			if b.N > 0 {
				points, counts = append(points, [2]float64{*b.P, *b.Yes}), append(counts, b.N)
			}
		}
		c.path(points, fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2"`, seatColor(i)))
		for k, p := range points {
			px, py := c.at(p[0], p[1])
			fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`, px, py, seatColor(i))
			c.text(px+6, max(py-6, chartTop), "start", fmt.Sprint(counts[k]))
		}
	}
	if !drawn {
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
