package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"duplex/internal/atomicfile"
)

// TestCerts checks for which hosts a certificate is valid, that a second call adds nodes to the same
// authority, and that no file is ever replaced.
func TestCerts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "certs")
	write := func(members, followers []CertHost) error {
		_, err := WriteCerts(dir, members, followers, CertOptions{Valid: time.Hour, Now: time.Now()})
		return err
	}
	if err := write([]CertHost{{"a", "10.0.0.1"}, {"b", "b.example"}}, nil); err != nil {
		t.Fatal(err)
	}
	files := func() map[string]string { return filesIn(t, dir) }
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

// TestRenewedCerts checks that renewed certificates have the same keys and roles, other ends and hosts, that
// nothing else is changed, and what is refused without a change of any file.
func TestRenewedCerts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "certs")
	now := time.Now().Truncate(time.Second)
	write := func(members, followers []CertHost, valid time.Duration, renew bool) (time.Time, error) {
		return WriteCerts(dir, members, followers, CertOptions{Valid: valid, Renew: renew, Now: now})
	}
	if _, err := write([]CertHost{{"a", "10.0.0.1"}}, nil, time.Hour, true); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a renewal without an authority: %v", err)
	}
	if _, err := write([]CertHost{{"a", "10.0.0.1"}, {"b", "10.0.0.2"}}, []CertHost{{"f", "10.0.0.9"}}, time.Minute, false); err != nil {
		t.Fatal(err)
	}
	files := func() map[string]string { return filesIn(t, dir) }
	before := files()
	for what, test := range map[string]struct {
		members, followers []CertHost
		wrong              string
	}{
		"a follower as a member": {[]CertHost{{"a", "10.0.0.1"}, {"f", "10.0.0.9"}}, nil, "f.crt is that of a follower"},
		"a member as a follower": {nil, []CertHost{{"b", "10.0.0.2"}}, "b.crt is that of a member"},
		"a node without a pair":  {[]CertHost{{"a", "10.0.0.1"}, {"c", "10.0.0.3"}}, nil, "c.crt"},
		"the authority":          {[]CertHost{{"ca", "10.0.0.3"}}, nil, "that of the authority"},
	} {
		if _, err := write(test.members, test.followers, time.Hour, true); err == nil || !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: %v, want %q", what, err, test.wrong)
		}
	}
	if after := files(); !maps.Equal(before, after) {
		t.Error("a renewal that was refused has changed a file")
	}
	if err := os.Remove(filepath.Join(dir, "a.key")); err != nil { // it is on its machine
		t.Fatal(err)
	}
	end, err := write([]CertHost{{"a", "a.example"}}, []CertHost{{"f", "10.0.0.9"}}, 48*time.Hour, true)
	if err != nil || !end.Equal(now.Add(48*time.Hour)) {
		t.Fatal(end, err)
	}
	after := files()
	for name, text := range before {
		if renewed := name == "a.crt" || name == "f.crt"; (after[name] != text) != (renewed || name == "a.key") {
			t.Errorf("%s was replaced, or was not", name)
		}
	}
	for name, key := range map[string]string{"a": before["a.key"], "f": after["f.key"]} {
		pair, err := tls.X509KeyPair([]byte(after[name+".crt"]), []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		old, err := tls.X509KeyPair([]byte(before[name+".crt"]), []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		if c := pair.Leaf; !c.NotAfter.Equal(end) || c.Subject.String() != old.Leaf.Subject.String() || c.SerialNumber.Cmp(old.Leaf.SerialNumber) == 0 {
			t.Errorf("%s: %v, ends on %v", name, c.Subject, c.NotAfter)
		}
		if err := pair.Leaf.VerifyHostname("a.example"); (err == nil) != (name == "a") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if end, err := write([]CertHost{{"a", "10.0.0.1"}}, nil, 20*365*24*time.Hour, true); err != nil || end.After(now.AddDate(caYears, 0, 0)) {
		t.Errorf("a certificate outlasts its authority: %v %v", end, err)
	}
}

// filesIn reads the files of a folder, by name.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
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

// writeBundle writes the authorities of two folders into one file.
func writeBundle(path, a, b string) error {
	var text []byte
	for _, dir := range []string{a, b} {
		ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
		if err != nil {
			return err
		}
		text = append(text, ca...)
	}
	return atomicfile.WriteMode(path, text, 0o644)
}
