package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// anywhere is the network that asks.
var anywhere netip.Prefix

func testClients(loopback bool) *Clients {
	return NewClients(func() [][]byte { return [][]byte{[]byte("new key"), []byte("old key")} }, loopback, time.Now)
}

// TestRegistration tests what may be registered, and that the venue knows what it has signed and nothing else.
func TestRegistration(t *testing.T) {
	c := testClients(false)
	for name, x := range map[string]struct {
		m    Metadata
		code string // "": it is registered
	}{
		"a name and a redirect":    {Metadata{Name: "Host", Redirects: []string{"https://host.example/back"}}, ""},
		"ten redirects, no name":   {Metadata{Redirects: strings.Split(strings.Repeat("https://host.example/back ", 9)+"cursor://a/b", " ")}, ""},
		"a name of 64 characters":  {Metadata{Name: strings.Repeat("é", 64), Redirects: []string{"https://host.example/back"}}, ""},
		"markup is a name":         {Metadata{Name: "<img src=x>", Redirects: []string{"https://host.example/back"}}, ""},
		"no redirect":              {Metadata{Name: "Host"}, InvalidRedirectURI},
		"eleven redirects":         {Metadata{Redirects: strings.Split(strings.Repeat("https://h.example/b ", 10)+"https://h.example/b", " ")}, InvalidRedirectURI},
		"a bad redirect":           {Metadata{Redirects: []string{"https://host.example/back", "javascript:alert(1)"}}, InvalidRedirectURI},
		"a name of 65 characters":  {Metadata{Name: strings.Repeat("é", 65), Redirects: []string{"https://host.example/back"}}, InvalidClientMetadata},
		"a name of two lines":      {Metadata{Name: "a\nb", Redirects: []string{"https://host.example/back"}}, InvalidClientMetadata},
		"a name that runs back":    {Metadata{Name: "a\u202eb", Redirects: []string{"https://host.example/back"}}, InvalidClientMetadata},
		"a blank name":             {Metadata{Name: "  ", Redirects: []string{"https://host.example/back"}}, InvalidClientMetadata},
		"a filler for a name":      {Metadata{Name: "\u3164", Redirects: []string{"https://host.example/back"}}, InvalidClientMetadata},
		"an empty symbol":          {Metadata{Name: "\u2800", Redirects: []string{"https://host.example/back"}}, InvalidClientMetadata},
		"a variation":              {Metadata{Name: "a\ufe0f", Redirects: []string{"https://host.example/back"}}, InvalidClientMetadata},
		"a grapheme joiner":        {Metadata{Name: "a\u034fb", Redirects: []string{"https://host.example/back"}}, InvalidClientMetadata},
		"no character":             {Metadata{Name: "a\u0378", Redirects: []string{"https://host.example/back"}}, InvalidClientMetadata},
		"marks over the lines":     {Metadata{Name: "a" + strings.Repeat("\u0301\u0316", 9), Redirects: []string{"https://host.example/back"}}, InvalidClientMetadata},
		"a letter with two marks":  {Metadata{Name: "Vie\u0323\u0302t", Redirects: []string{"https://host.example/back"}}, ""},
		"a name with a null space": {Metadata{Name: "a\u200bb", Redirects: []string{"https://host.example/back"}}, InvalidClientMetadata},
		"over 1 KiB":               {Metadata{Redirects: []string{"https://host.example/" + strings.Repeat("a", 900)}}, InvalidClientMetadata},
	} {
		made, fault := c.Register(&x.m)
		if x.code != "" {
			if fault == nil || fault.Code != x.code {
				t.Errorf("%s: %v, want %s", name, fault, x.code)
			}
			continue
		}
		if fault != nil || len(made.ID) > 1024 {
			t.Errorf("%s: %v, %d characters", name, fault, len(made.ID))
			continue
		}
		found, fault := c.Find(t.Context(), anywhere, made.ID)
		if fault != nil || fmt.Sprint(found.Redirects) != fmt.Sprint(x.m.Redirects) || x.m.Name != "" && found.Name != x.m.Name || found.Name == "" || found.Document != "" {
			t.Errorf("%s: found %+v, %v", name, found, fault)
		}
		for i := len(registeredPrefix); i < len(made.ID); i += 7 {
			forged := []byte(made.ID)
			forged[i] = map[bool]byte{true: 'A', false: 'B'}[forged[i] != 'A']
			if got, fault := c.Find(t.Context(), anywhere, string(forged)); fault == nil {
				t.Fatalf("%s: forged at %d: %+v", name, i, got)
			}
		}
	}
	m := Metadata{Redirects: []string{"https://host.example/back"}}
	old := NewClients(func() [][]byte { return [][]byte{[]byte("old key")} }, false, time.Now)
	stranger := NewClients(func() [][]byte { return [][]byte{[]byte("another key")} }, false, time.Now)
	made, _ := old.Register(&m)
	if _, fault := c.Find(t.Context(), anywhere, made.ID); fault != nil {
		t.Errorf("registered under an old master key: %v", fault)
	}
	if _, fault := stranger.Find(t.Context(), anywhere, made.ID); fault == nil {
		t.Error("a venue knows another venue's client")
	}
	for _, id := range []string{"", "dxc_", "dxc_!", "dxc_" + strings.Repeat("A", 2000), "Host", "ftp://host.example/c"} {
		if got, fault := c.Find(t.Context(), anywhere, id); fault == nil {
			t.Errorf("%q: %+v", id, got)
		}
	}
}

