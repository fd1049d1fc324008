package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"duplex/internal/timeouts"
)

// The roles of certificates, which are their common names. A follower may read from the follow port;
// only a member may use the peer port.
const (
	roleMember   = "duplex-member"
	roleFollower = "duplex-follower"
)

// The times for which certificates are valid.
const (
	caYears   = 10
	certYears = 2
	clockSkew = time.Hour // certificates are valid from then on before they are made
)

// CertHost is a node that gets a certificate, and the host by which the others reach it.
type CertHost struct{ Name, Host string }

// WriteCerts writes a certificate and a key for each node into dir: NAME.crt and NAME.key, signed by
// the authority in ca.crt and ca.key, which it makes unless they are there. It replaces no file:
// the error is fs.ErrExist, and nothing is written for any node.
func WriteCerts(dir string, members, followers []CertHost, now time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, n := range slices.Concat(members, followers) {
		if err := CheckName(n.Name); err != nil {
			return err
		}
		if n.Name == "ca" {
			return errors.New("the name ca is that of the authority")
		}
		for _, suffix := range []string{".crt", ".key"} {
			path := filepath.Join(dir, n.Name+suffix)
			if _, err := os.Lstat(path); err == nil {
				return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
			}
		}
	}
	ca, err := loadOrMakeCA(dir, now)
	if err != nil {
		return err
	}
	for _, n := range members {
		if err := ca.issue(dir, n, roleMember, now); err != nil {
			return err
		}
	}
	for _, n := range followers {
		if err := ca.issue(dir, n, roleFollower, now); err != nil {
			return err
		}
	}
	return nil
}

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func loadOrMakeCA(dir string, now time.Time) (*authority, error) {
	certPath, keyPath := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	pair, err := tls.LoadX509KeyPair(certPath, keyPath)
	if err == nil {
		cert, err := x509.ParseCertificate(pair.Certificate[0])
		key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
		if err == nil && (!ok || !cert.IsCA) {
			err = fmt.Errorf("%s is not an authority that dx has made", certPath)
		}
		return &authority{cert, key}, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: "duplex cluster"}, NotBefore: now.Add(-clockSkew), NotAfter: now.AddDate(caYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert, key}, writePair(certPath, keyPath, der, key)
}

func newSerial() *big.Int {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return new(big.Int).SetBytes(b[:])
}

func (a *authority) issue(dir string, n CertHost, role string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: role, OrganizationalUnit: []string{n.Name}},
		NotBefore: now.Add(-clockSkew), NotAfter: now.AddDate(certYears, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip, err := netip.ParseAddr(n.Host); err == nil {
		template.IPAddresses = append(template.IPAddresses, ip.AsSlice())
	} else if n.Host != "localhost" {
		template.DNSNames = append(template.DNSNames, n.Host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	return writePair(filepath.Join(dir, n.Name+".crt"), filepath.Join(dir, n.Name+".key"), der, key)
}

// writePair writes a certificate and its key. It replaces no file.
func writePair(certPath, keyPath string, der []byte, key *ecdsa.PrivateKey) error {
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writeNew(keyPath, 0o600, &pem.Block{Type: "PRIVATE KEY", Bytes: raw}); err != nil {
		return err
	}
	return writeNew(certPath, 0o644, &pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func writeNew(path string, mode fs.FileMode, block *pem.Block) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	return errors.Join(pem.Encode(f, block), f.Sync(), f.Close())
}

func (o *Options) pool() (*x509.CertPool, error) {
	b, err := os.ReadFile(o.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("%s has no certificate", o.CA)
	}
	return pool, nil
}

// serverTLS is that of the follow port: it asks members and followers for their certificates.
func (o *Options) serverTLS() (*tls.Config, error) {
	pool, err := o.pool()
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		VerifyConnection: func(s tls.ConnectionState) error { return requireRole(s, roleMember, roleFollower) },
	}, nil
}

// requireRole returns an error unless the other side has a certificate of one of the roles.
func requireRole(s tls.ConnectionState, roles ...string) error {
	if len(s.PeerCertificates) == 0 || !slices.Contains(roles, s.PeerCertificates[0].Subject.CommonName) {
		return errors.New("the certificate has no role in this cluster")
	}
	return nil
}

// httpClient returns a client for the ports of nodes with one of these roles.
func (o *Options) httpClient(roles ...string) (*http.Client, error) {
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: timeouts.Of(time.Second)}).DialContext, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: timeouts.Of(2 * time.Second)}
	client := &http.Client{Transport: transport}
	if o.Cert == "" {
		return client, nil
	}
	pool, err := o.pool()
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return nil, err
	}
	transport.TLSClientConfig = &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: pool,
		VerifyConnection: func(s tls.ConnectionState) error { return requireRole(s, roles...) },
	}
	return client, nil
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
