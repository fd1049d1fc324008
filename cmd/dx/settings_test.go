package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
)

// settings parses the text of a config file as dx serve does.
func settings(text []byte) (s serveSettings, err error) {
	resolver, err := tomlFlags(bytes.NewReader(text))
	if err != nil {
		return s, err
	}
	parser, err := kong.New(&s, append(mappers(), kong.Name("dx"), kong.Exit(func(int) {}), kong.Resolvers(resolver))...)
	if err != nil {
		return s, err
	}
	_, err = parser.Parse(nil)
	return s, err
}

// FuzzSettings tests that a config file is either rejected with an error text, or read as
// TOML reads it: its encoded values give the same settings.
func FuzzSettings(f *testing.F) {
	example, err := os.ReadFile(operations + "/dx.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, s := range []string{"api = \":1\"\nno_such = 1", "dispute = 5", "write_floor = 9223372036854775808", "allow-origin = [\"https://a\", \"b,c\"]", "api = \"\"\"\nx\"\"\"", "[data]\nx = 1", "sources = [[1]]", "trusted_proxies = [\"10.0.0.0/8\", \"::1\"]\nallowed_hosts = [\"a\", \"b:1\"]", "write-floor = 1\nwrite_floor = 2", "write_floor = 0x10", "replay_speed = 1_0", "\ufeffwrite_floor = 7"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		one, err := settings(text)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("the error has no text")
			}
			return
		}
		values := map[string]any{}
		if err := toml.Unmarshal(bytes.TrimPrefix(text, []byte(byteOrderMark)), &values); err != nil {
			t.Fatalf("%q is read, and is no TOML: %v", text, err)
		}
		again, err := toml.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		two, err := settings(again)
		if err != nil || !same(&one, &two) {
			t.Fatalf("%q\nsays %+v,\n%q\nsays %+v, %v", text, one, again, two, err)
		}
	})
}

func same(a, b *serveSettings) bool {
	x, errX := toml.Marshal(a)
	y, errY := toml.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
