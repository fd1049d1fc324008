package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
	match             string
	n                 int
	seed              int64
}

func flags() (o options) {
	pkgs := "core/book,core/ledger,core/round,core/venue"
	flag.StringVar(&o.root, "root", "../..", "the `dir`ectory of the program's module")
	flag.StringVar(&pkgs, "packages", pkgs, "what to change, by commas")
	flag.StringVar(&o.judged, "judged", "survivors.txt", "the `file` of survivors that are no different")
	flag.StringVar(&o.log, "log", "", "a `file` that results go to, and that a broken-off run goes on from")
	flag.StringVar(&o.match, "match", "", "only mutants whose name holds this")
	flag.IntVar(&o.n, "n", 0, "how many to try of each package, drawn by -seed; 0: all")
	flag.Int64Var(&o.seed, "seed", 1, "of the draw")
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
	b := &bench{root: root, dir: dir, pkgs: o.pkgs, files: files, fails: map[*Mutant]bool{}}
	wanted := map[*Mutant]bool{}
	for _, m := range o.draw(all) {
		wanted[m] = true
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

// draw gives the mutants that this run is of.
func (o *options) draw(all []*Mutant) (out []*Mutant) {
	for _, p := range o.pkgs {
		var of []*Mutant
		for _, m := range all {
			if path.Dir(m.File) == p && strings.Contains(m.Key(), o.match) {
				of = append(of, m)
			}
		}
		if o.n > 0 && o.n < len(of) {
			rand.New(rand.NewSource(o.seed)).Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
			of = of[:o.n]
		}
		out = append(out, of...)
	}
	return out
}

// tryAll tries the clones first, then each constant in a build of its own.
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
		if by := b.try(p, 0); by != "" {
			return fmt.Errorf("the original fails: %s", by)
		}
	}
	for _, m := range all {
		if _, done := l.killed[m.Key()]; done || !wanted[m] || b.fails[m] || constants[m] {
			continue
		}
		if err := l.note(m, b.try(path.Dir(m.File), m.ID)); err != nil {
			return err
		}
	}
	none := func(*Mutant) bool { return false }
	for _, m := range all {
		if _, done := l.killed[m.Key()]; done || !wanted[m] || !constants[m] {
			continue
		}
		if b.build(none, m) != nil {
			b.fails[m] = true
			continue
		}
		if err := l.note(m, b.try(path.Dir(m.File), 0)); err != nil {
			return err
		}
	}
	return nil
}

// report tells the survivors and the figures. It is an error if one survives that is
// not judged, or, when all were tried, if one is judged that does not.
func report(b *bench, all []*Mutant, wanted map[*Mutant]bool, killed map[string]string, judged map[string]bool, whole bool) error {
	holes := 0
	for _, p := range b.pkgs {
		var tried, dead, same int
		for _, m := range all {
			if path.Dir(m.File) != p || !wanted[m] || b.fails[m] {
				continue
			}
			tried++
			switch k := m.Key(); {
			case killed[k] != "":
				dead++
			case judged[k]:
				same++
			default:
				holes++
				fmt.Printf("survived %s:%d %s\n", m.File, m.Line, k)
			}
		}
		fmt.Printf("%s: %d mutants, %d killed (%.1f %%), %d no different, %d survived\n",
			p, tried, dead, 100*float64(dead)/float64(max(1, tried)), same, tried-dead-same)
	}
	for _, k := range stale(all, killed, judged) {
		if whole {
			holes++
			fmt.Println("judged, but killed or not there:", k)
		}
	}
	if holes > 0 {
		return fmt.Errorf("%d to look at", holes)
	}
	return nil
}

func stale(all []*Mutant, killed map[string]string, judged map[string]bool) (out []string) {
	alive := map[string]bool{}
	for _, m := range all {
		if by, tried := killed[m.Key()]; tried && by == "" {
			alive[m.Key()] = true
		}
	}
	for k := range judged {
		if !alive[k] {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// log keeps what killed each mutant, "" for a survivor.
type log struct {
	killed map[string]string
	file   *os.File
}

func openLog(name string) (*log, error) {
	l := &log{killed: map[string]string{}}
	if name == "" {
		return l, nil
	}
	was, err := os.Open(name)
	if err == nil {
		defer was.Close()
		s := bufio.NewScanner(was)
		for s.Scan() {
			if by, key, ok := strings.Cut(s.Text(), "\t"); ok {
				l.killed[key] = by
			}
		}
		err = s.Err()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l.file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	return l, err
}

func (l *log) note(m *Mutant, by string) error {
	l.killed[m.Key()] = by
	if l.file == nil {
		return nil
	}
	_, err := fmt.Fprintf(l.file, "%s\t%s\n", by, m.Key())
	return err
}

func (l *log) close() {
	if l.file != nil {
		l.file.Close()
	}
}
