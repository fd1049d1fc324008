package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
)

// killer is a set of tests of one package.
type killer struct{ pkg, tests string }

// killers lists the tests to run for a mutant of each package, the fastest first.
var killers = map[string][]killer{
	"core/book":   {{"core/venue", "TestStories"}, {"core/book", ""}, {"core/venue", "TestRestored|TestRandom"}, {"core/venue", ""}},
	"core/ledger": {{"core/venue", "TestStories"}, {"core/ledger", ""}, {"core/venue", "TestRestored|TestRandom"}, {"core/venue", ""}},
	"core/round":  {{"core/venue", "TestStories"}, {"core/round", ""}, {"core/venue", "TestOutage"}, {"core/venue", ""}},
	"core/venue":  {{"core/venue", "TestStories"}, {"core/venue", "TestRestored|TestRandom"}, {"core/venue", ""}},
}

func killerPkgs() []string { return []string{"core/book", "core/ledger", "core/round", "core/venue"} }

// limits bounds a mutant that never ends or takes all memory: CPU time in seconds, memory in KiB.
const limits = `ulimit -t 8; ulimit -d 2000000; exec "$0" "$@"`

// try returns the tests that kill mutant id, "" if it survives all of them. id 0 is the original.
// try returns an error if the run is interrupted.
func (b *bench) try(pkg string, id int) (string, error) {
	for _, k := range killers[pkg] {
		args := []string{"-c", limits, b.binary(k.pkg), "-test.failfast", "-test.run", k.tests, "-test.timeout", "0"}
		if k.pkg == "core/venue" || k.pkg == "core/book" {
			args = append(args, "-rapid.seed", "1", "-rapid.shrinktime", "0s", "-rapid.nofailfile")
		}
		cmd := exec.CommandContext(b.ctx, "sh", args...)
		cmd.Dir = b.path(k.pkg)
		cmd.Env = append(os.Environ(), fmt.Sprintf("DX_MUTANT=%d", id), "GOMAXPROCS=1")
		if err := cmd.Run(); err != nil {
			return k.pkg + " " + k.tests, b.ctx.Err()
		}
	}
	return "", b.ctx.Err()
}

// tryAll tries the clones first, then each constant with its own build.
func (b *bench) tryAll(all []*Mutant, wanted map[*Mutant]bool, l *log) error {
	constants := map[*Mutant]bool{}
	for _, f := range b.files {
		for _, m := range f.Constants {
			constants[m] = true
		}
	}
	if err := b.testdata(); err != nil {
		return err
	}
	if err := b.build(func(m *Mutant) bool { return wanted[m] }, nil); err != nil {
		return err
	}
	for _, p := range b.pkgs {
		if by, err := b.try(p, 0); by != "" || err != nil {
			return cmp.Or(err, fmt.Errorf("tests fail without a mutant: %s", by))
		}
	}
	for _, m := range all {
		if _, done := l.killed[m.Key()]; done || !wanted[m] || b.fails[m] || constants[m] {
			continue
		}
		if err := b.note(l, m, m.ID); err != nil {
			return err
		}
	}
	none := func(*Mutant) bool { return false }
	for _, m := range all {
		if _, done := l.killed[m.Key()]; done || !wanted[m] || !constants[m] {
			continue
		}
		switch err := b.build(none, m); {
		case errors.Is(err, errNoMutant):
			b.fails[m] = true
			continue
		case err != nil:
			return err
		}
		if err := b.note(l, m, 0); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) note(l *log, m *Mutant, id int) error {
	by, err := b.try(path.Dir(m.File), id)
	if err != nil {
		return err
	}
	return l.note(m, by)
}
