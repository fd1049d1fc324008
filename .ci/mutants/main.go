package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

type options struct {
	root, judged, log string
	pkgs              []string
	match, since      string
	n                 int
	seed              int64
}

func flags() (o options) {
	pkgs := "core/book,core/ledger,core/round,core/venue"
	flag.StringVar(&o.root, "root", "../..", "the `dir`ectory of the program's module")
	flag.StringVar(&pkgs, "packages", pkgs, "packages to change, separated by commas")
	flag.StringVar(&o.judged, "judged", "survivors.txt", "the `file` of survivors equivalent to the original")
	flag.StringVar(&o.log, "log", "", "a `file` for the results, from which an interrupted run resumes")
	flag.StringVar(&o.match, "match", "", "only mutants whose key contains this")
	flag.IntVar(&o.n, "n", 0, "number of mutants to try in each package, drawn at random; 0 for all")
	flag.StringVar(&o.since, "since", "", "beside those drawn, all mutants in the lines changed since this `commit`")
	flag.Int64Var(&o.seed, "seed", 1, "seed of the draw")
	flag.Parse()
	o.pkgs = strings.Split(pkgs, ",")
	return o
}

func run() error {
	o := flags()
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	judged, err := readJudged(o.judged)
	if err != nil {
		return err
	}
	files, all, err := find(root, o.pkgs)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &bench{ctx: ctx, root: root, dir: dir, pkgs: o.pkgs, files: files, fails: map[*Mutant]bool{}}
	wanted := map[*Mutant]bool{}
	for _, m := range o.draw(all) {
		wanted[m] = true
	}
	if o.since != "" {
		changed, err := changedSince(ctx, root, o.since, o.pkgs)
		if err != nil {
			return err
		}
		for _, m := range all {
			if changed[m.File][m.Line] {
				wanted[m] = true
			}
		}
	}
	l, err := openLog(o.log)
	if err != nil {
		return err
	}
	defer l.close()
	if err := b.tryAll(all, wanted, l); err != nil {
		return err
	}
	return report(b, all, wanted, l.killed, judged, len(wanted) == len(all))
}

// rank is the place of a mutant in the draw. It depends on the mutant alone, so that a line that is added
// elsewhere draws no others.
func (o *options) rank(m *Mutant) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, o.seed, m.Key())
	return h.Sum64()
}

// draw returns the mutants to try in this run.
func (o *options) draw(all []*Mutant) (out []*Mutant) {
	for _, p := range o.pkgs {
		var of []*Mutant
		for _, m := range all {
			if path.Dir(m.File) == p && strings.Contains(m.Key(), o.match) {
				of = append(of, m)
			}
		}
		if o.n > 0 && o.n < len(of) {
			slices.SortFunc(of, func(a, b *Mutant) int { return cmp.Compare(o.rank(a), o.rank(b)) })
			of = of[:o.n]
		}
		out = append(out, of...)
	}
	return out
}
