package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// readJudged reads the survivors that are no different from the original: a line
// a key, and under it, indented, the reason for it and for those right above it.
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
		return nil, fmt.Errorf("%s: no reason is given for %q", path, open[0])
	}
	return judged, s.Err()
}
