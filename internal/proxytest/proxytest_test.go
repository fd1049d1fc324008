package proxytest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"duplex/internal/proxytest"
)

// member is a server that counts the requests with a body by it, besides those of health checks.
type member struct {
	*httptest.Server
	mu  sync.Mutex
	got map[string]int
}

// newMember starts a server with a status for every request; 0 closes the connection once the request has been read.
func newMember(t *testing.T, status int) *member {
	m := &member{got: map[string]int{}}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		check := r.URL.Path == "/readyz"
		if err == nil && len(b) > 0 {
			m.mu.Lock()
			m.got[string(b)]++
			m.mu.Unlock()
		}
		switch {
		case status == 0 && !check:
			panic(http.ErrAbortHandler)
		case status == 0:
			w.WriteHeader(http.StatusOK)
		default:
			w.WriteHeader(status)
			_, _ = w.Write(b)
		}
	}))
	t.Cleanup(m.Close)
	return m
}

// send sends a request through a proxy and returns the status and the body of the answer.
func send(t *testing.T, h *http.Client, method, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://"+proxytest.Host+"/", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := h.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestProxiesSkipAClosedMember checks that a request, with its body, goes to the next member if a member takes no
// connections, also before a health check has found out.
func TestProxiesSkipAClosedMember(t *testing.T) {
	proxytest.SkipUnlessRequired(t)
	for _, name := range proxytest.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, c := newMember(t, 200), newMember(t, 200), newMember(t, 200)
			p := proxytest.Start(t, name, []string{a.URL, b.URL, c.URL}, []string{a.URL, b.URL, c.URL})
			h := p.HTTPClient("127.0.0.1")
			for n := range 90 {
				switch n {
				case 30:
					a.Close()
				case 60:
					b.Close()
				}
				method, body := []string{"POST", "GET", "DELETE"}[n%3], ""
				if method != "GET" {
					body = fmt.Sprint("request ", n)
				}
				if status, answer := send(t, h, method, body); status != 200 || answer != body {
					t.Errorf("%s %d: %d %q", method, n, status, answer)
				}
			}
		})
	}
}

// TestProxiesRepeatNoWrite checks that a write which a member has read, and has not answered, is not sent to another
// one. nginx takes a DELETE for one that may be repeated.
func TestProxiesRepeatNoWrite(t *testing.T) {
	proxytest.SkipUnlessRequired(t)
	for _, name := range proxytest.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := newMember(t, 0), newMember(t, 0)
			p := proxytest.Start(t, name, []string{a.URL, b.URL}, []string{a.URL, b.URL})
			h := p.HTTPClient("127.0.0.1")
			for n := range 10 {
				for _, method := range []string{"POST", "DELETE"} {
					r, err := http.NewRequestWithContext(t.Context(), method, "https://"+proxytest.Host+"/", strings.NewReader(fmt.Sprint(method, " ", n)))
					if err != nil {
						t.Fatal(err)
					}
					// HAProxy closes a connection that was used before, so that the outcome is unknown too.
					if resp, err := h.Do(r); err == nil {
						if resp.Body.Close(); resp.StatusCode < 500 {
							t.Errorf("%s without an answer: %d", method, resp.StatusCode)
						}
					}
				}
			}
			arrived := map[string]int{}
			for _, m := range []*member{a, b} {
				for body, n := range m.got {
					arrived[body] += n
				}
			}
			for body, n := range arrived {
				if n > 1 && !(name == "nginx" && strings.HasPrefix(body, "DELETE")) {
					t.Errorf("%s arrived %d times", body, n)
				}
			}
			if len(arrived) == 0 {
				t.Error("no write arrived")
			}
		})
	}
}

// TestProxiesSkipAStartingMember checks that a read goes to the next member if a member answers that it serves
// nothing, and that the callers get that answer if all do.
func TestProxiesSkipAStartingMember(t *testing.T) {
	proxytest.SkipUnlessRequired(t)
	a, b := newMember(t, 503), newMember(t, 200)
	p := proxytest.Start(t, "nginx", []string{a.URL, b.URL}, []string{a.URL, b.URL})
	h := p.HTTPClient("127.0.0.1")
	for n := range 20 {
		if status, _ := send(t, h, "GET", ""); status != 200 {
			t.Errorf("GET %d: %d", n, status)
		}
	}
	urls := []string{a.URL, newMember(t, 503).URL, newMember(t, 503).URL}
	for members := 1; members <= 3; members++ {
		p := proxytest.Start(t, "nginx", urls[:members], urls[:members])
		h := p.HTTPClient("127.0.0.1")
		for n := range 40 {
			method := []string{"GET", "POST"}[n%2]
			if status, answer := send(t, h, method, fmt.Sprint(n)); status != 503 || answer != fmt.Sprint(n) {
				t.Errorf("%d members: %s %d: %d %q, want a member's own answer", members, method, n, status, answer)
			}
		}
	}
}
