package oauth

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// forbiddenSchemes run code, read files or are no address of a client.
var forbiddenSchemes = []string{"javascript", "data", "file", "blob", "vbscript", "about", "filesystem", "view-source", "intent", "ws", "wss", "ftp", "sftp", "ssh", "telnet", "smb", "nfs", "ldap", "ldaps", "jar", "shell", "chrome", "edge", "search"}

// forbiddenPrefixes begin the schemes of parts of a system.
var forbiddenPrefixes = []string{"ms-", "search-", "x-apple", "chrome-", "moz-"}

// answers are the parameters that an answer adds to a redirect.
var answers = []string{"code", "state", "iss", "error", "error_description"}

// checkRedirect returns an error unless a client may have a redirect URI (docs/rules/oauth.md#redirects).
func checkRedirect(text string) error {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c > '~' || strings.IndexByte("\\*<>\"`{}|^", c) >= 0 {
			return errors.New("a redirect URI has a character that is not allowed")
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("a redirect URI is not a URI")
	case !strings.HasPrefix(text, u.Scheme+"://") || u.Host == "" || u.Opaque != "":
		return errors.New("a redirect URI needs a scheme and a host")
	case u.User != nil || strings.Contains(u.Host, "@") || strings.Contains(u.Host, "%"):
		return errors.New("a redirect URI must have no user")
	case strings.Contains(text, "#"):
		return errors.New("a redirect URI must have no fragment")
	case slices.Contains(forbiddenSchemes, u.Scheme) || slices.ContainsFunc(forbiddenPrefixes, func(p string) bool { return strings.HasPrefix(u.Scheme, p) }):
		return errors.New("a redirect URI must not have the scheme " + u.Scheme)
	case slices.ContainsFunc(answers, u.Query().Has):
		return errors.New("a redirect URI must have no parameter of an answer: " + strings.Join(answers, ", "))
	case !validPort(u.Port()):
		return errors.New("a redirect URI has a port that is none")
	case u.Hostname() == "":
		return errors.New("a redirect URI needs a host")
	case u.Scheme == "http" && !loopbackHost(u.Hostname()):
		return errors.New("a redirect URI of http must be on the loopback interface")
	}
	return nil
}

func validPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

// loopbackHost reports whether a host is one of the three that a client on the person's machine has.
func loopbackHost(host string) bool {
	return host == "127.0.0.1" || host == "::1" || host == "localhost"
}

// matchesRedirect reports whether a client that has registered one URI may be sent to another: it is the same,
// or a loopback address with another port, which a client on the person's machine draws at each start
// (RFC 8252, section 7.3).
func matchesRedirect(registered, asked string) bool {
	if registered == asked {
		return true
	}
	a, errA := url.Parse(registered)
	b, errB := url.Parse(asked)
	if errA != nil || errB != nil || checkRedirect(asked) != nil || a.Scheme != "http" || b.Scheme != "http" || !loopbackHost(a.Hostname()) {
		return false
	}
	path := func(u *url.URL) string {
		if p := u.EscapedPath(); p != "" {
			return p
		}
		return "/"
	}
	return a.Hostname() == b.Hostname() && path(a) == path(b) && a.RawQuery == b.RawQuery && a.ForceQuery == b.ForceQuery
}

// RedirectHost is what a person sees of a redirect URI: its host, or its scheme and host if that is an
// application's own scheme.
func RedirectHost(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil:
		return redirect
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Host
	}
	return u.Scheme + "://" + u.Host
}

// IsLoopback reports whether the request goes back to an application on the person's own machine.
func (r *Request) IsLoopback() bool {
	u, err := url.Parse(r.Redirect)
	return err == nil && u.Scheme == "http"
}

// special are networks that are not of the public internet and that netip does not tell: of tests, of
// documents, shared by providers, and those that lead to an IPv4 address, which may be private.
var special = func() (list []netip.Prefix) {
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}()

// public reports whether an address is one of the public internet.
func public(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && a.Zone() == "" && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}
