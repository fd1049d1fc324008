package core_test

import (
	"errors"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// floors has the floor of each package. A package may import only packages of lower
// floors (docs/architecture.md#floors).
var floors = map[string]int{
	"duplex/core": 0, "duplex/schemas": 1,
	"duplex/core/book": 1, "duplex/core/ledger": 1, "duplex/core/feed": 1, "duplex/core/journal": 1, "duplex/core/journal/logtest": 2, "duplex/core/export": 1, "duplex/core/statecode": 1,
	"duplex/core/round": 2, "duplex/core/venue": 3, "duplex/core/view": 2, "duplex/core/replica": 4, "duplex/core/engine": 5, "duplex/core/history": 1, "duplex/core/mirror": 5, "duplex/core/proof": 5, "duplex/core/sim/model": 1, "duplex/core/sim": 6,
	"duplex/tools": 6, "duplex/lanes/gate": 7, "duplex/client": 2, "duplex/clients/conformance": 3, "duplex": 0,
	"duplex/feeds": 2, "duplex/feeds/sim": 3, "duplex/feeds/manual": 3, "duplex/feeds/session": 3, "duplex/feeds/adapter": 3, "duplex/feeds/adapter/adaptertest": 2, "duplex/feeds/live": 5, "duplex/feeds/replay": 3,
	"duplex/lanes/schemadoc": 7, "duplex/lanes/lanetest": 8, "duplex/lanes/rest": 8, "duplex/lanes/mcp": 8, "duplex/lanes/ws": 8, "duplex/lanes/portal": 8, "duplex/lanes/portal/web": 0, "duplex/lanes/portal/oauth": 7, "duplex/lanes/funding": 7, "duplex/lanes/admin": 8, "duplex/lanes/history": 9, "duplex/lanes/sim": 9,
	"duplex/lanes/hostile": 9, "duplex/lanes/hostile/flood": 11, "duplex/docs": 0, "duplex/docs/guides": 9, "duplex/internal/address": 0, "duplex/internal/atomicfile": 0, "duplex/internal/backoff": 0, "duplex/internal/certificate": 0, "duplex/internal/edits": 0, "duplex/internal/postgrestest": 0, "duplex/internal/logbuffer": 0, "duplex/internal/logwriter": 0, "duplex/internal/marketsim": 1, "duplex/internal/memdir": 0, "duplex/internal/timeouts": 0, "duplex/internal/race": 0, "duplex/internal/proxytest": 1, "duplex/internal/rawhttp": 3, "duplex/server": 9, "duplex/internal/metrics": 0, "duplex/cluster": 6, "duplex/arena": 10, "duplex/arena/stats": 0, "duplex/server/servertest": 10,
	"duplex/cmd/dx/maker": 11, "duplex/cmd/dx/noise": 11, "duplex/cmd/dx/cli": 11,
	"duplex/cmd/dx/bridge": 12, "duplex/cmd/dx/load": 12, "duplex/cmd/dx/trading": 12, "duplex/cmd/dx/operator": 12, "duplex/cmd/dx/mirror": 12, "duplex/cmd/dx/agent": 13, "duplex/cmd/dx/top": 13, "duplex/cmd/dx": 14,
}

// testOnly lists packages that only tests and each other import.
var testOnly = []string{"duplex/core/journal/logtest", "duplex/feeds/adapter/adaptertest", "duplex/lanes/lanetest", "duplex/lanes/history", "duplex/lanes/sim", "duplex/lanes/hostile", "duplex/lanes/hostile/flood", "duplex/server/servertest", "duplex/internal/logbuffer", "duplex/internal/memdir", "duplex/internal/proxytest", "duplex/internal/race"}

// outside lists what no package of the core may import.
var outside = []string{"net/http", "log/slog", "github.com/danielgtaylor/huma/v2", "github.com/coder/websocket", "github.com/sourcegraph/jsonrpc2", "duplex/schemas", "duplex/tools", "duplex/lanes"}

// impure lists what the deterministic packages must not import: time, randomness, files
// and concurrency (docs/rules/operation.md#determinism).
var impure = []string{"time", "os", "math/rand", "math/rand/v2", "crypto/rand", "sync", "sync/atomic", "net", "io/fs", "context"}

// importsOf returns what each package of the module imports. It reads the files itself: the go command
// repeats a test whose files have changed, and does not see what a child of a test reads.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		_, module := os.Stat(filepath.Join(path, "go.mod"))
		if path != ".." && (name[0] == '.' || name == "testdata" || name == "node_modules" || module == nil) {
			return fs.SkipDir
		}
		p, err := build.ImportDir(path, 0)
		if none := (*build.NoGoError)(nil); errors.As(err, &none) {
			return nil
		}
		all[strings.TrimSuffix("duplex/"+filepath.ToSlash(path[min(3, len(path)):]), "/")] = p.Imports
		return err
	})
	if err != nil || len(all["duplex/core/venue"]) == 0 {
		t.Fatalf("%d packages, %v", len(all), err)
	}
	return all
}

func TestImportsPointDown(t *testing.T) {
	for pkg, imports := range importsOf(t) {
		mine, known := floors[pkg]
		if !known {
			if !strings.HasPrefix(pkg, "duplex/examples/") {
				t.Errorf("%s has no floor", pkg)
			}
			continue
		}
		for _, imp := range imports {
			if theirs, ours := floors[imp]; ours && theirs >= mine {
				t.Errorf("%s (floor %d) imports %s (floor %d)", pkg, mine, imp, theirs)
			}
			if slices.Contains(testOnly, imp) && !slices.Contains(testOnly, pkg) {
				t.Errorf("%s imports %s, which is for tests", pkg, imp)
			}
			if strings.HasPrefix(pkg, "duplex/core") && slices.ContainsFunc(outside, func(p string) bool { return imp == p || strings.HasPrefix(imp, p+"/") }) {
				t.Errorf("%s imports %s", pkg, imp)
			}
		}
	}
}

// TestTableOfFloors compares the table of docs/architecture.md, and what the page says of packages beside it,
// with floors.
func TestTableOfFloors(t *testing.T) {
	page, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Floors\n")
	text, _, _ = strings.Cut(text, "\n## ")
	named := map[string]bool{"duplex": true}
	above, lowest := "", 1<<30
	for line := range strings.Lines(text) {
		low, high := 1<<30, 0
		for _, m := range regexp.MustCompile("`([a-z/0-9]+)`").FindAllStringSubmatch(line, -1) {
			if n, ok := floors["duplex/"+m[1]]; ok {
				named["duplex/"+m[1]] = true
				low, high = min(low, n), max(high, n)
			}
		}
		if !strings.HasPrefix(line, "| ") || low > high {
			continue
		}
		if high > lowest {
			t.Errorf("a floor of the table is above one with packages higher than its own:\n%s%s", above, line)
		}
		above, lowest = line, low
	}
	for pkg := range floors {
		if !named[pkg] {
			t.Errorf("docs/architecture.md does not name %s", pkg)
		}
	}
}

func TestDeterministicPackagesImportNoTime(t *testing.T) {
	imports := importsOf(t)
	deps := []string{"duplex/core/venue", "duplex/core/view"}
	for i := 0; i < len(deps); i++ {
		for _, path := range imports[deps[i]] {
			if slices.Contains(impure, path) {
				t.Errorf("%s imports %s", deps[i], path)
			}
			if strings.HasPrefix(path, "duplex/") && !slices.Contains(deps, path) {
				deps = append(deps, path)
			}
		}
	}
}
