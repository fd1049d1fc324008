package main

import (
	"fmt"
	"os"
	"os/exec"
)

// killer is a run of tests.
type killer struct{ pkg, tests string }

// killers are what a mutant of each package has to survive, the quickest first.
var killers = map[string][]killer{
	"core/book":   {{"core/venue", "TestStories"}, {"core/book", ""}, {"core/venue", "TestRestored|TestRandom"}, {"core/venue", "TestOutage"}},
	"core/ledger": {{"core/venue", "TestStories"}, {"core/ledger", ""}, {"core/venue", "TestRestored|TestRandom"}, {"core/venue", "TestOutage"}},
	"core/round":  {{"core/venue", "TestStories"}, {"core/round", ""}, {"core/venue", "TestOutage"}, {"core/venue", "TestRestored|TestRandom"}},
	"core/venue":  {{"core/venue", "TestStories"}, {"core/venue", "TestRestored|TestRandom"}, {"core/venue", ""}},
}

func killerPkgs() []string { return []string{"core/book", "core/ledger", "core/round", "core/venue"} }

// limits keep a mutant that never ends, or takes all memory, from the machine:
// seconds of the processor, and KiB.
const limits = `ulimit -t 3; ulimit -d 2000000; exec "$0" "$@"`

// try gives the run of tests that kills mutant id, "" if it survives them all. id 0
// is the original.
func (b *bench) try(pkg string, id int) string {
	for _, k := range killers[pkg] {
		args := []string{"-c", limits, b.binary(k.pkg), "-test.failfast", "-test.run", k.tests, "-test.timeout", "0"}
		if k.pkg == "core/venue" || k.pkg == "core/book" {
			args = append(args, "-rapid.seed", "1", "-rapid.shrinktime", "0s", "-rapid.nofailfile")
		}
		cmd := exec.Command("sh", args...)
		cmd.Dir = b.path(k.pkg)
		cmd.Env = append(os.Environ(), fmt.Sprintf("DX_MUTANT=%d", id), "GOMAXPROCS=1")
		if err := cmd.Run(); err != nil {
			return fmt.Sprintf("%s %s", k.pkg, k.tests)
		}
	}
	return ""
}
