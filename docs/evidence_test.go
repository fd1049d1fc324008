package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCommandsOfThePages checks that the tests and benchmarks in the go test commands of the
// pages exist.
func TestCommandsOfThePages(t *testing.T) {
	command := regexp.MustCompile(`go test((?: \./[\w./]+)+)[^\n|` + "`" + `]*? -(?:run|bench) '?([\w\\|]+)`)
	seen := 0
	for _, page := range []string{"evidence.md", "performance.md", "operations/sizing.md", "../README.md"} {
		for _, m := range command.FindAllStringSubmatch(read(t, page), -1) {
			seen++
			for _, name := range strings.Split(strings.ReplaceAll(m[2], `\|`, "|"), "|") {
				if name != "xxx" && !declared(t, strings.Fields(m[1]), name) {
					t.Errorf("%s: no test like %s in%s", page, name, m[1])
				}
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d commands were found", seen)
	}
}

// declared reports whether one of the packages has a test or benchmark whose name contains name.
func declared(t *testing.T, packages []string, name string) bool {
	t.Helper()
	want := regexp.MustCompile(`(?m)^func (Test|Benchmark)\w*` + name)
	for _, p := range packages {
		dir, all := strings.CutSuffix(p, "/...")
		dir = filepath.Join("..", dir)
		for _, f := range files(t, dir, "_test.go") {
			if (all || filepath.Dir(f) == dir) && want.MatchString(read(t, f)) {
				return true
			}
		}
	}
	return false
}
