package docs

import (
	"os"
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
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
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
		if dir, all := strings.CutSuffix(p, "/..."); all {
			found := false
			err := filepath.WalkDir(filepath.Join("..", dir), func(path string, _ os.DirEntry, err error) error {
				if err == nil && strings.HasSuffix(path, "_test.go") {
					b, err := os.ReadFile(path)
					found = found || want.Match(b)
					return err
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if found {
				return true
			}
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", p, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if want.Match(b) {
				return true
			}
		}
	}
	return false
}
