package arena

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"duplex/arena/stats"
)

// TestDigest tests that the digest of a seat covers its command, its program, its arguments that are files, and the
// files that it names, and nothing else.
func TestDigest(t *testing.T) {
	dir := t.TempDir()
	script, lib := filepath.Join(dir, "agent.sh"), filepath.Join(dir, "lib")
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(script, "exit")
	write(filepath.Join(lib, "b.txt"), "two")
	write(filepath.Join(lib, "a.txt"), "one")
	of := func(command string, files ...string) string {
		t.Helper()
		s := Seat{Name: "me", Command: command, Files: files}
		if err := s.complete(false); err != nil {
			t.Fatal(err)
		}
		d, err := s.digest()
		if err != nil {
			t.Fatal(err)
		}
		return *d
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(sh)
	if err != nil {
		t.Fatal(err)
	}
	var sums []byte
	for _, text := range []string{"sh " + script + " 1", string(program), "exit", "a.txt", "one", "b.txt", "two"} {
		one := sha256.Sum256([]byte(text))
		sums = append(sums, one[:]...)
	}
	sum := sha256.Sum256(sums)
	first := of("sh "+script+" 1", lib)
	if want := hex.EncodeToString(sum[:]); first != want {
		t.Errorf("the digest is %s, want %s", first, want)
	}
	seen := map[string]string{first: "the first"}
	for what, change := range map[string]func() string{
		"another argument":    func() string { return of("sh "+script+" 2", lib) },
		"no files":            func() string { return of("sh " + script + " 1") },
		"another script":      func() string { write(script, "exit 0"); return of("sh "+script+" 1", lib) },
		"another named file":  func() string { write(filepath.Join(lib, "a.txt"), "three"); return of("sh "+script+" 1", lib) },
		"another interpreter": func() string { return of("bash "+script+" 1", lib) },
	} {
		d := change()
		if other := seen[d]; other != "" {
			t.Errorf("%s has the digest of %s", what, other)
		}
		seen[d] = what
	}
	// No byte can move from one file to the next, and what is no file is not read.
	write(script, "exit"+"one")
	write(filepath.Join(lib, "a.txt"), "")
	moved := of("sh "+script+" 1", lib)
	write(script, "exit")
	write(filepath.Join(lib, "a.txt"), "one")
	if moved == of("sh "+script+" 1", lib) {
		t.Error("bytes that move between two files change no digest")
	}
	if err := os.Symlink(os.DevNull, filepath.Join(lib, "pipe")); err != nil {
		t.Fatal(err)
	}
	s := Seat{Name: "me", Command: "sh " + script, Files: []string{lib}}
	if err := s.complete(false); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a device among the files of a seat: %v", err)
	}
	if d, err := (&Seat{Name: "hold", Kind: "hold"}).digest(); d != nil || err != nil {
		t.Errorf("a baseline has the digest %v, %v, want none", d, err)
	}
}

// TestChangedAgent tests that a run that was stopped is not continued with another agent, unless that is allowed: then
// the seat has neither a verdict nor a rank.
func TestChangedAgent(t *testing.T) {
	dir, script := t.TempDir(), filepath.Join(t.TempDir(), "agent.sh")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# nothing\n")
	config := func() *Config {
		return testConfig(t, func(c *Config) {
			c.Rounds, c.Seeds = 1, "1..2"
			c.Seats = append(c.Seats[:2], Seat{Name: "mine", Command: "sh " + script})
		})
	}
	mustRun(t, config(), Options{Dir: dir})
	if err := os.RemoveAll(filepath.Join(dir, "2")); err != nil {
		t.Fatal(err)
	}
	write("# nothing at all\n")
	var bad *ConfigError
	if _, err := Run(t.Context(), config(), Options{Dir: dir}); !errors.As(err, &bad) || !strings.Contains(err.Error(), `seat "mine"`) || !strings.Contains(err.Error(), "--changed-agents") {
		t.Fatalf("a run continues with another agent: %v", err)
	}
	if seeds, err := startedSeeds(dir); err != nil || len(seeds) != 1 {
		t.Errorf("after it was refused, the run has seeds %v, %v, want one", seeds, err)
	}
	r := mustRun(t, config(), Options{Dir: dir, ChangedAgents: true})
	if s := r.Seats[2]; s.Verdict != stats.MixedAgents || s.P != nil || r.Seats[0].Verdict == stats.MixedAgents {
		t.Errorf("the seat of two agents has the verdict %q and p %v, the first one %q", s.Verdict, s.P, r.Seats[0].Verdict)
	}
	for _, p := range r.Paired {
		if p.Seat == "mine" || p.Other == "mine" {
			t.Errorf("the seat of two agents is compared: %+v", p)
		}
	}
	list, err := Rank([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if last := list.Rows[len(list.Rows)-1]; last.Seat != "mine" || last.Rank != nil || last.Next != nil {
		t.Errorf("the last of the ranking is %+v, want the seat of two agents, without a rank", last)
	}
}

// TestAgentChangesWhileItPlays tests that a run ends with an error if the program of a seat is changed between two of
// its seeds.
func TestAgentChangesWhileItPlays(t *testing.T) {
	script := filepath.Join(t.TempDir(), "agent.sh")
	if err := os.WriteFile(script, []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, func(c *Config) {
		c.Rounds, c.Seeds = 1, "1..3"
		c.Seats = []Seat{{Name: "mine", Command: "sh " + script}}
	})
	dir := t.TempDir()
	_, err := Run(t.Context(), c, Options{Dir: dir, Ready: func(*seedRun) { _ = os.WriteFile(script, []byte("# another\n"), 0o600) }})
	if err == nil || !strings.Contains(err.Error(), `seat "mine"`) || !strings.Contains(err.Error(), "while the run went on") {
		t.Errorf("the agent was changed after the first seed: %v", err)
	}
	if seeds, err := startedSeeds(dir); err != nil || len(seeds) != 1 {
		t.Errorf("seeds %v are complete, %v, want the first", seeds, err)
	}
}
