package duplex

import (
	"strings"
	"testing"
)

func TestSemanticVersion(t *testing.T) {
	for build, want := range map[string]string{
		"v0.2.0": "0.2.0", "0.2.0-rc.1": "0.2.0-rc.1", "v1.10.0+meta": "1.10.0+meta",
		"v0.1.1-0.20261129101112-abcdef123456+dirty": "0.1.1-0.20261129101112-abcdef123456+dirty",
	} {
		if got := SemanticVersion(build); got != want {
			t.Errorf("%s: %s, want %s", build, got, want)
		}
	}
	for _, build := range []string{"dev", "", "test", "v1", "(devel)"} {
		if got, want := SemanticVersion(build), sourceVersion(Changelog, ""); got != want && !strings.HasPrefix(got, want+"+") {
			t.Errorf("%q: %s, want %s", build, got, want)
		}
	}
}

func TestSourceVersion(t *testing.T) {
	for _, c := range []struct{ changelog, revision, want string }{
		{"# Changelog\n\n## Unreleased\n\n## 0.1.9 - 2026-11-20\n\n## 0.1.8\n", "0123456789abcdef", "0.1.10-dev+0123456789ab"},
		{"## 2.0.0\n", "", "2.0.1-dev"},
		{"## Unreleased\n", "", "0.0.0-dev"},
	} {
		if got := sourceVersion([]byte(c.changelog), c.revision); got != c.want {
			t.Errorf("%q at %q: %s, want %s", c.changelog, c.revision, got, c.want)
		}
	}
}
