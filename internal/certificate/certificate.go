// Package certificate reads a certificate from files that may be replaced while the process runs.
package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Files is a certificate with its private key and, with CA, the authorities that its holder trusts, in PEM
// files. What they have is used only if it fits: the key is that of the certificate, the certificate has not
// ended, and one of the authorities has signed it. So whoever replaces the files may do it one after the
// other. Its methods may be called by any number of goroutines after the first Look.
type Files struct {
	Cert, Key string
	CA        string           // a bundle of several is allowed; "": none
	Use       func(*Set) error // is called with what fits before Current returns it; an error keeps the previous one. nil: none
	Log       *slog.Logger

	mu      sync.Mutex
	looked  time.Time
	failed  string // the error that was logged last; "": the files fit
	current atomic.Pointer[Set]
}

// Set is what the files had at one time. It is read-only.
type Set struct {
	Pair  tls.Certificate // has its Leaf
	CAs   *x509.CertPool  // nil without CA
	CAEnd time.Time       // end of the authority that has signed, the latest if several have; zero without CA

	text [3][]byte // of Cert, Key and CA
}

// End is when the certificate ends.
func (s *Set) End() time.Time { return s.Pair.Leaf.NotAfter }

// PEM is the certificate and its key, for one file.
func (s *Set) PEM() []byte { return slices.Concat(s.text[0], []byte("\n"), s.text[1]) }

// Look reads the files, and uses what they have from now on if it is new and fits. The error of files that
// do not fit is logged once, unless they are read for the first time; then it is the caller's.
func (f *Files) Look() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.look()
}

// Recent is Current, after a Look if the last one is this long ago.
func (f *Files) Recent(age time.Duration) *Set {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) >= age {
		_ = f.look() // logged
	}
	return f.Current()
}

// Current is what fitted last. It is nil before the first Look without an error.
func (f *Files) Current() *Set { return f.current.Load() }

func (f *Files) look() error {
	f.looked = time.Now()
	previous := f.Current()
	s, err := f.read(previous)
	if err == nil && s != previous && f.Use != nil {
		err = f.Use(s)
	}
	if err != nil {
		if text := err.Error(); previous != nil && text != f.failed {
			f.failed = text
			f.Log.Error("the new certificate does not fit; the previous one stays", "cert", f.Cert, "err", err)
		}
		return err
	}
	f.failed = ""
	if s == previous {
		return nil
	}
	f.current.Store(s)
	args := []any{"cert", f.Cert, "names", s.Pair.Leaf.DNSNames, "ends", s.End()}
	if s.CAs != nil {
		args = append(args, "ca_ends", s.CAEnd)
	}
	f.Log.Info("certificate", args...)
	return nil
}

// read returns previous if the files still have it.
func (f *Files) read(previous *Set) (*Set, error) {
	s := &Set{}
	for i, path := range []string{f.Cert, f.Key, f.CA} {
		if path == "" {
			continue
		}
		var err error
		if s.text[i], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	if previous != nil && slices.EqualFunc(s.text[:], previous.text[:], bytes.Equal) {
		return previous, nil
	}
	var err error
	if s.Pair, err = tls.X509KeyPair(s.text[0], s.text[1]); err != nil {
		return nil, err
	}
	if time.Now().After(s.End()) {
		return nil, fmt.Errorf("the certificate in %s ended on %s", f.Cert, s.End().UTC().Format("2006-01-02 15:04 UTC"))
	}
	if f.CA == "" {
		return s, nil
	}
	s.CAs = x509.NewCertPool()
	if !s.CAs.AppendCertsFromPEM(s.text[2]) {
		return nil, fmt.Errorf("%s has no certificate", f.CA)
	}
	if s.CAEnd, err = s.signedBy(s.CAs); err != nil {
		return nil, fmt.Errorf("the certificate in %s is not valid with the authorities in %s: %w", f.Cert, f.CA, err)
	}
	return s, nil
}

// SignedBy returns an error unless one of the authorities has signed the certificate, and is valid now.
func (s *Set) SignedBy(authorities *x509.CertPool) error {
	_, err := s.signedBy(authorities)
	return err
}

func (s *Set) signedBy(authorities *x509.CertPool) (end time.Time, err error) {
	between := x509.NewCertPool()
	for _, der := range s.Pair.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return end, err
		}
		between.AddCert(c)
	}
	chains, err := s.Pair.Leaf.Verify(x509.VerifyOptions{Roots: authorities, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	for _, chain := range chains {
		if last := chain[len(chain)-1].NotAfter; last.After(end) {
			end = last
		}
	}
	return end, err
}
