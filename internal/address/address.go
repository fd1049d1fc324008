// Package address checks the URLs and addresses of settings, and shows URLs without the secrets that they may
// have: the user part and the query. Its errors do not repeat what they reject.
package address

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Parse parses a URL that has one of some schemes, a host, and a port from 1 to 65535 if it has one.
func Parse(text string, schemes ...string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil: // the error of Parse quotes the URL
		return nil, errors.New("is not a URL")
	case !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" || strings.HasSuffix(u.Host, ":"):
		return nil, fmt.Errorf("must begin with %s:// and a host", strings.Join(schemes, ":// or "))
	case u.Port() != "":
		return u, checkPort(u.Port())
	}
	return u, nil
}

// ParseSecure is Parse for a URL whose requests nobody on the way may read: https, or http to a loopback
// address.
func ParseSecure(text string) (*url.URL, error) {
	u, err := Parse(text, "https", "http")
	if err == nil && u.Scheme == "http" && !IsLoopback(u.Hostname()) {
		err = errors.New("must begin with https:// unless its host is a loopback address")
	}
	return u, err
}

// CheckBase returns an error unless text is a scheme of some, a host and perhaps a port, with nothing behind.
func CheckBase(text string, schemes ...string) error {
	u, err := Parse(text, schemes...)
	if err == nil && text != u.Scheme+"://"+u.Host {
		err = errors.New("must have nothing behind the host and the port")
	}
	return err
}

// CheckListen returns an error unless text is an address to listen on, such as :8080 or 127.0.0.1:0.
func CheckListen(text string) error {
	_, err := net.ResolveTCPAddr("tcp", text)
	return err
}

// CheckDial returns an error unless text is HOST:PORT with a port from 1 to 65535.
func CheckDial(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return fmt.Errorf("%q is not HOST:PORT", text)
	}
	return checkPort(port)
}

func checkPort(port string) error {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("has the port %q, which is not 1 to 65535", port)
	}
	return nil
}

// IsLoopback reports whether a host without a port is localhost or a loopback address.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// hidden takes the place of what Show cannot take apart.
const hidden = "(not shown)"

// Show returns a URL without its user part, query and fragment. What has no such part is shown as it is.
func Show(text string) string {
	scheme, _, isURL := strings.Cut(text, "://")
	if !strings.ContainsAny(text, "@?#") && (isURL || !strings.ContainsAny(text, "= ")) {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User == nil && strings.Contains(text, "@") { // a password with a ? or # ends the host early
		if isURL {
			return scheme + "://" + hidden
		}
		return hidden
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

var urls = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `]+`)

// Redact returns a text, such as that of an error, with every URL in it as Show returns it.
func Redact(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return urls.ReplaceAllStringFunc(text, func(match string) string {
		at := strings.TrimRight(match, ":,;.)]}")
		return Show(at) + match[len(at):]
	})
}

// RedactError returns the text of an error as Redact does. It also leaves out why a URL could not be parsed,
// which may quote a part of a password.
func RedactError(err error) string {
	text := err.Error()
	if parse, ok := errors.AsType[*url.Error](err); ok && parse.Op == "parse" {
		text = strings.ReplaceAll(text, parse.Error(), Show(parse.URL)+" is not a URL")
	}
	return Redact(text)
}
