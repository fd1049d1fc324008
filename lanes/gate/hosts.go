package gate

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// With DNS rebinding, a page resolves its own host name to the venue's address. The
// browser then treats the venue as the page's own origin, and Origin equals Host. Host
// still carries the page's name, so a lane that a foreign page must not reach checks it.

// HostAllowed reports whether the Host of a request names the venue: a loopback name or
// address, the local address of the connection, or an entry of Hosts. An entry without a
// port allows every port.
func (g *Gate) HostAllowed(r *http.Request) bool {
	host, port, ok := splitHost(r.Host)
	if !ok {
		return false
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr = addr.Unmap(); addr.IsLoopback() || addr == localAddr(r) {
			return true
		}
	} else if strings.EqualFold(host, "localhost") {
		return true
	}
	for _, h := range g.Hosts {
		if name, only, ok := splitHost(h); ok && sameHost(name, host) && (only == "" || only == port) {
			return true
		}
	}
	return false
}

// CheckHost returns an error unless s is a valid entry of Gate.Hosts: a name or an address,
// with or without a port. An IPv6 address is in brackets.
func CheckHost(s string) error {
	host, port, ok := splitHost(s)
	switch {
	case !ok || host == "" || strings.ContainsAny(s, "/@ ,*"):
		return errors.New("must be a host such as venue.example, 192.0.2.7 or [2001:db8::7], with or without a :port")
	case port != "":
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("invalid port %q", port)
		}
	}
	return nil
}

// localAddr returns the local address of the request's connection, the zero Addr if it is
// unknown.
func localAddr(r *http.Request) netip.Addr {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return at.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// sameHost compares two hosts as addresses if a is one, otherwise as names.
func sameHost(a, b string) bool {
	if x, err := netip.ParseAddr(a); err == nil {
		y, err := netip.ParseAddr(b)
		return err == nil && x.Unmap() == y.Unmap()
	}
	return strings.EqualFold(a, b)
}

// splitHost splits a host and an optional port. It strips the brackets of an IPv6 address
// and the trailing dot of a name.
func splitHost(s string) (host, port string, ok bool) {
	host = s
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", "", false
		}
		host, s = s[1:end], s[end+1:]
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() {
			return "", "", false
		}
		if s == "" {
			return host, "", true
		}
		port, ok = strings.CutPrefix(s, ":")
		return host, port, ok
	}
	host, port, _ = strings.Cut(s, ":")
	return strings.TrimSuffix(host, "."), port, !strings.Contains(port, ":")
}
