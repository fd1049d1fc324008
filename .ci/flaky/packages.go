package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// pkg is a package with its compiled tests.
type pkg struct {
	path, dir, binary string
}

// build compiles the tests of all packages that have any. It runs before the busy loops start,
// because linking is not part of the test.
func build(ctx context.Context, o *options, dir string) (out []pkg, err error) {
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}{{end}}"}, o.packages...)...)
	list.Dir, list.Stderr = o.root, os.Stderr
	lines, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	left := slices.Clone(o.skip)
	for line := range strings.Lines(string(lines)) {
		path, in, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if i := slices.Index(left, path); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		p := pkg{path, in, filepath.Join(dir, strings.ReplaceAll(path, "/", "_")+".test")}
		c := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-c", "-o", p.binary}, o.race, []string{path})...)
		c.Dir = o.root
		if text, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go test -c %s: %w\n%s", path, err, text)
		}
		out = append(out, p)
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("-skip: no package %s with tests", strings.Join(left, ", "))
	}
	if len(out) == 0 {
		return nil, errors.New("no package has tests")
	}
	return out, nil
}

// result is one run of a package's tests.
type result struct {
	pkg
	took time.Duration
	err  error
	kept string // file with the output, if the run failed
}

// startAll runs all packages once, as many at a time as there are slots. It returns when the last one has
// begun; wait returns the results when all have ended.
func startAll(ctx context.Context, o *options, slots chan struct{}, all []pkg, procs, round int) (wait func() []result) {
	out := make([]result, len(all))
	var running sync.WaitGroup
	for i, p := range all {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			out[i] = runOne(ctx, o, p, procs, round)
		})
	}
	return func() []result {
		running.Wait()
		return out
	}
}

func runOne(ctx context.Context, o *options, p pkg, procs, round int) result {
	r := result{pkg: p}
	args := []string{"-test.paniconexit0", "-test.shuffle=on", fmt.Sprintf("-test.count=%d", o.count), fmt.Sprintf("-test.timeout=%s", o.timeout*time.Duration(o.count))}
	if o.race != nil { // as the gate's step race
		args = append(args, "-test.short")
	}
	if o.match != "" {
		args = append(args, "-test.run="+o.match)
	}
	c := exec.CommandContext(ctx, p.binary, args...)
	// The temporary folder of the binaries is removed at the end, with what a killed test
	// leaves in it.
	c.Dir = p.dir
	c.Env = slices.Concat([]string{"DX_POSTGRES=off"}, os.Environ(), []string{fmt.Sprintf("GOMAXPROCS=%d", procs), "TMPDIR=" + filepath.Dir(p.binary)})
	// A separate process group, so that an interrupt also ends the processes that tests started.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 10 * time.Second // a child of a killed test may hold the pipe open
	start := time.Now()
	text, err := c.CombinedOutput()
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // what a test that ran out of time has left behind
	}
	r.took, r.err = time.Since(start), err
	if err != nil && ctx.Err() == nil {
		r.kept = filepath.Join(o.out, fmt.Sprintf("%s-procs%d-round%d-%s.txt", strings.ReplaceAll(p.path, "/", "_"), procs, round, start.Format("150405")))
		rerun := fmt.Sprintf("GOMAXPROCS=%d go test %s -count=%d -shuffle=%s", procs, strings.Join(append(slices.Clone(o.race), p.path), " "), o.count, seedOf(string(text)))
		if o.race != nil {
			rerun += " -short"
		}
		if err := keep(r.kept, rerun+"\n\n"+string(text)); err != nil {
			r.err = errors.Join(r.err, err)
		}
	}
	return r
}

// seedOf returns the seed of the test order, which the test binary prints first.
func seedOf(text string) string {
	for line := range strings.Lines(text) {
		if seed, ok := strings.CutPrefix(line, "-test.shuffle "); ok {
			return strings.TrimSpace(seed)
		}
	}
	return "on"
}

func keep(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
