package core

import "testing"

func TestGrid(t *testing.T) {
	g := Narrow()
	for tick := Tick(-5); tick < 10010; tick++ {
		want := tick >= 100 && tick <= 390 && tick%10 == 0 || tick >= 400 && tick <= 9600 && tick%100 == 0 || tick >= 9610 && tick <= 9990 && tick%10 == 0
		if g.Legal(tick) != want {
			t.Errorf("Legal(%d) = %v, want %v", tick, !want, want)
		}
		below, above := g.Nearest(tick)
		if below != 0 && below > tick || above != 0 && above < tick || want && (below != tick || above != tick) {
			t.Errorf("Nearest(%d) = %d, %d", tick, below, above)
		}
	}
	if b, a := g.Nearest(4750); b != 4700 || a != 4800 {
		t.Errorf("Nearest(4750) = %d, %d, want 4700, 4800", b, a)
	}
}
