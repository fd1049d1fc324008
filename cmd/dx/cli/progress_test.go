package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"duplex/internal/logbuffer"
)

// Without a terminal a line is written at the start and then every five seconds.
func TestProgressInLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to logbuffer.Buffer
		done, stop := (&Progress{To: &to}).Phase("load", 12*time.Second, "orders")
		time.Sleep(time.Second / 2) // between two lines
		for range 12 {
			time.Sleep(time.Second)
			done.Add(100)
		}
		stop()
		if want := "load: 0s of 12s, 0 orders\nload: 5s of 12s, 400 orders\nload: 10s of 12s, 900 orders\n"; to.String() != want {
			t.Errorf("printed %q, want %q", to.String(), want)
		}
	})
}

// On a terminal the bar fills, and stop clears its line.
func TestProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to logbuffer.Buffer
		done, stop := (&Progress{To: &to, Redraw: true}).Phase("load", 4*time.Second, "orders")
		done.Add(7)
		time.Sleep(2*time.Second + RedrawEvery/2)
		synctest.Wait()
		if drawn := to.String(); !strings.HasSuffix(drawn, "\r\x1b[Kload [====================                    ] 2s of 4s, 7 orders") {
			t.Errorf("drawn %q, want the bar half full after 2 s", drawn)
		}
		time.Sleep(3 * time.Second)
		stop()
		if drawn := to.String(); !strings.HasSuffix(drawn, "[========================================] 4s of 4s, 7 orders\r\x1b[K") {
			t.Errorf("drawn %q, want a full bar and then an empty line", drawn)
		}
	})
}

// The zero value counts and writes nothing.
func TestZeroProgress(t *testing.T) {
	done, stop := (&Progress{}).Phase("load", time.Second, "orders")
	done.Add(1)
	stop()
	if done.Load() != 1 {
		t.Error(done.Load())
	}
}
