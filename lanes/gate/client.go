package gate

import (
	"net/http"
	"net/netip"
	"strings"
)

const forwardedFor = "X-Forwarded-For"

// ClientAddr returns the address to use for limits by address: the address of the peer,
// or, if the peer is a trusted proxy, the client's address in X-Forwarded-For. It is the
// zero Addr if the address of the peer is invalid.
//
// Each proxy appends the address of its own peer, so only the right end of the list is
// reliable. The client is the right-most address that is not a trusted proxy; everything
// to the left of it is set by the client and ignored. If the scan from the right meets an invalid
// element first, or all addresses are trusted, ClientAddr returns the address of the peer.
func (g *Gate) ClientAddr(r *http.Request) netip.Addr {
	peer := peerAddr(r)
	lines := r.Header[forwardedFor]
	if len(lines) == 0 || !g.trusted(peer) {
		return peer
	}
	list := strings.Join(lines, ",")
	for {
		before, last, more := cutLast(list)
		addr, ok := forwardedAddr(last)
		switch {
		case !ok:
			return peer
		case !g.trusted(addr):
			return addr
		case !more:
			return peer
		}
		list = before
	}
}

// trusted reports whether a is the address of a trusted proxy.
func (g *Gate) trusted(a netip.Addr) bool {
	return contains(g.TrustedProxies, a)
}

// peerAddr returns the remote address of the request's connection, the zero Addr if it is
// invalid.
func peerAddr(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero AddrPort with an error
	return at.Addr().Unmap().WithZone("")
}

// cutLast cuts the last element off a comma-separated list.
func cutLast(list string) (before, last string, more bool) {
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		return list[:i], list[i+1:], true
	}
	return "", list, false
}

// forwardedAddr parses one element: an address, with or without a port. Some proxies add
// one.
func forwardedAddr(s string) (netip.Addr, bool) {
	s = strings.Trim(s, " \t")
	a, err := netip.ParseAddr(s)
	if err != nil {
		at, err := netip.ParseAddrPort(s)
		if err != nil {
			return netip.Addr{}, false
		}
		a = at.Addr()
	}
	return a.Unmap().WithZone(""), true
}
