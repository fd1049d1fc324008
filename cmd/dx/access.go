package main

import (
	"fmt"
	"net/netip"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/lanes/gate"
	"duplex/server"
)

// accessFlags are the names and proxies by which clients reach the venue.
type accessFlags struct {
	PublicURL       publicURL `help:"Address of the API as clients reach it, which pages and documents name; default: the listener on this machine." placeholder:"URL"`
	PublicPortalURL publicURL `help:"Address of the portal as browsers reach it; the API allows it as an origin." placeholder:"URL"`
	AllowOrigin     []string  `help:"Browser origins that the API allows. dx dev adds the origin of its portal."`
	AllowedHosts    []host    `help:"Hosts by which clients reach the agent lane, besides loopback and the listener's own address: a name, or the host that a client behind a proxy or a forwarded port uses. A host without :port allows every port." placeholder:"HOST"`
	TrustedProxies  []network `help:"Networks (CIDR) or addresses of proxies whose X-Forwarded-For is trusted, for the limits per address." placeholder:"CIDR"`

	ConnectionsPerNetwork uint16        `help:"Connections of one network (an IPv4 address, an IPv6 /64) to a listener that have shown no valid signature or token; beyond it the oldest of these ends." default:"256"`
	DrainWait             time.Duration `help:"After SIGTERM, go on to serve reads for this long while /readyz fails and writes are draining, so that a balancer takes the node out first." default:"0s"`
}

// to sets the flags in the options of a venue.
func (f *accessFlags) to(o *server.Options) {
	o.PublicURL, o.PublicPortalURL = string(f.PublicURL), string(f.PublicPortalURL)
	o.DrainWait = f.DrainWait
	o.Origins, o.ConnectionsPerNetwork = f.AllowOrigin, int(f.ConnectionsPerNetwork)
	for _, h := range f.AllowedHosts {
		o.Hosts = append(o.Hosts, string(h))
	}
	for _, n := range f.TrustedProxies {
		o.TrustedProxies = append(o.TrustedProxies, n.Prefix)
	}
}

// oauthFlags let hosts connect by OAuth.
type oauthFlags struct {
	OAuth bool `name:"oauth" help:"Let hosts connect to the agent lane by OAuth, with a page of consent on the portal; needs --public-url and --public-portal-url of https, and TLS or --trusted-proxies."`
}

// host is a name or an address, with or without a port.
type host string

func (h *host) UnmarshalText(text []byte) error {
	*h = host(text)
	return gate.CheckHost(string(text))
}

// publicURL is a base URL of the venue.
type publicURL string

func (u *publicURL) UnmarshalText(text []byte) error {
	*u = publicURL(text)
	return server.CheckPublicURL(string(text))
}

// network is a CIDR network or a single address.
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

// fourEyesFlags say what needs a second operator.
type fourEyesFlags struct {
	FourEyes *cli.Amount `help:"Deposits and withdrawals above this many dollars need a second operator, as do voids and prices by hand; default: nothing does." placeholder:"LIMIT"`
}

// approvalLimit returns the limit in pips, nil if there is none.
func (f *fourEyesFlags) approvalLimit() *core.Pips {
	if f.FourEyes == nil {
		return nil
	}
	n := core.Pips(*f.FourEyes)
	return &n
}
