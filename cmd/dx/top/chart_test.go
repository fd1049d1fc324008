package top

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"duplex/schemas"
)

func TestAddPoints(t *testing.T) {
	got := addPoints([]point{{1, 10}, {4, 40}}, []point{{4, 41}, {2, 20}, {5, 50}})
	if len(got) != 4 || got[1] != (point{2, 20}) || got[2] != (point{4, 40}) || got[3] != (point{5, 50}) {
		t.Errorf("the points are %v, want those at 1, 2, 4 and 5, the first of the two at 4", got)
	}
	for s := range int64(3 * maxPoints) {
		got = addPoints(got, []point{{100 + s, 1}})
	}
	if len(got) != maxPoints || got[len(got)-1].second != 100+3*maxPoints-1 {
		t.Errorf("%d points, the last is %v", len(got), got[len(got)-1])
	}
}

// TestCanvas checks that prices above and below the strike, and far from it, stay on the canvas,
// and that it shows the strike, the window and the bounds.
func TestCanvas(t *testing.T) {
	const strike = 65_000_00000000
	for _, prices := range [][]schemas.U64{nil, {strike}, {strike + 1}, {1}, {strike * 3, strike / 3, 0}, {strike - 5_000_000, strike + 5_000_000}} {
		c := newCanvas(40, 8, strike)
		var points []point
		for i, p := range prices {
			points = append(points, point{int64(100 + 20*i), p})
		}
		c.plot(append(points, point{99, 1}, point{161, 1}), 100, 160) // the last two are outside
		lines := c.lines(100, 160, 150)
		text := ansi.Strip(strings.Join(lines, "\n"))
		if len(lines) != 8 || !strings.Contains(text, "65,000.00") || !strings.Contains(text, "┄") || !strings.Contains(text, "┊") {
			t.Errorf("the chart of %v:\n%s\nwant 8 lines with the strike, its line and that of the window", prices, text)
		}
		for _, l := range lines {
			if w := ansi.StringWidth(l); w != 1+40+labelWidth {
				t.Errorf("%v: %d wide: %s", prices, w, ansi.Strip(l))
			}
		}
	}
}
