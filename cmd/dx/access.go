package main

import (
	"fmt"
	"net/netip"

	"duplex/lanes/gate"
	"duplex/server"
)

// accessFlags say by which names the venue is reached, and through which proxies.
type accessFlags struct {
	AllowOrigin    []string  `help:"Browser origins allowed on the API; dx dev adds its portal's."`
	AllowedHosts   []host    `help:"Hosts by which the agent lane is reached, besides loopback and the listener's own address: a name, or what a client behind a proxy or a forwarded port uses. Without a :port every port." placeholder:"HOST"`
	TrustedProxies []network `help:"Networks (CIDR) or addresses of proxies whose X-Forwarded-For is believed, for limits by address." placeholder:"CIDR"`
}

// to sets the flags in the options of a venue.
func (f *accessFlags) to(o *server.Options) {
	o.Origins = f.AllowOrigin
	for _, h := range f.AllowedHosts {
		o.Hosts = append(o.Hosts, string(h))
	}
	for _, n := range f.TrustedProxies {
		o.TrustedProxies = append(o.TrustedProxies, n.Prefix)
	}
}

// host is a name or an address, with or without a port.
type host string

func (h *host) UnmarshalText(text []byte) error {
	*h = host(text)
	return gate.CheckHost(string(text))
}

// network is a CIDR network, or one address.
type network struct{ netip.Prefix }

func (n *network) UnmarshalText(text []byte) error {
	if a, err := netip.ParseAddr(string(text)); err == nil && a.Zone() == "" {
		a = a.Unmap()
		n.Prefix = netip.PrefixFrom(a, a.BitLen())
		return nil
	}
	p, err := netip.ParsePrefix(string(text))
	if err != nil {
		return fmt.Errorf("%q is neither a network like 10.0.0.0/8 nor an address", text)
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	n.Prefix = p.Masked()
	return nil
}
