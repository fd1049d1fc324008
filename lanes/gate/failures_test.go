package gate

import (
	"net/netip"
	"testing"
	"time"
)

// TestFailuresAreForgotten checks that the memory of failed addresses is bounded.
func TestFailuresAreForgotten(t *testing.T) {
	var s AuthFailures
	now := time.Unix(1_800_000_000, 0)
	for i := range 5 * maxTrackedNetworks {
		if err := s.Fail(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.networks.young) + len(s.networks.old); n > 2*maxTrackedNetworks {
		t.Errorf("%d addresses", n)
	}
	for range authFailureBurst {
		_ = s.Fail(netip.MustParseAddr("2001:db8::1"), now)
	}
	if err := s.Fail(netip.MustParseAddr("2001:db8::ffff"), now); err == nil {
		t.Error("another address of the same /64 counts as another client")
	}
	if err := s.Fail(netip.MustParseAddr("2001:db8:0:1::1"), now); err != nil {
		t.Error("an address of another /64 counts as the same client")
	}
	if clientNetwork(netip.MustParseAddr("::ffff:10.0.0.1")) != clientNetwork(netip.MustParseAddr("10.0.0.1")) || clientNetwork(netip.MustParseAddr("fe80::1%eth0")) != clientNetwork(netip.MustParseAddr("fe80::1")) {
		t.Error("one address in two forms counts as two clients")
	}
}
