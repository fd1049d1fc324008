package gate

import (
	"testing"
	"time"

	"duplex/core"
	"duplex/tools"
)

// TestReplayFilter checks that a signature is held as long as it could be valid, then
// dropped, and that a full filter sheds new signatures instead of dropping old ones.
func TestReplayFilter(t *testing.T) {
	s := &replayFilter{}
	at := tools.WallTime(1_800_000_000 * core.NsPerSec)
	for _, c := range []struct {
		after time.Duration
		of    string
		first bool
	}{
		{0, "a", true}, {0, "a", false}, {0, "b", true}, {9 * time.Second, "c", true}, {10 * time.Second, "a", false},
		{11 * time.Second, "c", false}, {19 * time.Second, "c", false}, {60 * time.Second, "a", true}, {60 * time.Second, "c", true},
	} {
		if first, err := s.add(c.of, at+tools.WallTime(c.after)); err != nil || first != c.first {
			t.Errorf("%s after %v: %v, %v", c.of, c.after, first, err)
		}
	}
	for n := len(s.current); n < maxSignatures; n++ {
		s.current[core.Mark{1, byte(n), byte(n >> 8), byte(n >> 16)}] = struct{}{}
	}
	at += tools.WallTime(61 * time.Second)
	if _, err := s.add("d", at); tools.ErrorOf(err).Code != "shed" {
		t.Errorf("a full filter: %v", err)
	}
	if first, err := s.add("a", at); first || err != nil {
		t.Errorf("a repeat with a full filter: %v, %v", first, err)
	}
	if first, err := s.add("d", at+2*signatureTTL); !first || err != nil {
		t.Errorf("after the rotation: %v, %v", first, err)
	}
}
