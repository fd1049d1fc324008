package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReady checks the exit code and the words of dx ready, also at a port that speaks TLS.
func TestReady(t *testing.T) {
	status, body := 200, `{"status":"ok","phase":"serving"}`
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			status = 404
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	defer plain.Close()
	defer secure.Close()
	silent := httptest.NewServer(h)
	silent.Close()
	for _, s := range []*httptest.Server{plain, secure} {
		at := s.Listener.Addr().String()
		for _, x := range []struct {
			status   int
			body     string
			code     int
			out, err string
		}{
			{200, `{"status":"ok","phase":"serving"}`, 0, "serving\n", ""},
			{503, `{"status":"unavailable","phase":"waiting for a majority"}`, 1, "", "waiting for a majority"},
			{503, `gateway`, 1, "", "503"},
			{200, `<html>`, 1, "", "something else"},
			{404, `{}`, 1, "", "404"},
		} {
			status, body = x.status, x.body
			for _, address := range []string{at, s.URL, s.URL + "/", s.URL + "/readyz"} {
				if code, out, errs := runCommand("ready", address); code != x.code || out != x.out || !strings.Contains(errs, x.err) {
					t.Errorf("dx ready %s of %d %s: exit %d %q %q, want %d %q %q", address, x.status, x.body, code, out, errs, x.code, x.out, x.err)
				}
			}
		}
	}
	status, body = 200, `{"status":"ok","phase":"serving"}`
	_, port, _ := strings.Cut(plain.Listener.Addr().String(), ":")
	for _, listens := range []string{":" + port, "0.0.0.0:" + port, "[::]:" + port} { // as a venue names where it listens
		t.Setenv("DX_API", listens)
		if code, out, errs := runCommand("ready"); code != 0 || out != "serving\n" {
			t.Errorf("DX_API=%s dx ready: exit %d %q %q", listens, code, out, errs)
		}
	}
	t.Setenv("DX_API", "")
	if err := os.Unsetenv("DX_API"); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "dx.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "api = %q\nportal = \":0\"\n", ":"+port), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := runCommand("ready", "--config", config); code != 0 || out != "serving\n" {
		t.Errorf("dx ready --config: exit %d %q %q", code, out, errs)
	}
	if code, _, errs := runCommand("ready", "http://"+secure.Listener.Addr().String()); code != 1 || !strings.Contains(errs, "try https") {
		t.Errorf("dx ready http:// to a TLS port: exit %d %q", code, errs)
	}
	for _, wrong := range []string{silent.Listener.Addr().String(), "nowhere"} {
		if code, _, errs := runCommand("ready", wrong); code != 1 || errs == "" {
			t.Errorf("dx ready %s: exit %d %q, want 1", wrong, code, errs)
		}
	}
}
