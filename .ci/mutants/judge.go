package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// readJudged reads the mutants that are equivalent to the original. The file has one key a line; an
// indented line gives the reason for the keys directly above it.
func readJudged(path string) (map[string]bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	judged := map[string]bool{}
	var open []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		line := s.Text()
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "    "):
			for _, k := range open {
				judged[k] = true
			}
			open = nil
		default:
			open = append(open, line)
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("%s: no reason for %q", path, open[0])
	}
	return judged, s.Err()
}

// report prints the survivors and the totals. It returns an error if a survivor is not judged, or,
// if whole is true, if a judged mutant did not survive.
func report(b *bench, all []*Mutant, wanted map[*Mutant]bool, killed map[string]string, judged map[string]bool, whole bool) error {
	open := 0
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
				open++
				fmt.Printf("survived %s:%d %s\n", m.File, m.Line, k)
			}
		}
		fmt.Printf("%s: %d mutants, %d killed (%.1f %%), %d equivalent, %d survived\n",
			p, tried, dead, 100*float64(dead)/float64(max(1, tried)), same, tried-dead-same)
	}
	for _, k := range stale(all, killed, judged) {
		if whole {
			open++
			fmt.Println("judged, but killed or not found:", k)
		}
	}
	if open > 0 {
		return fmt.Errorf("%d mutants need attention", open)
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
