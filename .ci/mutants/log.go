package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// log records which tests killed each mutant, "" for a survivor.
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
