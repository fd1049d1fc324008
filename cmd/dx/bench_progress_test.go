package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A run says at once what it does, then every five seconds how far it is.
func TestProgressInLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to lockedBuffer
		done, stop := (&progress{to: &to}).phase("load", 12*time.Second, "orders")
		time.Sleep(time.Second / 2) // between two lines
		for range 12 {
			time.Sleep(time.Second)
			done.Add(100)
		}
		stop()
		if want := "load: 0s of 12s, 0 orders\nload: 5s of 12s, 400 orders\nload: 10s of 12s, 900 orders\n"; to.String() != want {
			t.Errorf("%q", to.String())
		}
	})
}

// On a terminal the line fills up and is gone at the end.
func TestProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to lockedBuffer
		done, stop := (&progress{to: &to, redraw: true}).phase("load", 4*time.Second, "orders")
		done.Add(7)
		time.Sleep(2*time.Second + redrawEvery/2)
		synctest.Wait()
		if drawn := to.String(); !strings.HasSuffix(drawn, "\r\x1b[Kload [====================                    ] 2s of 4s, 7 orders") {
			t.Errorf("%q", drawn)
		}
		time.Sleep(3 * time.Second)
		stop()
		if drawn := to.String(); !strings.HasSuffix(drawn, "[========================================] 4s of 4s, 7 orders\r\x1b[K") {
			t.Errorf("%q", drawn)
		}
	})
}

// Without anywhere to write to, it only counts.
func TestProgressOfNobody(t *testing.T) {
	done, stop := (&progress{}).phase("load", time.Second, "orders")
	done.Add(1)
	stop()
	if done.Load() != 1 {
		t.Error(done.Load())
	}
}
