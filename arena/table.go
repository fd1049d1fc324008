package arena

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"duplex/arena/stats"
	"duplex/schemas"
)

// Lines are what a reader has to know before any figure: that it was no real market, and what was run.
func (r *Report) Lines() []string {
	seal := ""
	if r.Sealed != unsealed {
		seal = " (" + r.Sealed + ")"
	}
	return r.lines(fmt.Sprint(several(len(r.Seeds), "seed"), seal))
}

// lines are Lines with another name for the seeds.
func (r *Report) lines(seeds string) []string {
	a := &r.About
	index := "Simulated BTC index"
	if !a.Simulated {
		index = "BTC index of tape " + r.Tape.Source
	}
	lines := []string{index + ", synthetic maker and noise: says nothing about a real market."}
	if !a.Solo {
		lines = append(lines, "The seats share a venue: each changes what the others find there.")
	}
	return append(lines, fmt.Sprintf("%s of %s of %s from %s, pace %s, noise %g.", seeds, several(a.Rounds, "round"), a.Series, a.Start, a.Pace, a.Noise))
}

// Table writes the report for a terminal.
func (r *Report) Table(out io.Writer) error {
	for _, line := range r.Lines() {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	shared := ""
	if !r.About.Solo {
		shared = "from seats\t"
	}
	cost := ""
	if r.HasUsage() {
		cost = "after cost\t"
	}
	fmt.Fprintf(w, "seat\tkind\tprofit\t95 %% interval\t%s%sper round\tdrawdown\tfills\tfees\tcalls\tBrier\t  verdict\n", cost, shared)
	for i := range r.Seats {
		s := &r.Seats[i]
		if shared != "" {
			shared = money(s.FromSeats.Mean) + "\t"
		}
		if cost != "" {
			cost = money(s.OwnAfterCost()) + "\t"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s%s%s\t%s\t%s\t%s\t%s\t%s\t  %s\n", s.Name, s.Kind, money(s.ProfitOwn.Mean), interval(s.ProfitOwn), cost, shared, money(s.ProfitPerRound.Mean), money(s.MaxDrawdown.Mean), count(s.Fills), money(s.Fees.Mean), count(s.Calls), scoreText(s.Brier), s.VerdictText())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(r.Seeds) < r.Of {
		_, err := fmt.Fprintf(out, "incomplete: %d of %d seeds\n", len(r.Seeds), r.Of)
		return err
	}
	return nil
}

// VerdictText is the verdict with what it lacks, and how the process of the seat behaved.
func (s *SeatReport) VerdictText() string {
	text := s.Text(money)
	if s.FailedSeeds > 0 {
		text += " in " + several(s.FailedSeeds, "seed")
	}
	if s.Stalls > 0 {
		text += ", " + several(s.Stalls, "stall")
	}
	if s.ExitStatus != nil {
		text += fmt.Sprintf(", ended with exit status %d", *s.ExitStatus)
	}
	return text
}

// several is a number of things.
func several(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprint(n, " ", thing, "s")
}

// count is a mean number of things. A few of them are not rounded to none.
func count(f stats.Figure) string {
	if f.Mean < 10 && f.Mean != math.Trunc(f.Mean) {
		return fmt.Sprintf("%.1f", f.Mean)
	}
	return fmt.Sprintf("%.0f", f.Mean)
}

func money(x float64) string {
	text := fmt.Sprintf("$%.2f", max(x, -x))
	if x < 0 && text != "$0.00" {
		return "−" + text
	}
	return text
}

func interval(f stats.Figure) string {
	if f.Low == nil {
		return "under 5 seeds"
	}
	return money(*f.Low) + " to " + money(*f.High)
}

func scoreText(f *stats.Figure) string {
	if f == nil {
		return "–"
	}
	return fmt.Sprintf("%.4f", f.Mean)
}

// StatsTable writes results from anywhere for a terminal.
func StatsTable(out io.Writer, runs *stats.Runs) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	if runs.Runs[0].Seats[0].Profits != nil {
		fmt.Fprint(w, "run\tseat\tseeds\tprofit\t95 % interval\tp\tp, with the largest loss\tp, corrected\t  verdict\n")
	} else {
		fmt.Fprint(w, "run\tseat\tseeds\tforecasts\tBrier\tcalibration error\treliability\tresolution\tuncertainty\tbetter than the market by\tp\t\n")
	}
	for i := range runs.Runs {
		r := &runs.Runs[i]
		for k := range r.Seats {
			fmt.Fprintf(w, "%s\t%s\t%d\t", schemas.ForTerminal(r.Run), schemas.ForTerminal(r.Seats[k].Name), r.Seeds)
			statsRow(w, &r.Seats[k])
		}
	}
	return w.Flush()
}

func statsRow(w io.Writer, s *stats.Seat) {
	if p := s.Profits; p != nil {
		tail := "–" // no swing: no loss was added
		if p.Swing > 0 {
			tail = chance(p.Tail)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t  %s\n", money(p.Profit.Mean), interval(p.Profit), chance(p.P), tail, chance(p.Corrected), p.Text(money))
		return
	}
	c, skill, p := s.Calibration, "–", "–"
	if s.Skill != nil {
		skill, p = fmt.Sprintf("%.4f", s.Skill.Mean), chance(s.Skill.P)
	}
	fmt.Fprintf(w, "%d\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%s\t%s\t\n", c.N, c.Brier, c.ECE, c.Reliability, c.Resolution, c.Uncertainty, skill, p)
}
