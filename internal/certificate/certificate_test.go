package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// issuer is an authority, or one that it has signed, with its chain up to the authority.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

// issue makes a certificate that by has signed, or an authority if that is nil.
func issue(t *testing.T, by *issuer, end time.Time, authority bool) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: serial.String()}, NotBefore: time.Now().Add(-time.Hour), NotAfter: end, IsCA: authority, BasicConstraintsValid: true, DNSNames: []string{"a.example"}}
	if by == nil {
		by = &issuer{cert: c, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by.cert, key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return &issuer{c, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

func (i *issuer) keyPEM(t *testing.T) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// TestFiles replaces the three files by one content after the other, and checks which certificate is in use
// then, what the log says about it, and that it says so once.
func TestFiles(t *testing.T) {
	hour := time.Now().Add(time.Hour)
	old, next := issue(t, nil, hour.Add(2*time.Hour), true), issue(t, nil, hour.Add(9*time.Hour), true)
	ended := issue(t, nil, time.Now().Add(-time.Minute), true)
	between := issue(t, next, hour, true)
	first, second, renewed := issue(t, old, hour, false), issue(t, next, hour, false), issue(t, old, hour.Add(time.Hour), false)
	late, byEnded, chained := issue(t, old, time.Now().Add(-time.Minute), false), issue(t, ended, hour, false), issue(t, between, hour, false)
	unwanted := issue(t, old, hour, false)
	chained.pem += between.pem

	dir := t.TempDir()
	var log bytes.Buffer
	refusal := errors.New("not this one")
	f := &Files{Cert: filepath.Join(dir, "n.crt"), Key: filepath.Join(dir, "n.key"), CA: filepath.Join(dir, "ca.crt"), Log: slog.New(slog.NewTextHandler(&log, nil)), Use: func(s *Set) error {
		if s.Pair.Leaf.Equal(unwanted.cert) {
			return refusal
		}
		return nil
	}}
	both := old.pem + next.pem
	for i, step := range []struct {
		name          string
		cert, key, ca string
		use           *issuer // afterwards
		wrong         string
		caEnd         time.Time
	}{
		{"the first pair", first.pem, first.keyPEM(t), old.pem, first, "", old.cert.NotAfter},
		{"nothing new", first.pem, first.keyPEM(t), old.pem, first, "", old.cert.NotAfter},
		{"the key of another certificate", renewed.pem, first.keyPEM(t), old.pem, first, "private key does not match", old.cert.NotAfter},
		{"half a certificate", renewed.pem[:200], renewed.keyPEM(t), old.pem, first, "failed to find any PEM data", old.cert.NotAfter},
		{"an empty key", renewed.pem, "", old.pem, first, "failed to find any PEM data", old.cert.NotAfter},
		{"a file that is missing", "-", renewed.keyPEM(t), old.pem, first, "n.crt", old.cert.NotAfter},
		{"a renewed pair", renewed.pem, renewed.keyPEM(t), old.pem, renewed, "", old.cert.NotAfter},
		{"a certificate that has ended", late.pem, late.keyPEM(t), old.pem, renewed, "ended on", old.cert.NotAfter},
		{"one that Use refuses", unwanted.pem, unwanted.keyPEM(t), old.pem, renewed, refusal.Error(), old.cert.NotAfter},
		{"one of an unknown authority", second.pem, second.keyPEM(t), old.pem, renewed, "unknown authority", old.cert.NotAfter},
		{"one of an authority that has ended", byEnded.pem, byEnded.keyPEM(t), ended.pem, renewed, "expired", old.cert.NotAfter},
		{"no authority", renewed.pem, renewed.keyPEM(t), "\n", renewed, "has no certificate", old.cert.NotAfter},
		{"both authorities", renewed.pem, renewed.keyPEM(t), both, renewed, "", old.cert.NotAfter},
		{"a pair of the new one", second.pem, second.keyPEM(t), both, second, "", next.cert.NotAfter},
		{"the new authority alone", second.pem, second.keyPEM(t), next.pem, second, "", next.cert.NotAfter},
		{"one with another between", chained.pem, chained.keyPEM(t), next.pem, chained, "", next.cert.NotAfter},
	} {
		for path, text := range map[string]string{f.Cert: step.cert, f.Key: step.key, f.CA: step.ca} {
			if err := os.Remove(path); err != nil && i > 0 && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if text == "-" {
				continue
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		log.Reset()
		err := f.Look()
		if again := f.Look(); (again == nil) != (err == nil) {
			t.Errorf("%s: %v, then %v", step.name, err, again)
		}
		if (step.wrong == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), step.wrong) {
			t.Errorf("%s: %v, want %q", step.name, err, step.wrong)
		}
		if lines := strings.Count(log.String(), "level=ERROR"); lines != 0 && step.wrong == "" || lines != 1 && step.wrong != "" {
			t.Errorf("%s: the log has\n%s", step.name, &log)
		}
		s := f.Current()
		if !s.Pair.Leaf.Equal(step.use.cert) || !s.End().Equal(step.use.cert.NotAfter) || !s.CAEnd.Equal(step.caEnd) {
			t.Errorf("%s: another certificate is in use, with ends at %v and %v", step.name, s.End(), s.CAEnd)
		}
		if one, err := tls.X509KeyPair(s.PEM(), s.PEM()); err != nil || !one.Leaf.Equal(s.Pair.Leaf) {
			t.Errorf("%s: as one file: %v", step.name, err)
		}
	}
}

// TestFirstLook checks that files that do not fit are an error of the first look, which the log leaves to
// the caller, and that a later look finds them in order.
func TestFirstLook(t *testing.T) {
	dir := t.TempDir()
	ca := issue(t, nil, time.Now().Add(time.Hour), true)
	pair := issue(t, ca, time.Now().Add(time.Hour), false)
	var log bytes.Buffer
	f := &Files{Cert: filepath.Join(dir, "n.crt"), Key: filepath.Join(dir, "n.key"), Log: slog.New(slog.NewTextHandler(&log, nil))}
	if err := f.Look(); !errors.Is(err, os.ErrNotExist) || f.Current() != nil || log.Len() > 0 {
		t.Fatalf("%v, %v\n%s", err, f.Current(), &log)
	}
	if err := errors.Join(os.WriteFile(f.Cert, []byte(pair.pem), 0o600), os.WriteFile(f.Key, []byte(pair.keyPEM(t)), 0o600)); err != nil {
		t.Fatal(err)
	}
	if s := f.Recent(time.Hour); s != nil {
		t.Errorf("a second look within the hour: %v", s.End())
	}
	if s := f.Recent(0); s == nil || !s.Pair.Leaf.Equal(pair.cert) || s.CAs != nil || !s.CAEnd.IsZero() {
		t.Errorf("%+v", s)
	}
}
