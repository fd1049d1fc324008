package oauth

import "testing"

// TestRedirects tests which redirects a client may have, and which of them match one that it has.
func TestRedirects(t *testing.T) {
	for _, x := range []struct {
		uri string
		ok  bool
	}{
		{"https://claude.ai/api/mcp/auth_callback", true},
		{"https://host.example:8443/back?x=1", true},
		{"https://host.example", true},
		{"http://127.0.0.1:3000/cb", true},
		{"http://[::1]/cb", true},
		{"http://localhost", true},
		{"cursor://anysphere.cursor-mcp/oauth/callback", true},
		{"vscode://vscode.github-authentication/did-authenticate", true},
		{"com.example.app://oauth", true},

		{"", false},
		{"host.example/back", false},
		{"/back", false},
		{"//host.example/back", false},
		{"https:///back", false},
		{"https:host.example", false},
		{"https://:443/back", false},
		{"com.example.app:/oauth", false},
		{"com.example.app:///oauth", false},
		{"http://host.example/back", false},
		{"http://127.0.0.2/back", false},
		{"http://127.0.0.1.evil.example/back", false},
		{"http://localhost.evil.example/back", false},
		{"http://127.0.0.1@evil.example/back", false},
		{"https://user@host.example/back", false},
		{"https://user:word@host.example/back", false},
		{"https://@host.example/back", false},
		{"https://host.example\\@evil.example/back", false},
		{"https://host.example/back#x", false},
		{"https://host.example/back#", false},
		{"https://*.host.example/back", false},
		{"https://host.example/*", false},
		{"https://host%2eexample/back", false},
		{"https://hóst.example/back", false},
		{"https://host.example/a b", false},
		{" https://host.example/back", false},
		{"https://host.example/back\n", false},
		{"HTTPS://host.example/back", false},
		{"javascript://host.example/%0aalert(1)", false},
		{"javascript:alert(1)", false},
		{"data://text/html,x", false},
		{"data:text/html,x", false},
		{"file://host.example/etc/passwd", false},
		{"file:///etc/passwd", false},
		{"blob:https://host.example/1", false},
		{"vbscript://x/y", false},
		{"ms-msdt://x", false},
		{"search-ms://x", false},
		{"chrome://settings", false},
		{"smb://host.example/x", false},
		{"https://host.example:99999/", false},
		{"https://host.example:0/", false},
		{"https://host.example/back?code=x", false},
		{"https://host.example/back?a=1&state=x", false},
		{"https://host.example/back?iss=x", false},
	} {
		if err := checkRedirect(x.uri); (err == nil) != x.ok {
			t.Errorf("%q: %v", x.uri, err)
		}
	}
	for _, x := range []struct {
		known, asked string
		ok           bool
	}{
		{"https://host.example/back", "https://host.example/back", true},
		{"https://host.example/back", "https://host.example/back/", false},
		{"https://host.example/back", "https://host.example/back?x=1", false},
		{"https://host.example/back", "https://host.example:443/back", false},
		{"https://host.example/back", "https://HOST.example/back", false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:51234/cb", true},
		{"http://127.0.0.1:3000/cb", "http://127.0.0.1:51234/cb", true},
		{"http://127.0.0.1:3000", "http://127.0.0.1:51234/", true},
		{"http://127.0.0.1:3000/cb", "http://127.0.0.1:51234/cb/..", false},
		{"http://127.0.0.1:3000/cb", "http://127.0.0.1:51234/CB", false},
		{"http://127.0.0.1:3000/cb", "http://127.0.0.1:51234/cb?x", false},
		{"http://127.0.0.1:3000/cb", "http://127.0.0.1:51234/cb?", false},
		{"http://127.0.0.1:3000/cb", "http://localhost:51234/cb", false},
		{"http://127.0.0.1:3000/cb", "https://127.0.0.1:3000/cb", false},
		{"http://127.0.0.1:3000/cb", "http://u@127.0.0.1:3000/cb", false},
		{"http://127.0.0.1:3000/cb", "http://127.0.0.1:3000@evil.example/cb", false},
		{"http://[::1]:1/cb", "http://[::1]:2/cb", true},
		{"https://localhost:1/cb", "https://localhost:2/cb", false},
		{"cursor://a/cb", "cursor://a/cb", true},
		{"cursor://a/cb", "cursor://a:1/cb", false},
	} {
		if got := matchesRedirect(x.known, x.asked); got != x.ok {
			t.Errorf("%s for %s: %t", x.asked, x.known, got)
		}
	}
	for uri, want := range map[string]string{"https://host.example:8443/back": "host.example:8443", "cursor://a.b/cb": "cursor://a.b", "http://127.0.0.1:1/x": "127.0.0.1:1"} {
		if got := RedirectHost(uri); got != want {
			t.Errorf("%s is shown as %s", uri, got)
		}
	}
}
