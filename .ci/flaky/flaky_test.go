package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFailedRunIsKept runs a module with a failing test and checks that the output file has the
// seed that reproduces the failure.
func TestFailedRunIsKept(t *testing.T) {
	for _, race := range [][]string{nil, {"-race"}} {
		failedRun(t, race)
	}
}

func failedRun(t *testing.T, race []string) {
	root, out := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module example\n\ngo 1.26\n",
		"good/good_test.go": "package good\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n",
		"bad/bad_test.go":   "package bad\n\nimport (\n\t\"runtime\"\n\t\"testing\"\n)\n\nfunc TestB(t *testing.T) { t.Errorf(\"at %d, short %v\", runtime.GOMAXPROCS(0), testing.Short()) }\n",
		"none/none.go":      "package none\n",
	} {
		path := filepath.Join(root, name)
		if err := keep(path, text); err != nil {
			t.Fatal(err)
		}
	}
	o := &options{root: root, out: out, count: 1, timeout: time.Minute, packages: []string{"./..."}, race: race}
	all, err := build(t.Context(), o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 {
		t.Fatalf("%d packages have tests, want 2", len(all))
	}
	for _, r := range startAll(t.Context(), o, make(chan struct{}, 2), all, 3, 1)() {
		if r.path == "example/good" {
			if r.err != nil {
				t.Errorf("%s failed: %v", r.path, r.err)
			}
			continue
		}
		text, err := os.ReadFile(r.kept)
		if r.err == nil || err != nil {
			t.Fatalf("%v, %v", r.err, err)
		}
		command, short := "GOMAXPROCS=3 go test example/bad -count=1 -shuffle=1", race != nil
		if short {
			command = "GOMAXPROCS=3 go test -race example/bad -count=1 -shuffle=1"
		}
		if line, _, _ := strings.Cut(string(text), "\n"); !strings.HasPrefix(line, command) || strings.HasSuffix(line, " -short") != short || !strings.Contains(string(text), fmt.Sprintf("at 3, short %v", short)) {
			t.Errorf("%s", text)
		}
	}
	o.skip = []string{"example/bad"}
	if all, err = build(t.Context(), o, t.TempDir()); err != nil || len(all) != 1 {
		t.Errorf("with -skip: %d packages, %v", len(all), err)
	}
	o.skip = []string{"example/gone"}
	if _, err = build(t.Context(), o, t.TempDir()); err == nil || !strings.Contains(err.Error(), "example/gone") {
		t.Errorf("-skip of an unknown package: %v, want an error", err)
	}
}
