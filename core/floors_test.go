package core_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floors has the floor of each package. A package may import only packages of lower
// floors (docs/architecture.md#floors).
var floors = map[string]int{
	"duplex/core": 0, "duplex/schemas": 1,
	"duplex/core/book": 1, "duplex/core/ledger": 1, "duplex/core/feed": 1, "duplex/core/journal": 1, "duplex/core/journal/logtest": 2, "duplex/core/export": 1, "duplex/core/statecode": 1,
	"duplex/core/round": 2, "duplex/core/venue": 3, "duplex/core/view": 2, "duplex/core/replica": 4, "duplex/core/engine": 5, "duplex/core/history": 1, "duplex/core/mirror": 5, "duplex/core/proof": 5, "duplex/core/sim/model": 1, "duplex/core/sim": 6, "duplex/core/sim/day": 6,
	"duplex/tools": 6, "duplex/lanes/gate": 7, "duplex/client": 2, "duplex": 0,
	"duplex/feeds": 2, "duplex/feeds/sim": 3, "duplex/feeds/manual": 3, "duplex/feeds/session": 3, "duplex/feeds/adapter": 3, "duplex/feeds/adapter/adaptertest": 2, "duplex/feeds/live": 5, "duplex/feeds/replay": 3,
	"duplex/lanes/lanetest": 8, "duplex/lanes/rest": 8, "duplex/lanes/mcp": 8, "duplex/lanes/ws": 8, "duplex/lanes/portal": 8, "duplex/lanes/portal/web": 0, "duplex/lanes/funding": 7, "duplex/lanes/admin": 8, "duplex/lanes/history": 9, "duplex/lanes/sim": 9,
	"duplex/lanes/hostile": 9, "duplex/docs": 0, "duplex/docs/guides": 9, "duplex/internal/atomicfile": 0, "duplex/internal/backoff": 0, "duplex/internal/logbuffer": 0, "duplex/internal/logwriter": 0, "duplex/internal/marketsim": 1, "duplex/internal/memdir": 0, "duplex/internal/rawhttp": 3, "duplex/server": 9, "duplex/server/cluster": 6, "duplex/server/arena": 10, "duplex/server/servertest": 10,
	"duplex/cmd/dx/maker": 9, "duplex/cmd/dx/noise": 9, "duplex/cmd/dx/bridge": 9, "duplex/cmd/dx/cli": 9,
	"duplex/cmd/dx/load": 10, "duplex/cmd/dx/trading": 10, "duplex/cmd/dx/operator": 10, "duplex/cmd/dx/mirror": 10, "duplex/cmd/dx/agent": 11, "duplex/cmd/dx/top": 11, "duplex/cmd/dx": 12,
}

// testOnly lists packages that only tests and each other import.
var testOnly = []string{"duplex/core/journal/logtest", "duplex/feeds/adapter/adaptertest", "duplex/lanes/lanetest", "duplex/lanes/history", "duplex/lanes/sim", "duplex/lanes/hostile", "duplex/server/servertest", "duplex/internal/logbuffer", "duplex/internal/memdir"}

// outside lists what no package of the core may import.
var outside = []string{"net/http", "log/slog", "github.com/danielgtaylor/huma/v2", "github.com/coder/websocket", "github.com/sourcegraph/jsonrpc2", "duplex/schemas", "duplex/tools", "duplex/lanes"}

// impure lists what the deterministic packages must not import: time, randomness, files
// and concurrency (docs/rules/operation.md#determinism).
var impure = []string{"time", "os", "math/rand", "math/rand/v2", "crypto/rand", "sync", "sync/atomic", "net", "io/fs", "context"}

func list(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestImportsPointDown(t *testing.T) {
	for _, line := range list(t, "-e", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "duplex/...") {
		parts := strings.Fields(line)
		pkg, imports := parts[0], parts[1:]
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

func TestDeterministicPackagesImportNoTime(t *testing.T) {
	for _, pkg := range list(t, "-deps", "duplex/core/venue", "duplex/core/view") {
		if !strings.HasPrefix(pkg, "duplex/") {
			continue
		}
		for _, line := range list(t, "-f", `{{join .Imports "\n"}}`, pkg) {
			if slices.Contains(impure, line) {
				t.Errorf("%s imports %s", pkg, line)
			}
		}
	}
}
