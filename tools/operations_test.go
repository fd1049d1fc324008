package tools

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestEveryOperationIsListed checks that each operation of this package stands in exactly one list of
// operations.go. One that stands in none would be offered by no lane, and nothing else would miss it.
func TestEveryOperationIsListed(t *testing.T) {
	lists, err := os.ReadFile("operations.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	operations := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`(?m)^var (\w+) = &Op\[`).FindAllSubmatch(source, -1) {
			operations++
			if n := len(regexp.MustCompile(`\b`+string(name[1])+`\b`).FindAll(lists, -1)); n != 1 {
				t.Errorf("%s (%s) stands %d times in operations.go", name[1], file, n)
			}
		}
	}
	if operations < len(Operations)+len(RouteOnly)+len(ToolOnly) {
		t.Errorf("%d operations were found", operations)
	}
}
