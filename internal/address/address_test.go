package address

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// TestShow checks that no way to write a secret into a URL shows it, and that everything else is shown.
func TestShow(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"sqlite":                        "sqlite",
		":8080":                         ":8080",
		"https://venue.example":         "https://venue.example",
		"https://venue.example:8443/x/": "https://venue.example:8443/x/",
		"https://h:99999/x":             "https://h:99999/x",

		"wss://user:hunter2@h:443/ws?key=hunter2#hunter2": "wss://h:443/ws",
		"wss://hunter2@h":                         "wss://h",
		"postgres://h/d?password=hunter2":         "postgres://h/d",
		"postgres://u:hun@ter2@h/d":               "postgres://h/d",
		"postgres://u:hunter2@h1:1,h2:2/d":        "postgres://h1:1,h2:2/d",
		"postgres://u:hunter2@[2001:db8::1]:5/d":  "postgres://[2001:db8::1]:5/d",
		"postgres://u:hunter2/hunter2@h/d":        "postgres://(not shown)",
		"postgres://u:1/hunter2@h/d":              "postgres://(not shown)",
		"postgres://u:1?hunter2@h/d":              "postgres://(not shown)",
		"postgres://u:1#hunter2@h/d":              "postgres://(not shown)",
		"postgres://u:hunter2%@h/d":               "postgres://(not shown)",
		"host=h password=hunter2":                 "(not shown)",
		"u:hunter2@h":                             "(not shown)",
		"postgres:u:hunter2@h":                    "(not shown)",
		"https://h/a%2Fb?token=hunter2":           "https://h/a%2Fb",
		"https://h?token=hunter2&x=https://other": "https://h",
	} {
		if got := Show(text); got != want || strings.Contains(got, "hunter2") {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestRedact checks the text of errors.
func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"no address": "no address",
		`Get "https://u:***@h/x?key=hunter2": dial tcp 127.0.0.1:1: connect: connection refused`: `Get "https://h/x": dial tcp 127.0.0.1:1: connect: connection refused`,
		"https://h:80: refused, and (wss://u:hunter2@h), too":                                    "https://h:80: refused, and (wss://h), too",
		`expected "<key>=<value>" but got "kraken=wss://u:hunter2@h"`:                            `expected "<key>=<value>" but got "kraken=wss://h"`,
	} {
		if got := Redact(text); got != want {
			t.Errorf("%s\n%s, want\n%s", text, got, want)
		}
	}
	for _, text := range []string{"http://u:hunter2@h:x/", "http://u:hunter2/w@h", "http://u:hunter2%@h", "http://h/\x7fhunter2?"} {
		_, err := url.Parse(text)
		if got := RedactError(fmt.Errorf("GET /v1/time: %w", err)); strings.Contains(got, "hunter2") || !strings.HasPrefix(got, "GET /v1/time: http://") || !strings.HasSuffix(got, " is not a URL") {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// TestChecks checks schemes and ports, and that no error repeats a URL.
func TestChecks(t *testing.T) {
	parse := func(schemes ...string) func(string) error {
		return func(text string) error { _, err := Parse(text, schemes...); return err }
	}
	for _, c := range []struct {
		name      string
		check     func(string) error
		good, bad string // separated by spaces
	}{
		{"Parse", parse("wss", "ws"), "wss://h ws://h:1/x wss://h:65535 wss://u@h?k=v ws://[::1]:7", "h https://h wss:// wss://:1 wss://h:0 wss://h:65536 wss://h:99999 wss://h: wss://u:hunter2@h:x wss:hunter2 WSS//hunter2 ://hunter2"},
		{"ParseSecure", func(text string) error { _, err := ParseSecure(text); return err }, "https://h http://127.0.0.1:80/x http://localhost http://[::1]:1", "http://hunter2.example ftp://h http://127.0.0.1:99999 https://h:0"},
		{"CheckBase", func(text string) error { return CheckBase(text, "http", "https") }, "https://h http://h:80 https://[2001:db8::1]:443", "https://h/ https://h?x https://h#x https://u:hunter2@h https://h:0 ftp://h https://h:"},
		{"CheckListen", CheckListen, ":0 :8080 127.0.0.1:65535 [::1]:0", "8080 :65536 :99999 127.0.0.1 :-1 127.0.0.1:x"},
		{"CheckDial", CheckDial, "h:1 127.0.0.1:7000 [::1]:65535", "h :7000 h:0 h:65536 h:x h:"},
	} {
		for want, list := range map[bool]string{true: c.good, false: c.bad} {
			for text := range strings.FieldsSeq(list) {
				if err := c.check(text); (err == nil) != want || err != nil && strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%s(%q): %v", c.name, text, err)
				}
			}
		}
	}
}
