package arena

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/replica"
)

// TestFaultsAreReproducible tests that two runs of a seed have the same commands although every kind of
// fault strikes a process.
func TestFaultsAreReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	faults := []string{lostAnswer, lostRequest, lateAnswer + " 500", duplicate, refused + " shed", staleIndex + " 10", pauseMarket, restartVenue, socketCut}
	var first *Manifest
	for range 2 {
		dir := t.TempDir()
		c := testConfig(t, withAgent("careful"), withAgent("mcp"), func(c *Config) {
			c.Seeds, c.Rounds = "8", 2
			c.Seats = append(c.Seats[3:4], c.Seats[5:]...)
			c.Seats[1].Faults = faults
			c.Seats[2].Faults = []string{socketCut}
		})
		mustRun(t, c, Options{Dir: dir})
		m, err := readManifest(filepath.Join(dir, "8"))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := readRows(filepath.Join(dir, "8", "trajectories", "careful.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		struck := map[string]bool{}
		for i := range rows {
			struck[rows[i].Fault] = true
		}
		for _, name := range []string{lostAnswer, lateAnswer, duplicate, refused, staleIndex, pauseMarket, restartVenue, socketCut} {
			if !struck[name] {
				t.Errorf("%s does not strike", name)
			}
		}
		for _, x := range m.Seats {
			if x.ExitStatus != nil {
				t.Errorf("seat %s ended before the run, with status %d", x.Name, *x.ExitStatus)
			}
		}
		if !m.Reproducible || first != nil && (m.CommandsHash != first.CommandsHash || m.StateHash != first.StateHash) {
			t.Errorf("%+v, then %+v", first, m)
		}
		first = m
	}
}

// TestStoppedRun tests that a run that is stopped is an error and writes no report, and that the same
// command continues it to the report of a run that was not stopped.
func TestStoppedRun(t *testing.T) {
	run := func(dir string, stopAt int) error {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		_, err := Run(ctx, testConfig(t, func(c *Config) { c.Seeds, c.Rounds = "1..5", 1 }), Options{Dir: dir, Jobs: 2, Progress: func(done, total int) {
			if done == stopAt {
				stop()
			}
		}})
		return err
	}
	whole, stopped := t.TempDir(), t.TempDir()
	if err := run(whole, -1); err != nil {
		t.Fatal(err)
	}
	if err := run(stopped, 3); err == nil {
		t.Error("a run that was stopped is no error")
	}
	if _, err := os.Stat(filepath.Join(stopped, reportName)); err == nil {
		t.Error("a run that was stopped has a report")
	}
	if done, err := startedSeeds(stopped); err != nil || len(done) == 0 || len(done) == 5 {
		t.Errorf("seeds %v are complete, %v", done, err)
	}
	if err := run(stopped, -1); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{reportName, pageName} {
		a, err := os.ReadFile(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(stopped, name))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s of the run that was stopped differs: %v", name, err)
		}
	}
}