// requests counts the requests of a server, by path.
type requests struct {
	mu sync.Mutex
	n  map[string]int
}

func (r *requests) add(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == nil {
		r.n = map[string]int{}
	}
	r.n[path]++
}

func (r *requests) of(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n[path]
}

// TestDocuments tests which documents count, and that the venue reads each once an hour.
func TestDocuments(t *testing.T) {
	var base string
	var asked requests
	served := map[string]any{}
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.add(r.URL.Path)
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, base+"/good", http.StatusFound)
		case "/endless":
			for {
				if _, err := w.Write([]byte(strings.Repeat(" ", 1<<10))); err != nil {
					return
				}
			}
		case "/silent":
			<-release
		case "/html":
			_, _ = w.Write([]byte("<html>")) // a client that left does not read it
		default:
			if served[r.URL.Path] == nil {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			_ = json.NewEncoder(w).Encode(served[r.URL.Path])
		}
	}))
	defer server.Close()
	defer close(release)
	base = server.URL
	document := func(path string, more map[string]any) {
		m := map[string]any{"client_id": base + path, "client_name": "Host", "redirect_uris": []string{"https://host.example/back"}}
		for k, v := range more {
			m[k] = v
		}
		served[path] = m
	}
	document("/good", nil)
	document("/private-key", map[string]any{"token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_methods_supported": []string{"private_key_jwt", "none"}})
	document("/secret-alone", map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_basic"}})
	document("/another", map[string]any{"client_id": base + "/good"})
	document("/no-redirects", map[string]any{"redirect_uris": []string{}})
	document("/bad-redirect", map[string]any{"redirect_uris": []string{"data:text/html,x"}})
	document("/long-name", map[string]any{"client_name": strings.Repeat("a", 65)})
	now := time.Now()
	c := NewClients(func() [][]byte { return [][]byte{[]byte("key")} }, true, func() time.Time { return now })
	for path, want := range map[string]string{
		"/good": "", "/private-key": "",
		"/secret-alone": "excludes", "/another": "its client_id is not its address", "/no-redirects": "redirect_uris", "/bad-redirect": "redirect URI", "/long-name": "client_name",
		"/redirect": "its status is 302", "/endless": "over 32 KiB", "/html": "not JSON", "/none": "its status is 404",
	} {
		for range 2 {
			client, fault := c.Find(t.Context(), anywhere, base+path)
			if want == "" && (fault != nil || client.Name != "Host" || client.Document != strings.TrimPrefix(base, "http://")) || want != "" && (fault == nil || !strings.Contains(fault.Description, want)) {
				t.Errorf("%s: %+v, %v, want %q", path, client, fault, want)
			}
		}
		if wants := map[bool]int{true: 1, false: 2}[want == ""]; path != "/good" && asked.of(path) != wants {
			t.Errorf("%s was asked for %d times, want %d", path, asked.of(path), wants)
		}
	}
	now = now.Add(time.Hour)
	if _, fault := c.Find(t.Context(), anywhere, base+"/good"); fault != nil || asked.of("/good") != 2 {
		t.Errorf("after an hour: %v, asked %d times", fault, asked.of("/good"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, fault := c.Find(ctx, anywhere, base+"/silent"); fault == nil || !strings.Contains(fault.Description, "within the time") {
		t.Errorf("a silent document: %v", fault)
	}
	for _, id := range []string{base, base + "/", base + "/a/../good", base + "/good#x", strings.Replace(base, "http://", "http://u@", 1) + "/good", strings.Replace(base, "127.0.0.1", "example.com", 1) + "/good", base + "/go od"} {
		if _, fault := c.Find(t.Context(), anywhere, id); fault == nil {
			t.Errorf("%s counts", id)
		}
	}

	// Without loopback nothing on this machine is asked, whatever its name resolves to.
	before := asked.of("/good")
	live := testClients(false)
	host := must(url.Parse(base)).Host
	for _, id := range []string{base + "/good", "https://" + host + "/good", "https://localhost:" + must(url.Parse(base)).Port() + "/good"} {
		if _, fault := live.Find(t.Context(), anywhere, id); fault == nil || asked.of("/good") != before {
			t.Errorf("%s: %v, asked %d times more", id, fault, asked.of("/good")-before)
		}
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// TestSlowDocuments tests that the slow documents of one network keep no other from being read.
func TestSlowDocuments(t *testing.T) {
	var base string
	release := make(chan struct{})
	arrived := make(chan struct{}, maxFetches)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/good" {
			arrived <- struct{}{}
			<-release
		}
		_, _ = fmt.Fprintf(w, `{"client_id":%q,"redirect_uris":["https://host.example/back"]}`, base+r.URL.Path) // a client that left does not read it
	}))
	defer server.Close()
	base = server.URL
	c := testClients(true)
	slow, other := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")
	var reads sync.WaitGroup
	for i := range maxFetchesOfOne {
		reads.Go(func() {
			if _, fault := c.Find(t.Context(), slow, fmt.Sprint(base, "/", i)); fault != nil {
				t.Error(fault)
			}
		})
		<-arrived
	}
	if _, fault := c.Find(t.Context(), slow, base+"/more"); fault == nil || fault.Code != TemporarilyUnavailable {
		t.Errorf("one more of the network: %v", fault)
	}
	if _, fault := c.Find(t.Context(), other, base+"/good"); fault != nil {
		t.Errorf("another network: %v", fault)
	}
	close(release)
	reads.Wait()
	if _, fault := c.Find(t.Context(), slow, base+"/more"); fault != nil || c.fetches != 0 || len(c.fetching) != 0 {
		t.Errorf("after that: %v, %d are being read", fault, c.fetches)
	}
}

// TestKeptDocuments tests that the documents that are kept are bounded, and that the one that ends first goes.
func TestKeptDocuments(t *testing.T) {
	now := time.Now()
	c := NewClients(nil, false, func() time.Time { return now })
	for i := range maxDocuments + 1 {
		now = now.Add(time.Second)
		c.keep(Client{ID: fmt.Sprint("https://host.example/", i)})
	}
	_, first := c.Known("https://host.example/0")
	_, second := c.Known("https://host.example/1")
	if first || !second || len(c.documents) != maxDocuments {
		t.Errorf("the first %t, the second %t, %d documents", first, second, len(c.documents))
	}
}

// TestPublicAddresses tests from which addresses the venue reads documents.
func TestPublicAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "93.184.216.34": true, "2606:4700::1111": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false, "255.255.255.255": false,
		"224.0.0.1": false, "198.18.0.1": false, "192.0.2.1": false, "::1": false, "::": false, "fe80::1": false, "fc00::1": false, "fd00::1": false, "ff02::1": false,
		"::ffff:10.0.0.1": false, "::ffff:127.0.0.1": false, "64:ff9b::a00:1": false, "2002:a00:1::": false, "2001:db8::1": false, "::10.0.0.1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}
