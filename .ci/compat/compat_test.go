// Package compat compares the OpenAPI document with the last released one. A breaking change must
// be announced in the changelog, under the heading "### Breaking", by a line such as
//
//   - `GET /v1/time`: what changes, announced 2026-12-01, from 2027-03-01. Example: …
//
// at least 90 days before it takes effect, or with the word security (docs/rules/rest.md#changes).
// It is a separate module, so that the venue does not depend on the comparison's libraries.
package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/diff"
	"github.com/oasdiff/oasdiff/load"
)

const (
	golden   = "../../lanes/rest/testdata/openapi.json"
	releases = "../../lanes/rest/testdata/released/openapi-*.json"
	notice   = 90 * 24 * time.Hour
)

func TestBreakingChangesAreAnnounced(t *testing.T) {
	released, err := filepath.Glob(releases)
	if err != nil || len(released) == 0 {
		t.Fatal("no released document", err)
	}
	last := slices.MaxFunc(released, func(a, b string) int { return slices.Compare(versionOf(a), versionOf(b)) })
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	broken := breaking(t, open(t, last), open(t, golden))
	for _, b := range unannounced(broken, string(changelog)) {
		t.Errorf("since %s: %s", filepath.Base(last), b)
	}
}

// versionOf returns the version in a released document's file name.
func versionOf(path string) []int {
	var v [3]int
	_, _ = fmt.Sscanf(filepath.Base(path), "openapi-%d.%d.%d.json", &v[0], &v[1], &v[2]) // missing parts stay 0
	return v[:]
}

func open(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// change is a breaking change.
type change struct{ route, text string }

func (c change) String() string { return c.route + ": " + c.text }

// growing matches the members of answers that get new values at any time: codes and reasons
// (docs/rules/rest.md#changes).
var growing = regexp.MustCompile("to the `([^`]*/)?(code|reason)` response property")

var becameList = regexp.MustCompile("^for the `query` request parameter `([a-z_]+)`, the `type` was changed from `string` to `array<string>`$")

// sameBytes reports whether a change describes a comma-separated parameter, which was a string, as the list
// that it is: a client of either document sends the same bytes.
func sameBytes(is *load.SpecInfo, c checker.Change, text string) bool {
	m := becameList.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	p := is.Spec.Paths.Find(c.GetPath()).GetOperation(c.GetOperation()).Parameters.GetByInAndName("query", m[1])
	return p.Style == "form" && p.Explode != nil && !*p.Explode
}

func breaking(t *testing.T, was, is []byte) (out []change) {
	t.Helper()
	read := func(raw []byte, name string) *load.SpecInfo {
		s, err := load.NewSpecInfoFromData(openapi3.NewLoader(), raw, name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	now := read(is, "golden")
	report, sources, err := diff.GetWithOperationsSourcesMap(diff.NewConfig(), read(was, "released"), now)
	if err != nil {
		t.Fatal(err)
	}
	words := checker.NewDefaultLocalizer()
	for _, c := range checker.CheckBackwardCompatibilityUntilLevel(checker.NewConfig(checker.GetAllChecks()), report, sources, checker.ERR) {
		text := c.GetUncolorizedText(words)
		if c.GetId() == checker.ResponsePropertyEnumValueAddedId && growing.MatchString(text) || sameBytes(now, c, text) {
			continue
		}
		out = append(out, change{c.GetOperation() + " " + c.GetPath(), text})
	}
	return out
}

var dates = regexp.MustCompile(`announced (\d{4}-\d{2}-\d{2}), from (\d{4}-\d{2}-\d{2})`)

// unannounced returns the changes that the changelog does not announce early enough.
func unannounced(broken []change, changelog string) (out []change) {
	lines := announcements(changelog)
	for _, b := range broken {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "`"+b.route+"`") && inTime(line) }) {
			out = append(out, b)
		}
	}
	return out
}

func announcements(changelog string) (out []string) {
	var under bool
	for line := range strings.Lines(changelog) {
		if strings.HasPrefix(line, "#") {
			under = strings.TrimSpace(line) == "### Breaking"
		} else if under {
			out = append(out, line)
		}
	}
	return out
}

