package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"duplex/internal/address"
	"duplex/internal/certificate"
	"duplex/lanes/gate"
)

// TLS is the source of the venue's certificate: a pair of files, or an authority that
// issues certificates by ACME. The zero value is none.
type TLS struct {
	// Cert and Key are PEM files: the certificate with its chain, and its private key. They
	// are read again when they change. While the new pair does not fit, the old one stays.
	Cert, Key string

	// ACMEDomains are the names for which certificates are ordered, the first time that a
	// client asks for each. The folder acme of Data keeps them. The authority must reach the
	// venue at port 443 of each name, or at port 80 with ACMEHTTP. Setting it means that the
	// operator agrees to the authority's terms.
	ACMEDomains []string
	// ACMEEmail is where the authority reports problems; it may be empty.
	ACMEEmail string
	// ACMEDirectory is the URL of the authority; default Let's Encrypt.
	ACMEDirectory string
	// ACMEHTTP is the address of a listener, such as :80, that answers the authority and
	// sends every other request to https. "" is none.
	ACMEHTTP string
}

func (t *TLS) enabled() bool { return t.Cert != "" || len(t.ACMEDomains) > 0 }

// check returns an *OptionError if the settings contradict each other.
func (t *TLS) check() error {
	switch {
	case (t.Cert == "") != (t.Key == ""):
		return &OptionError{"TLS.Cert", errors.New("a certificate and its key go together")}
	case t.Cert != "" && len(t.ACMEDomains) > 0:
		return &OptionError{"TLS.Cert", errors.New("the certificate comes either from files or from an authority")}
	case len(t.ACMEDomains) == 0 && (t.ACMEEmail != "" || t.ACMEDirectory != "" || t.ACMEHTTP != ""):
		return &OptionError{"TLS.ACMEDomains", errors.New("an authority needs the names of the venue")}
	}
	for _, name := range t.ACMEDomains {
		if name != strings.ToLower(name) || !strings.Contains(strings.Trim(name, "."), ".") || strings.ContainsAny(name, "*:/ ") {
			return &OptionError{"TLS.ACMEDomains", fmt.Errorf("%q is not a lower-case domain name such as api.venue.example", name)}
		}
	}
	if t.ACMEDirectory != "" {
		if _, err := address.ParseSecure(t.ACMEDirectory); err != nil {
			return &OptionError{"TLS.ACMEDirectory", err}
		}
	}
	if t.ACMEHTTP != "" {
		if err := address.CheckListen(t.ACMEHTTP); err != nil {
			return &OptionError{"TLS.ACMEHTTP", err}
		}
	}
	return nil
}

// startTLS prepares the certificate of the listeners. It does nothing without TLS. The listener of ACMEHTTP
// serves at most acmePlaces connections at once.
func (v *Venue) startTLS(acmePlaces int) error {
	t := &v.options.TLS
	switch {
	case t.Cert != "":
		c := &certificate.Files{Cert: t.Cert, Key: t.Key, Log: v.options.Log}
		if err := c.Look(); err != nil {
			return &OptionError{"TLS.Cert", err}
		}
		v.certificates = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &c.Recent(checkInterval).Pair, nil }}
		v.certificateEnd = func() time.Time { return c.Current().End() }
	case len(t.ACMEDomains) > 0:
		return v.startACME(acmePlaces)
	}
	return nil
}

// allowName is the policy of the names for which certificates are ordered. The Host of a
// request has a port if the venue is behind a forwarded one.
func (t *TLS) allowName(_ context.Context, host string) error {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if !slices.Contains(t.ACMEDomains, host) {
		return fmt.Errorf("%q is not a name of the venue", host)
	}
	return nil
}

func (v *Venue) startACME(places int) error {
	t := &v.options.TLS
	m := &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(filepath.Join(v.options.Data, "acme")),
		HostPolicy: t.allowName, Email: t.ACMEEmail,
	}
	if t.ACMEDirectory != "" {
		m.Client = &acme.Client{DirectoryURL: t.ACMEDirectory}
	}
	issued := &issuedCertificates{manager: m, log: v.options.Log}
	v.certificates = &tls.Config{GetCertificate: issued.get, NextProtos: []string{acme.ALPNProto}}
	v.certificateEnd = issued.notAfter
	if t.ACMEHTTP == "" {
		return nil
	}
	l, err := net.Listen("tcp", t.ACMEHTTP)
	if err != nil {
		return &OptionError{"TLS.ACMEHTTP", err}
	}
	v.serve(gate.Server(m.HTTPHandler(nil), v.options.Log), gate.WrapListener(l, v.places(places)))
	return nil
}

// checkInterval is the least time between two looks at the files of a certificate. The venue looks at them
// during a handshake, so that no file is watched while nobody connects.
const checkInterval = time.Second

// issuedCertificates are the certificates of an authority. It is safe for concurrent use.
type issuedCertificates struct {
	manager *autocert.Manager
	log     *slog.Logger
	ends    sync.Map // server name to the time.Time at which its newest certificate ends
}

// get implements tls.Config.GetCertificate.
func (i *issuedCertificates) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c, err := i.manager.GetCertificate(hello)
	if err != nil {
		// A name that is not the venue's is a stranger's mistake, not a failure.
		if i.manager.HostPolicy(context.Background(), hello.ServerName) == nil {
			i.log.Error("no certificate from the authority", "name", hello.ServerName, "err", err)
		}
		return nil, err
	}
	if len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto {
		return c, nil // the proof of a domain, not a certificate
	}
	if c.Leaf == nil {
		if c.Leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
			return nil, err
		}
	}
	if end, known := i.ends.Swap(hello.ServerName, c.Leaf.NotAfter); !known || end != c.Leaf.NotAfter {
		i.log.Info("certificate", "names", c.Leaf.DNSNames, "ends", c.Leaf.NotAfter)
	}
	return c, nil
}

// notAfter returns the earliest end of the certificates in use; zero before the first.
func (i *issuedCertificates) notAfter() (earliest time.Time) {
	i.ends.Range(func(_, end any) bool {
		if t := end.(time.Time); earliest.IsZero() || t.Before(earliest) {
			earliest = t
		}
		return true
	})
	return earliest
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// serve serves a listener until the venue is closed.
func (v *Venue) serve(s *http.Server, l net.Listener) {
	v.servers = append(v.servers, s)
	v.background.Go(func() {
		if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			v.failed <- err
		}
	})
}
