// Package proxytest runs nginx, Caddy and HAProxy with the files of docs/operations/proxies, in front of the
// listeners of a test.
package proxytest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/internal/logbuffer"
)

// Host and PortalHost are the names in the files, of the API and of the portal.
const Host, PortalHost = "api.trade.example", "trade.example"

// Names are the proxies.
var Names = []string{"nginx", "haproxy", "caddy"}

// Proxy is a proxy that runs until its test ends.
type Proxy struct {
	Roots *x509.CertPool // that its certificates are from

	t            *testing.T
	dir          string
	port         string // in place of 443
	api, portals []string
}

// SkipUnlessRequired skips a test that waits for many seconds, or that takes much of the machine.
func SkipUnlessRequired(t *testing.T) {
	t.Helper()
	if os.Getenv("DX_PROXIES") != "required" {
		t.Skip("starts nginx, Caddy and HAProxy, and takes up to a minute: DX_PROXIES=required runs it, as .ci/full proxies does")
	}
}

// Start starts a proxy with its file in front of the URLs or addresses of APIs and portals. It skips the test if
// the proxy is not installed.
func Start(t *testing.T, name string, api, portals []string) *Proxy {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil && os.Getenv("DX_PROXIES") != "required" {
		t.Skip(name + " is not installed; DX_PROXIES=required makes this a failure")
	}
	p := &Proxy{t: t, dir: t.TempDir(), port: freePort(t), api: api, portals: portals}
	command, root := p.configure(name)
	c := exec.Command(command[0], command[1:]...)
	var output logbuffer.Buffer
	c.Stdout, c.Stderr = &output, &output
	c.Env = append(os.Environ(), "XDG_DATA_HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir, "HOME="+p.dir)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-ended
		if t.Failed() {
			t.Log(output.String())
		}
	})
	if p.Roots = p.wait(root, ended); p.Roots == nil {
		t.Fatal(name + " has ended")
	}
	return p
}

// configure writes the configuration of a proxy. It returns the command that runs it, and the file with the
// authority to trust.
func (p *Proxy) configure(name string) (command []string, root string) {
	p.t.Helper()
	root = filepath.Join(p.dir, "fullchain.pem")
	if name != "caddy" { // which makes its own
		WriteCertificate(p.t, p.dir, time.Now().AddDate(0, 3, 0))
	}
	switch name {
	case "nginx":
		p.write("duplex.conf", p.recipe("nginx.conf"))
		p.write("nginx.conf", "daemon off;\nuser root;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents { worker_connections 4096; }\nhttp { access_log off; include "+filepath.Join(p.dir, "duplex.conf")+"; }\n")
		return []string{"nginx", "-p", p.dir, "-c", filepath.Join(p.dir, "nginx.conf")}, root
	case "haproxy":
		p.write("haproxy.cfg", p.recipe("haproxy.cfg"))
		return []string{"haproxy", "-db", "-f", filepath.Join(p.dir, "haproxy.cfg")}, root
	case "caddy":
		options := fmt.Sprintf("\n{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\tauto_https disable_redirects\n\thttps_port %s\n", p.port)
		recipe := strings.Replace(p.recipe("Caddyfile"), "\n{\n", options, 1) // into its global options
		if UsesOldBufferOptions(p.t) {
			recipe = strings.ReplaceAll(recipe, "\t\trequest_buffers 64KiB", "\t\tmax_buffer_size 65536\n\t\tbuffer_requests")
		}
		p.write("Caddyfile", recipe)
		return []string{"caddy", "run", "--config", filepath.Join(p.dir, "Caddyfile"), "--adapter", "caddyfile"}, filepath.Join(p.dir, "caddy/pki/authorities/local/root.crt")
	}
	p.t.Fatal("no proxy ", name)
	return nil, ""
}