func inTime(line string) bool {
	if strings.Contains(line, "security") {
		return true
	}
	m := dates.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	announced, err1 := time.Parse(time.DateOnly, m[1])
	from, err2 := time.Parse(time.DateOnly, m[2])
	return err1 == nil && err2 == nil && from.Sub(announced) >= notice
}

// TestWhatBreaks checks that the comparison detects breaking changes and accepts others.
func TestWhatBreaks(t *testing.T) {
	was := string(open(t, golden))
	for name, c := range map[string]struct {
		from, to string
		route    string
	}{
		"a removed route": {`"/v1/time": {`, `"/v1/clock": {`, "GET /v1/time"},
		"a field now required": {`"client_order_id",
     "market_id",
     "side",
     "outcome",
     "qty"
    ],
    "type": "object"`, `"client_order_id", "market_id", "side", "outcome", "qty", "tif"],
    "type": "object"`, "POST /v1/portfolio/orders"},
		"an added status": {`"partially_filled",
       "executed",
       "canceled",
       "expired",
       "rejected"`, `"partially_filled", "executed", "canceled", "expired", "rejected", "lost"`, "GET /v1/portfolio/orders"},
		"a narrower range": {`"maximum": 60000,`, `"maximum": 50000,`, "POST /v1/portfolio/deadman"},
	} {
		is := strings.Replace(was, c.from, c.to, 1)
		if is == was {
			t.Errorf("%s: the document has no %s", name, c.from)
			continue
		}
		broken := breaking(t, []byte(was), []byte(is))
		if len(broken) == 0 || broken[0].route != c.route {
			t.Errorf("%s: %v", name, broken)
		}
	}
	released := open(t, "../../lanes/rest/testdata/released/openapi-0.1.0.json")
	exploded := strings.ReplaceAll(was, `"explode": false`, `"explode": true`)
	lists := slices.DeleteFunc(breaking(t, released, []byte(exploded)), func(b change) bool { return !strings.Contains(b.text, "array<string>") })
	if len(lists) != 2 {
		t.Errorf("lists as several parameters: %v, want the status of two routes", lists)
	}
	if broken := breaking(t, []byte(was), []byte(was)); len(broken) > 0 {
		t.Errorf("breaking changes between equal documents: %v", broken)
	}
	for name, c := range map[string]struct{ from, to string }{
		"an added member of an answer": {`"server_time": {`, `"more": {"type": "string"}, "server_time": {`},
		"an added code":                {`"funding_unavailable",`, `"funding_unavailable", "funding_late",`},
		"an added reason":              {`"replaced",`, `"replaced", "outlived",`},
	} {
		more := strings.Replace(was, c.from, c.to, 1)
		if broken := breaking(t, []byte(was), []byte(more)); more == was || len(broken) > 0 {
			t.Errorf("breaking changes for %s: %v", name, broken)
		}
	}
}

// TestAnnouncing checks which changelog lines announce a change in time.
func TestAnnouncing(t *testing.T) {
	broken := []change{{"GET /v1/time", "gone"}}
	for line, want := range map[string]int{
		"": 1,
		"### Breaking\n- `GET /v1/time` goes, announced 2026-12-01, from 2027-03-01.":       0,
		"### Breaking\n- `GET /v1/time` goes, announced 2026-12-01, from 2027-02-28.":       1,
		"### Breaking\n- `GET /v1/time` goes, a security fix.":                              0,
		"### Breaking\n- `GET /v1/time` goes.":                                              1,
		"### Breaking\n- `GET /v1/times` goes, announced 2026-12-01, from 2027-03-01.":      1,
		"### Added\n- `GET /v1/time` goes, announced 2026-12-01, from 2027-03-01.":          1,
		"### Breaking\n### Added\n- `GET /v1/time`, announced 2026-12-01, from 2027-03-01.": 1,
	} {
		if got := unannounced(broken, line); len(got) != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