// TestSeatChangesNoDraw tests that other seats change neither the index nor when noise traders arrive.
func TestSeatChangesNoDraw(t *testing.T) {
	market := func(seats int) (index []core.IndexTick, arrivals []int64) {
		dir := t.TempDir()
		c := testConfig(t, func(c *Config) { c.Seeds, c.Rounds, c.Seats = "6", 1, c.Seats[:seats] })
		c.Noise = 1
		mustRun(t, c, Options{Dir: dir, Ready: func(s *seedRun) {
			s.noise.arrived = func(ts int64) { arrivals = append(arrivals, ts) }
		}})
		m, err := readManifest(filepath.Join(dir, "6"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = analyze(filepath.Join(dir, "6"), m, func(_ *replayBundle, out *replica.Result) error {
			for i := range out.Applied {
				if c, ok := out.Applied[i].Command.(*core.PostIndex); ok {
					index = append(index, c.Tick)
				}
			}
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return index, arrivals
	}
	index1, arrivals1 := market(1)
	index5, arrivals5 := market(5)
	if len(index1) < 60 || fmt.Sprint(index1) != fmt.Sprint(index5) {
		t.Error("the index depends on the seats")
	}
	if len(arrivals1) < 20 || fmt.Sprint(arrivals1) != fmt.Sprint(arrivals5) {
		t.Errorf("noise traders arrive at %v, and at %v beside other seats", arrivals1, arrivals5)
	}
}

// TestThink tests that thinking moves venue time on at the end of a turn, by the time between the calls
// times the factor, and by nothing in a run without the factor.
func TestThink(t *testing.T) {
	for _, think := range []float64{0, 50} {
		dir := t.TempDir()
		c := testConfig(t, func(c *Config) { c.Seeds, c.Rounds, c.Seats, c.Think = "2", 1, c.Seats[:1], think }, withAgent("advance"))
		r := mustRun(t, c, Options{Dir: dir})
		if r.Reproducible != (think == 0) {
			t.Errorf("think %v: reproducible is %v", think, r.Reproducible)
		}
		rows, err := readRows(filepath.Join(dir, "2", "trajectories", "advance.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var thoughts int64
		for i := range rows {
			x := &rows[i]
			thoughts += int64(float64(x.Thought) * 1000 * think)
			took, want := x.Done-x.Ts, int64(core.NsPerSec)
			if thought := int64(float64(x.Thought) * 1000 * think); thought > want {
				want = thought
			}
			if x.Status == 200 && (took < want || think == 0 && took != want) {
				t.Errorf("think %v: a second took %v ns after %v us of thinking", think, took, x.Thought)
			}
		}
		if len(rows) < 5 && thoughts < 30*core.NsPerSec { // on a machine that is held up, one thought may be longer than the round
			t.Errorf("think %v: only %d calls", think, len(rows))
		}
	}
}

// TestPace tests a run at a multiple of real time: seats have no turns, and the run says that it is not
// reproducible.
func TestPace(t *testing.T) {
	t.Parallel() // it waits for the machine's clock
	dir := t.TempDir()
	c := testConfig(t, func(c *Config) { c.Seeds, c.Rounds, c.Pace = "2", 1, "60" }, withAgent("rest"))
	var run *seedRun
	r := mustRun(t, c, Options{Dir: dir, Ready: func(s *seedRun) { run = s }, Progress: func(int, int) {
		x := run.seats[5]
		for calls := 0; calls < 3 && !run.turns.isOver(x.waits); time.Sleep(5 * time.Millisecond) { // the agent may be late
			x.log.mu.Lock()
			_ = x.log.out.Flush() // the log keeps the error
			x.log.mu.Unlock()
			rows, _ := readRows(filepath.Join(run.dir, "trajectories", "rest.jsonl"))
			calls = len(rows)
		}
	}})
	if r.Reproducible || r.Seats[5].Calls.Mean < 3 || r.Seats[5].Stalls > 0 {
		t.Errorf("the seat is %+v, want 3 calls or more, no stall, in a run that is not reproducible", r.Seats[5])
	}
	if _, err := Verify(dir, nil); err != nil {
		t.Error(err)
	}
}

// TestAnonymous tests that no answer of an anonymous run names the asset, and that neither the date nor
// the level of the price tells it.
func TestAnonymous(t *testing.T) {
	dir := t.TempDir()
	c := testConfig(t, func(c *Config) { c.Seeds, c.Rounds, c.Anonymous, c.Seats = "2", 1, true, c.Seats[3:4] }, withAgent("curious"))
	r := mustRun(t, c, Options{Dir: dir})
	named := *c
	if named.Anonymous = false; !r.Reproducible || SetupHash(c, "") == SetupHash(&named, "") {
		t.Errorf("reproducible is %v", r.Reproducible)
	}
	b, err := os.ReadFile(filepath.Join(dir, "2", "trajectories", "curious.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?i)bitcoin|btc|"20[2-9]\d-`).Find(b); found != nil || !bytes.Contains(b, []byte("abc-60s")) || !bytes.Contains(b, []byte("advance_clock")) {
		t.Errorf("an answer has %q", found)
	}
	if !regexp.MustCompile(`\\?"index\\?":\\?"(9\d|10\d)\d{9}\\?"|"index":"(9\d|10\d)\d{9}"`).Match(b) {
		t.Error("the index does not begin near 1000")
	}
	if got := anonymousPrice(65_000*100_000_000, 65_000*100_000_000); got != anonymousStart {
		t.Error(got)
	}
	if got := anonymousPrice(math.MaxInt64/1_000_000, 65_000*100_000_000); got == 0 {
		t.Error(got)
	}
}
