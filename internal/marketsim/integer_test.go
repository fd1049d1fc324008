package marketsim

import "testing"

func TestSqrt(t *testing.T) {
	for n := int64(1); n < 1<<40; n = n*3 + 1 {
		if x := Sqrt(n); x*x > n || (x+1)*(x+1) <= n {
			t.Errorf("Sqrt(%d) = %d", n, x)
		}
	}
}
