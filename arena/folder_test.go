package arena

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForeignFiles tests that neither a run nor a certification deletes what is not its own: it is an error
// before anything is changed. What an interrupted run left is replaced.
func TestForeignFiles(t *testing.T) {
	one := func(c *Config) { c.Rounds, c.Seeds, c.Seats = 1, "1..2", c.Seats[:1] }
	run := func(dir string, change ...func(*Config)) error {
		_, err := Run(t.Context(), testConfig(t, append([]func(*Config){one}, change...)...), Options{Dir: dir})
		return err
	}
	solo := func(c *Config) { c.Solo = true }
	for name, x := range map[string]struct {
		file string
		run  func(dir string) error
	}{
		"a file in a seed":           {"2/data.txt", func(dir string) error { return run(dir) }},
		"a file instead of a seed":   {"2", func(dir string) error { return run(dir) }},
		"a report":                   {"report.html", func(dir string) error { return run(dir) }},
		"a file where a seed plays":  {"playing-1/data.txt", func(dir string) error { return run(dir) }},
		"a venue":                    {"2/journal/MARK", func(dir string) error { return run(dir) }},
		"a file beside trajectories": {"2/trajectories/notes.txt", func(dir string) error { return run(dir) }},
		"a file in a seed, solo":     {"2/data.txt", func(dir string) error { return run(dir, solo) }},
		"a file in a seat, solo":     {"2/hold/data.txt", func(dir string) error { return run(dir, solo) }},
		"a file in a fault": {"socket_cut/data.txt", func(dir string) error {
			_, err := Certify(t.Context(), testConfig(t, one, withAgent("careful")), Options{Dir: dir, faults: []string{lostAnswer, socketCut}}, nil)
			return err
		}},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		path := filepath.Join(dir, x.file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("mine"), 0o600)); err != nil {
			t.Fatal(err)
		}
		var bad *ConfigError
		if err := x.run(dir); !errors.As(err, &bad) || !strings.Contains(err.Error(), "is no bundle of dx arena") {
			t.Errorf("%s: %v, want that this is no bundle of dx arena", name, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
			t.Errorf("%s: the file has %q, %v, want it unchanged", name, b, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s: the run has begun: %v, %v", name, entries, err)
		}
	}
	dir := t.TempDir()
	left := filepath.Join(dir, "2", trajectoriesDir, "hold.jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(left), 0o700), os.WriteFile(left, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := run(dir); err != nil {
		t.Errorf("after an interrupted run: %v", err)
	}
}

// TestTwoRuns tests that a second run or certification in the folder of one that is not over is an error,
// which changes nothing, and that the folder is free afterwards.
func TestTwoRuns(t *testing.T) {
	dir := t.TempDir()
	c := func() *Config {
		return testConfig(t, func(c *Config) { c.Rounds, c.Seeds, c.Seats = 1, "1", c.Seats[:1] }, withAgent("advance"))
	}
	tried := 0
	_, err := Run(t.Context(), c(), Options{Dir: dir, Ready: func(*seedRun) {
		tried++
		_, err1 := Run(context.Background(), c(), Options{Dir: dir})
		_, err2 := Certify(context.Background(), c(), Options{Dir: dir, faults: []string{socketCut}}, nil)
		for _, err := range []error{err1, err2} {
			if err == nil || !strings.Contains(err.Error(), "in use by another dx arena") {
				t.Errorf("a second run: %v", err)
			}
		}
	}})
	if err != nil || tried != 1 {
		t.Fatal(tried, err)
	}
	if _, err := Verify(dir, nil); err != nil {
		t.Error(err)
	}
	if _, err := Certify(t.Context(), c(), Options{Dir: dir, faults: []string{socketCut}}, nil); err != nil {
		t.Error(err)
	}
}
