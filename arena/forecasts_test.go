package arena

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"duplex/arena/stats"
	"duplex/core/export"
)

// TestForecastsAreScored tests the scores of a run. The baseline mid forecasts the middle of the market,
// which is its mark, so both have one score; the base rate has 0.25. A program in Python computes the
// scores of every seat again, from the exported tables alone.
func TestForecastsAreScored(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	mustRun(t, testConfig(t, func(c *Config) { c.Seeds, c.Rounds = "1..5", 6 }), Options{Dir: dir, Jobs: 2})
	if n, err := Verify(dir, nil); err != nil || n != 5 {
		t.Fatal(n, err)
	}
	r, err := MakeReport(dir, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	scored := map[string]*SeatReport{}
	for i := range r.Seats {
		s := &r.Seats[i]
		if s.Brier == nil {
			continue
		}
		scored[s.Name] = s
		for what, scored := range map[string]bool{
			"an interval of the Brier score": s.Brier.Low != nil, "a log loss": s.LogLoss != nil, "an ECE": s.ECE != nil,
			"a calibration of all forecasts": s.Calibration != nil && s.Calibration.ECE == s.ECE.Mean && s.Calibration.N > 0, "a skill": s.Skill != nil && s.Skill.Low != nil,
			"a Brier score of the market": s.Market.Brier != nil, "a Brier score of the base rate": s.Base.Brier != nil,
		} {
			if !scored {
				t.Fatalf("seat %s has not %s: %+v", s.Name, what, s)
			}
		}
		if s.Base.Brier.Mean != 0.25 || s.Base.LogLoss.Mean != stats.Round(math.Ln2) {
			t.Errorf("seat %s: the base rate has Brier score %v and log loss %v, want those of a coin", s.Name, s.Base.Brier.Mean, s.Base.LogLoss.Mean)
		}
	}
	mid, fair := scored["mid"], scored["fair"]
	if len(scored) != 2 || mid == nil || fair == nil {
		t.Fatalf("the seats with scores are %v, want mid and fair", scored)
	}
	if mid.Brier.Mean != mid.Market.Brier.Mean || mid.LogLoss.Mean != mid.Market.LogLoss.Mean || mid.ECE.Mean != mid.Market.ECE.Mean {
		t.Errorf("mid has %+v, the market %+v", *mid.Brier, *mid.Market.Brier)
	}
	if mid.Skill.Mean != 0 || mid.Skill.P != nil || fair.Skill.P == nil {
		t.Errorf("mid is better than the market by %+v, want exactly 0; fair by %+v", mid.Skill, fair.Skill)
	}
	if fair.Brier.Mean >= fair.Base.Brier.Mean {
		t.Errorf("fair has %v, no better than the base rate", fair.Brier.Mean)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), `aria-label="Calibration"`) {
		t.Errorf("the page has no calibration curve: %v", err)
	}
	if err := Export(dir, filepath.Join(out, "csv"), export.Options{Format: export.CSV}, nil); err != nil {
		t.Fatal(err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	text, err := exec.Command(python, "-c", script(t, "forecasts.py"), filepath.Join(out, "csv")).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct{ Brier, Log_loss, Ece float64 }
	if err := json.Unmarshal(text, &want); err != nil || len(want) != len(scored) {
		t.Fatalf("the script prints %s: %v, want the scores of %d seats", text, err, len(scored))
	}
	for name, s := range scored {
		w := want[name]
		for what, x := range map[string][2]float64{"Brier": {s.Brier.Mean, w.Brier}, "log loss": {s.LogLoss.Mean, w.Log_loss}, "calibration error": {s.ECE.Mean, w.Ece}} {
			if math.Abs(x[0]-x[1]) > 1e-6 {
				t.Errorf("%s: %s %v, Python has %v", name, what, x[0], x[1])
			}
		}
	}
}
