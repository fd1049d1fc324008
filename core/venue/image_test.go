package venue

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"duplex/core"
)

// An image is the state as it was, whatever comes after it.
func TestImageStandsStill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, s, _ := begin(t)
		for range rapid.IntRange(0, 60).Draw(t, "before") {
			v.Apply(s.stamp(), s.command(), &core.Events{})
		}
		want := bytesOf(t, v)
		image, err := v.Image()
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 60).Draw(t, "after") {
			v.Apply(s.stamp(), s.command(), &core.Events{})
		}
		tick, _, _, _ := v.Index(core.BTC)
		tick.Manual, tick.Price = true, tick.Price+1 // replaces the newest in its place
		v.Apply(s.stamp(), &core.PostIndex{Tick: tick}, &core.Events{})
		if got, err := image.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("it moved, %v", err)
		}
	})
}
