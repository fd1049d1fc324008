package arena

import (
	"errors"
	"testing"
)

func testConfig(t *testing.T, change ...func(*Config)) *Config {
	t.Helper()
	c := NewConfig()
	c.Solo = false // one venue a seed is quicker
	c.Name, c.Rounds, c.Seeds, c.Seats = "test", 3, "1..2", []Seat{
		{Name: "hold", Kind: "hold"}, {Name: "random", Kind: "random"}, {Name: "mid", Kind: "mid"}, {Name: "fair", Kind: "fair"}, {Name: "maker", Kind: "maker"},
	}
	for _, f := range change {
		f(c)
	}
	if err := c.Complete(); err != nil {
		t.Fatal(err)
	}
	return c
}

// mustRun runs an arena, which must succeed.
func mustRun(t *testing.T, c *Config, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mustFail runs an arena in which an agent must fail.
func mustFail(t *testing.T, c *Config, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), c, o)
	if !errors.Is(err, ErrFailed) {
		t.Fatalf("the run ends with %v, want a seat that failed", err)
	}
	return r
}

// figuresOf returns the figures of the bundles of a run.
func figuresOf(t *testing.T, dir string) []*seedFigures {
	t.Helper()
	runs, err := loadRun(dir, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// TestSameSeedSameRun tests that two runs of a seed have the same commands and the same state.
func TestSameSeedSameRun(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	var first []*seedFigures
	for range 2 {
		dir := t.TempDir()
		mustRun(t, testConfig(t), Options{Dir: dir, Jobs: 2})
		runs := figuresOf(t, dir)
		if first == nil {
			first = runs
			continue
		}
		for i, f := range runs {
			if f.CommandsHash != first[i].CommandsHash || f.StateHash != first[i].StateHash || !f.Reproducible {
				t.Errorf("seed %d: %s %s, then %s %s", f.Seed, first[i].CommandsHash, first[i].StateHash, f.CommandsHash, f.StateHash)
			}
		}
		if runs[0].CommandsHash == runs[1].CommandsHash {
			t.Error("two seeds have the same commands")
		}
		if _, err := Verify(dir, nil); err != nil {
			t.Error(err)
		}
	}
}
