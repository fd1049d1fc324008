package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"duplex/internal/atomicfile"
	"duplex/internal/backoff"
	"duplex/internal/certificate"
	"duplex/internal/timeouts"
)

// lookEvery is the time between two looks at the files of the certificates.
const lookEvery = 10 * time.Second

// peerPairName is a file in the data folder of a member: its certificate and key for etcd's peer port.
// etcd reads the files of its certificate anew at each handshake (transport.TLSInfo in client/pkg: both
// GetCertificate and GetClientCertificate do), and a pair that does not fit ends the handshake. So etcd is
// given a file of this member's own, which only ever has a pair that fits, and is replaced at once. The
// authorities, however, etcd reads once, when it starts (ServerConfig and ClientConfig make the pools).
const peerPairName = "peer.pem"

func (o *Options) peerPair() string { return filepath.Join(o.Dir, peerPairName) }

// readCerts reads the certificates for the first time. One of another role than these is an error.
func (o *Options) readCerts(use func(*certificate.Set) error, roles ...string) error {
	if o.Cert == "" {
		return nil
	}
	o.certs = &certificate.Files{Cert: o.Cert, Key: o.Key, CA: o.CA, Log: o.Log, Use: func(s *certificate.Set) error {
		if name := s.Pair.Leaf.Subject.CommonName; !slices.Contains(roles, name) {
			return fmt.Errorf("the certificate in %s is that of a %s", o.Cert, strings.TrimPrefix(name, rolePrefix))
		}
		if use == nil {
			return nil
		}
		return use(s)
	}}
	if err := o.certs.Look(); err != nil {
		return &OptionError{"cluster-cert", fmt.Errorf("%w (dx cluster certs makes and renews certificates)", err)}
	}
	return nil
}

// readMemberCerts is readCerts of a member. Because etcd keeps the authorities with which it started, on
// this member and on the others, a pair that those do not know is refused: with it no other member could
// connect to this one again.
func (o *Options) readMemberCerts() error {
	var atStart *x509.CertPool
	return o.readCerts(func(s *certificate.Set) error {
		switch {
		case atStart == nil:
			atStart = s.CAs
		case s.SignedBy(atStart) != nil:
			return errors.New("its authority is new: restart every member with both authorities in --cluster-ca before a certificate is replaced")
		case !s.CAs.Equal(atStart):
			o.Log.Warn("the peer port uses the new authorities after the next start of this member", "ca", o.CA)
		}
		return atomicfile.Write(o.peerPair(), s.PEM())
	}, roleMember)
}

// watchCerts looks at the files of the certificates until ctx ends.
func (o *Options) watchCerts(ctx context.Context) {
	for o.certs != nil && backoff.Sleep(ctx, cmp.Or(o.lookEvery, lookEvery)) {
		_ = o.certs.Look() // it has logged what does not fit
	}
}

// certEnds returns when the certificate of this node and its authority end, in ns since 1970; 0 without.
func (o *Options) certEnds() (node, ca int64) {
	if o.certs == nil {
		return 0, 0
	}
	s := o.certs.Current()
	return s.End().UnixNano(), s.CAEnd.UnixNano()
}

// CertificateEnds returns when the certificate of this member and its authority end, in ns since 1970; 0
// without certificates.
func (c *Cluster) CertificateEnds() (node, ca int64) { return c.opt.certEnds() }

// CertificateEnds returns when the certificate of this follower and its authority end, in ns since 1970; 0
// without certificates.
func (f *Follower) CertificateEnds() (node, ca int64) { return f.options.certEnds() }

// serverTLS is that of a port for nodes with one of these roles. Each handshake uses the newest certificates.
// There are no tickets, with which a node could return without one.
func (o *Options) serverTLS(roles ...string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		s := o.certs.Current()
		return &tls.Config{
			MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, Certificates: []tls.Certificate{s.Pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: s.CAs,
			VerifyConnection: func(s tls.ConnectionState) error { return requireRole(s, roles...) },
		}, nil
	}}
}

// clientTLS is that of one connection to a node with one of these roles.
func (o *Options) clientTLS(host string, roles ...string) *tls.Config {
	s := o.certs.Current()
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: host, Certificates: []tls.Certificate{s.Pair}, RootCAs: s.CAs,
		VerifyConnection: func(s tls.ConnectionState) error { return requireRole(s, roles...) },
	}
}

// requireRole returns an error unless the other side has a certificate of one of the roles.
func requireRole(s tls.ConnectionState, roles ...string) error {
	if len(s.PeerCertificates) == 0 || !slices.Contains(roles, s.PeerCertificates[0].Subject.CommonName) {
		return errors.New("the certificate has no role in this cluster")
	}
	return nil
}

// httpClient returns a client for the ports of nodes with one of these roles.
func (o *Options) httpClient(roles ...string) *http.Client {
	dial := (&net.Dialer{Timeout: timeouts.Of(time.Second)}).DialContext
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}
	transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, timeouts.Of(2*time.Second))
		defer cancel()
		secure := tls.Client(conn, o.clientTLS(host, roles...))
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return secure, nil
	}
	return &http.Client{Transport: transport}
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// withPortOf is the host of one address with the port of another.
func withPortOf(host, port string) string {
	h, _, err := net.SplitHostPort(host)
	_, p, err2 := net.SplitHostPort(port)
	if err != nil || err2 != nil {
		return ""
	}
	return net.JoinHostPort(h, p)
}
