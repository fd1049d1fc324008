package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// bench builds and tries mutants.
type bench struct {
	ctx       context.Context
	root, dir string
	pkgs      []string
	files     []*File
	fails     map[*Mutant]bool // mutants that do not compile
}

var errNoMutant = errors.New("does not compile")

// build compiles the killers' test binaries with a clone of each wanted mutant. Mutants that do
// not compile are added to fails and left out. If constant is not nil, its change is made in
// place; build returns errNoMutant if it does not compile.
func (b *bench) build(want func(*Mutant) bool, constant *Mutant) error {
	keep := func(m *Mutant) bool { return want(m) && !b.fails[m] }
	for {
		spans, err := b.overlay(keep, constant)
		if err != nil {
			return err
		}
		args := []string{"build", "-gcflags=-e", "-overlay", b.path("overlay.json")}
		for _, p := range b.pkgs {
			args = append(args, "./"+p)
		}
		out, err := b.gotool(args...)
		if err == nil {
			break
		}
		if constant != nil && b.ctx.Err() == nil {
			return errNoMutant
		}
		if b.strike(out, spans) == 0 {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	for _, p := range killerPkgs() {
		if out, err := b.gotool("test", "-c", "-vet=off", "-overlay", b.path("overlay.json"), "-o", b.binary(p), "./"+p); err != nil {
			return fmt.Errorf("go test -c %s: %w\n%s", p, err, out)
		}
	}
	return nil
}

// testdata copies the tests' data, so that the source tree may change meanwhile.
func (b *bench) testdata() error {
	for _, p := range killerPkgs() {
		from := filepath.Join(b.root, p, "testdata")
		if err := os.MkdirAll(b.path(p), 0o755); err != nil {
			return err
		}
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.CopyFS(b.path(p+"/testdata"), os.DirFS(from)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) binary(pkg string) string { return b.path(path.Base(pkg) + ".test") }

func (b *bench) gotool(args ...string) (string, error) {
	cmd := exec.CommandContext(b.ctx, "go", args...)
	cmd.Dir = b.root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// overlay writes the grafted files and an overlay file for the go tool. It returns the lines of
// each clone by file.
func (b *bench) overlay(keep func(*Mutant) bool, constant *Mutant) (map[string][]span, error) {
	replace := map[string]string{}
	put := func(file string, src []byte) error {
		to := b.path(strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(b.root, file)] = to
		return os.WriteFile(to, src, 0o644)
	}
	spans := map[string][]span{}
	for _, f := range b.files {
		src, s := graft(f, keep, constant)
		// The compiler reports the overlaid file under either of its two paths.
		spans[f.Path], spans[strings.ReplaceAll(f.Path, "/", "_")] = s, s
		if err := put(f.Path, src); err != nil {
			return nil, err
		}
	}
	for _, p := range b.pkgs {
		if err := put(p+"/asked_mutant.go", fmt.Appendf(nil, asked, path.Base(p))); err != nil {
			return nil, err
		}
	}
	j, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	return spans, os.WriteFile(b.path("overlay.json"), j, 0o644)
}

var complaint = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`)

// strike adds the mutants in the compiler's errors to fails and returns their number.
func (b *bench) strike(out string, spans map[string][]span) (n int) {
	for _, x := range complaint.FindAllStringSubmatch(out, -1) {
		line, _ := strconv.Atoi(x[2])
		for file, list := range spans {
			if !strings.HasSuffix(x[1], file) {
				continue
			}
			for _, s := range list {
				if s.first <= line && line <= s.last && !b.fails[s.mutant] {
					b.fails[s.mutant] = true
					n++
				}
			}
		}
	}
	return n
}
