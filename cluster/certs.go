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
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"duplex/internal/atomicfile"
)

// The roles of certificates, which are their common names. A follower may read from the follow port;
// only a member may use the peer port.
const (
	rolePrefix   = "duplex-"
	roleMember   = rolePrefix + "member"
	roleFollower = rolePrefix + "follower"
)

// The times for which certificates are valid.
const (
	caYears   = 10
	clockSkew = time.Hour // certificates are valid from then on before they are made
)

// CertHost is a node that gets a certificate, and the host by which the others reach it.
type CertHost struct{ Name, Host string }

// CertOptions of WriteCerts.
type CertOptions struct {
	Valid time.Duration // of the certificates of nodes; at most as long as the authority
	Renew bool
	Now   time.Time
}

// WriteCerts writes a certificate and a key for each node into dir: NAME.crt and NAME.key, signed by
// the authority in ca.crt and ca.key, which it makes unless they are there. It returns when the first
// of the certificates ends. It replaces no file: the error is fs.ErrExist, and nothing is written for any node.
//
// With Renew it replaces each NAME.crt at once by a new certificate of the same key, role and authority, and
// does not need NAME.key. The host may be another one. A file that is missing is fs.ErrNotExist, and nothing
// is written for any node.
func WriteCerts(dir string, members, followers []CertHost, o CertOptions) (end time.Time, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return end, err
	}
	var certs []nodeCert
	for i, n := range slices.Concat(members, followers) {
		c := nodeCert{CertHost: n, path: filepath.Join(dir, n.Name), role: roleMember}
		if i >= len(members) {
			c.role = roleFollower
		}
		if err := c.prepare(o.Renew); err != nil {
			return end, err
		}
		certs = append(certs, c)
	}
	ca, err := loadCA(dir)
	if errors.Is(err, fs.ErrNotExist) && !o.Renew {
		ca, err = makeCA(dir, o.Now)
	}
	if err != nil {
		return end, err
	}
	end = o.Now.Add(o.Valid)
	if ca.cert.NotAfter.Before(end) {
		end = ca.cert.NotAfter
	}
	for _, c := range certs {
		if err := c.write(ca, o.Now, end); err != nil {
			return end, err
		}
	}
	return end, nil
}

// nodeCert is a certificate to be made.
type nodeCert struct {
	CertHost
	path string // without .crt or .key
	role string
	key  any // public key of the certificate that is renewed; nil: none is
}

// prepare checks what can be checked before anything is written.
func (c *nodeCert) prepare(renew bool) error {
	if err := CheckName(c.Name); err != nil {
		return err
	}
	if c.Name == "ca" {
		return errors.New("the name ca is that of the authority")
	}
	if renew {
		return c.readKey()
	}
	for _, suffix := range []string{".crt", ".key"} {
		if _, err := os.Lstat(c.path + suffix); err == nil {
			return &fs.PathError{Op: "create", Path: c.path + suffix, Err: fs.ErrExist}
		}
	}
	return nil
}

// readKey reads the public key of the certificate that is renewed, which must be of the same role: nobody
// makes a follower a member by mistake.
func (c *nodeCert) readKey() error {
	b, err := os.ReadFile(c.path + ".crt")
	if err != nil {
		return err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return fmt.Errorf("%s.crt has no certificate", c.path)
	}
	old, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("%s.crt: %w", c.path, err)
	}
	if old.Subject.CommonName != c.role {
		return fmt.Errorf("%s.crt is that of a %s", c.path, strings.TrimPrefix(old.Subject.CommonName, rolePrefix))
	}
	c.key = old.PublicKey
	return nil
}

// write makes the certificate, and a key for it unless it is renewed.
func (c *nodeCert) write(ca *authority, now, end time.Time) error {
	if c.key != nil {
		der, err := ca.issue(c, c.key, now, end)
		if err != nil {
			return err
		}
		return atomicfile.WriteMode(c.path+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := ca.issue(c, key.Public(), now, end)
	if err != nil {
		return err
	}
	return writePair(c.path+".crt", c.path+".key", der, key)
}

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func caFiles(dir string) (cert, key string) {
	return filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
}

func loadCA(dir string) (*authority, error) {
	certPath, keyPath := caFiles(dir)
	pair, err := tls.LoadX509KeyPair(certPath, keyPath)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, fmt.Errorf("%s is not an authority that dx has made", certPath)
	}
	return &authority{pair.Leaf, key}, nil
}

func makeCA(dir string, now time.Time) (*authority, error) {
	certPath, keyPath := caFiles(dir)
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

// issue signs a certificate of a public key, and returns it as DER.
func (a *authority) issue(c *nodeCert, key any, now, end time.Time) ([]byte, error) {
	template := &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: c.role, OrganizationalUnit: []string{c.Name}},
		NotBefore: now.Add(-clockSkew), NotAfter: end, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip, err := netip.ParseAddr(c.Host); err == nil {
		template.IPAddresses = append(template.IPAddresses, ip.AsSlice())
	} else if c.Host != "localhost" {
		template.DNSNames = append(template.DNSNames, c.Host)
	}
	return x509.CreateCertificate(rand.Reader, template, a.cert, key, a.key)
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