// UsesOldBufferOptions reports whether Caddy is older than 2.6.4. The file says what to write for it.
func UsesOldBufferOptions(t *testing.T) bool {
	t.Helper()
	out, err := exec.Command("caddy", "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(strings.TrimPrefix(string(out), "v"), "2.6.2")
}

func (p *Proxy) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// recipe returns a file of docs/operations/proxies for the addresses and the files of the test.
func (p *Proxy) recipe(name string) string {
	p.t.Helper()
	root := "."
	for depth := 0; ; depth++ {
		if _, err := os.Stat(filepath.Join(root, "docs/operations/proxies")); err == nil {
			break
		}
		if depth == 10 {
			p.t.Fatal("docs/operations/proxies is not above the test's directory")
		}
		root = filepath.Join(root, "..")
	}
	b, err := os.ReadFile(filepath.Join(root, "docs/operations/proxies", name))
	if err != nil {
		p.t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(b)) {
		line = withServers(withServers(line, "127.0.0.1:8080", p.api), "127.0.0.1:8081", p.portals)
		text.WriteString(line)
	}
	return strings.NewReplacer("listen 443", "listen 127.0.0.1:"+p.port, "bind :443", "bind 127.0.0.1:"+p.port, "/etc/dx/", p.dir+"/", "health_port 8080", "health_port "+p.api[0][strings.LastIndex(p.api[0], ":")+1:], "proxy_next_upstream_tries 1;", fmt.Sprintf("proxy_next_upstream_tries %d;", len(p.api))).Replace(text.String())
}

// withServers returns a line with servers in place of the address of one, as the comments of the files say: a
// line for each that begins with the word server, and else their list.
func withServers(line, address string, servers []string) string {
	if !strings.Contains(line, address) {
		return line
	}
	var list []string
	for _, s := range servers {
		list = append(list, strings.TrimPrefix(s, "http://"))
	}
	if len(list) == 1 || !strings.HasPrefix(strings.TrimSpace(line), "server ") {
		return strings.ReplaceAll(line, address, strings.Join(list, " "))
	}
	lines := ""
	for i, s := range list { // HAProxy's servers have names of their own
		lines += strings.NewReplacer(address, s, "venue", fmt.Sprint("venue", i+1)).Replace(line)
	}
	return lines
}

// WriteCertificate writes a certificate that is its own authority, and its key, to a directory, under the names
// that the files have. It returns the path of the certificate.
func WriteCertificate(t *testing.T, dir string, end time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: end, DNSNames: []string{Host, PortalHost}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, private := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
	for name, b := range map[string][]byte{"fullchain.pem": public, "key.pem": private, "duplex.pem": append(public[:len(public):len(public)], private...)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "fullchain.pem")
}

// freePort returns a port on which nothing listens. It is below those that systems give to outgoing connections
// (Linux: from 32768), so that no other program gets it before the proxy binds it.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(15_000 + mathrand.IntN(15_000))
		if l, err := net.Listen("tcp", ":"+port); err == nil { // on every address, as a proxy may
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return ""
}

// Dial opens a TCP connection to the proxy from a loopback address.
func (p *Proxy) Dial(ctx context.Context, from string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return d.DialContext(ctx, "tcp", "127.0.0.1:"+p.port)
}

// HTTPClient returns a client from a loopback address. It follows no redirects, because a signature covers one
// target.
func (p *Proxy) HTTPClient(from string) *http.Client {
	t := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: p.Roots}, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.Dial(ctx, from) },
	}
	p.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Timeout: 3 * time.Minute, Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// wait returns the authorities to trust once the proxy listens, and nil if it has ended.
func (p *Proxy) wait(root string, ended chan error) *x509.CertPool {
	p.t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			return nil
		default:
		}
		b, err := os.ReadFile(root)
		if err != nil {
			continue
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(b) {
			continue
		}
		// A proxy that gets its certificates by itself may listen before it has both.
		if hasCertificate(p.port, pool, Host) && hasCertificate(p.port, pool, PortalHost) {
			return pool
		}
	}
	p.t.Fatal("the proxy does not listen")
	return nil
}

// hasCertificate reports whether a host of the proxy has a certificate that the pool trusts.
func hasCertificate(port string, pool *x509.CertPool, host string) bool {
	conn, err := tls.Dial("tcp", "127.0.0.1:"+port, &tls.Config{RootCAs: pool, ServerName: host})
	if err != nil {
		return false
	}
	return conn.Close() == nil
}
