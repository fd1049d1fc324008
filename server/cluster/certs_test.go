package cluster

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCerts checks for which hosts a certificate is valid, that a second call adds nodes to the same
// authority, and that no file is ever replaced.
func TestCerts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "certs")
	write := func(members, followers []CertHost) error { return WriteCerts(dir, members, followers, time.Now()) }
	if err := write([]CertHost{{"a", "10.0.0.1"}, {"b", "b.example"}}, nil); err != nil {
		t.Fatal(err)
	}
	files := func() map[string]string {
		list, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		content := map[string]string{}
		for _, f := range list {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			content[filepath.Base(f)] = string(b)
		}
		return content
	}
	first := files()
	if err := write([]CertHost{{"c", "10.0.0.3"}, {"b", "b.example"}}, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second certificate of b: %v", err)
	}
	if got := files(); len(got) != 6 || len(first) != 6 {
		t.Errorf("%d files, then %d", len(first), len(got))
	}
	if err := write(nil, []CertHost{{"f", "10.0.0.9"}}); err != nil {
		t.Fatal(err)
	}
	all := files()
	for name, text := range first {
		if all[name] != text {
			t.Errorf("%s was replaced", name)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(all["ca.crt"]))
	for name, host := range map[string]string{"a": "10.0.0.1", "b": "b.example", "f": "10.0.0.9"} {
		block, _ := pem.Decode([]byte(all[name+".crt"]))
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		for host, valid := range map[string]bool{host: true, "localhost": true, "127.0.0.1": true, "::1": true, "10.0.0.77": false, "example": false} {
			if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); (err == nil) != valid {
				t.Errorf("%s as %s: %v", name, host, err)
			}
		}
		if info, err := os.Stat(filepath.Join(dir, name+".key")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key of %s: %v %v", name, info.Mode(), err)
		}
	}
}
