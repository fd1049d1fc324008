package arena

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"duplex/arena/stats"
)

// Ranking are the seats of runs of one setup, by falling mean of their own profit. Seats that failed or are of mixed
// agents come last and have no rank. Runs whose seeds were sealed and runs whose seeds were not are ranked apart, the
// sealed ones first.
type Ranking struct {
	Rows []Ranked `json:"rows"`
}

// Ranked is a seat of one of several runs.
type Ranked struct {
	Rank        *int         `json:"rank"` // from 1; null for a seat that failed
	Run         string       `json:"run"`
	Seat        string       `json:"seat"`
	Kind        string       `json:"kind"`
	Sealed      string       `json:"sealed"`
	ProfitOwn   stats.Figure `json:"profit_own"`
	Verdict     string       `json:"verdict"`
	FailedSeeds int          `json:"failed_seeds"`
	Next        *Next        `json:"next"` // compared with the row below; null at the last one with a rank

	dir    string // of the run
	report *SeatReport
	result stats.Result
}

// Next compares a row with the one below.
type Next struct {
	stats.Paired
	Pairwise bool `json:"paired"` // seed by seed
}

// Rank ranks the seats of runs of one setup. It verifies each run. Runs of different setups, those that are not
// complete, and a run that is named twice, also as a copy, are an error.
func Rank(dirs []string) (*Ranking, error) {
	reports, err := differentRuns(dirs, func(int) {})
	if err != nil {
		return nil, err
	}
	for i, r := range reports {
		for k, other := range reports[:i] {
			if !sameSetup(r, other) {
				return nil, badConfig("%s is of another setup than %s: only runs with the same setup_hash can be compared", dirs[i], dirs[k])
			}
		}
	}
	return rankRuns(dirs, reports), nil
}

// differentRuns verifies runs and returns their reports. A run that is named twice, also by a link or as a copy, is an
// error. progress gets how many are verified.
func differentRuns(dirs []string, progress func(done int)) (reports []*Report, err error) {
	if err := differentFolders(dirs); err != nil {
		return nil, err
	}
	for i, dir := range dirs {
		r, err := verified(dir, nil)
		if err != nil {
			return nil, err
		}
		for k, other := range reports {
			if slices.Equal(r.hashes, other.hashes) {
				return nil, badConfig("%s is the run %s once more: every seed has the same commands", dir, dirs[k])
			}
			if r.Sealed == sealFresh && slices.ContainsFunc(r.Seeds, func(x uint64) bool { return slices.Contains(other.Seeds, x) }) {
				return nil, badConfig("%s has seeds of the run %s: fresh seeds are drawn for one run", dir, dirs[k])
			}
		}
		reports = append(reports, r)
		progress(i + 1)
	}
	return reports, nil
}

// differentFolders returns an error if a folder is named twice, also by a link.
func differentFolders(dirs []string) error {
	for i, dir := range dirs {
		for _, other := range dirs[:i] {
			if sameFile(dir, other) {
				return badConfig("%s is the folder %s once more", dir, other)
			}
		}
	}
	return nil
}

// rankRuns ranks the seats of runs of one setup.
//
// The corrected p of a comparison is corrected for every two seats of the ranking, and not for the neighbours
// alone: which seats are neighbours is known only after the profits are.
func rankRuns(dirs []string, reports []*Report) *Ranking {
	out := &Ranking{}
	for i, r := range reports {
		for k := range r.Seats {
			s := &r.Seats[k]
			out.Rows = append(out.Rows, Ranked{Run: filepath.Base(dirs[i]), Seat: s.Name, Kind: s.Kind, Sealed: r.Sealed, ProfitOwn: s.ProfitOwn, Verdict: s.Verdict, FailedSeeds: s.FailedSeeds, dir: dirs[i], report: s, result: r.results[k]})
		}
	}
	slices.SortStableFunc(out.Rows, func(a, b Ranked) int {
		return cmp.Or(compareBool(a.known(), b.known()), compareBool(a.result.Out != "", b.result.Out != ""), cmp.Compare(b.ProfitOwn.Mean, a.ProfitOwn.Mean))
	})
	sealed, known := out.groups()
	compareRows(sealed)
	compareRows(known)
	return out
}

// sameSetup reports whether two runs have the same setup. Of a sealed run that has the number of its seeds, of
// another the seeds themselves.
func sameSetup(a, b *Report) bool {
	return a.SetupHash == b.SetupHash || (a.Sealed == unsealed) != (b.Sealed == unsealed) && a.byCount == b.byCount
}

// known reports whether the seeds of a row were known before the run.
func (r *Ranked) known() bool { return r.Sealed == unsealed }

// groups returns the rows that are ranked together.
func (r *Ranking) groups() (sealed, known []Ranked) {
	n := slices.IndexFunc(r.Rows, func(x Ranked) bool { return x.known() })
	if n < 0 {
		n = len(r.Rows)
	}
	return r.Rows[:n], r.Rows[n:]
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// compareRows sets the ranks of rows, and compares each with the one below.
func compareRows(rows []Ranked) {
	var seats []stats.Result
	for i := range rows {
		if row := &rows[i]; row.result.Out == "" {
			rank := i + 1
			row.Rank = &rank
			seats = append(seats, row.result)
		}
	}
	pairs := stats.Pair(seats)
	for i, at := 0, 0; i+1 < len(seats); i++ {
		rows[i].Next = &Next{pairs[at], stats.SameSeeds(&seats[i], &seats[i+1])}
		at += len(seats) - 1 - i // the pairs of a seat begin with the next one
	}
}

// Table writes a ranking for a terminal.
func (r *Ranking) Table(out io.Writer) error {
	sealed, known := r.groups()
	if len(sealed) == 0 || len(known) == 0 {
		return rankTable(out, r.Rows)
	}
	if err := rankTable(out, sealed); err != nil {
		return err
	}
	fmt.Fprint(out, "\nSeeds known before the run:\n\n")
	return rankTable(out, known)
}

func rankTable(out io.Writer, rows []Ranked) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\trun\tseat\tkind\tprofit\t95 % interval\tabove the next by\t95 % interval\tp, corrected\tdrawdown\tBrier\t  verdict\n")
	for i := range rows {
		x := &rows[i]
		rank, above, width, p := "–", "", "", ""
		if x.Rank != nil {
			rank = fmt.Sprint(*x.Rank)
		}
		if x.Next != nil {
			above, width, p = money(x.Next.Profit.Mean), interval(x.Next.Profit), chance(x.Next.Corrected)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t  %s\n", rank, x.Run, x.Seat, x.Kind, money(x.ProfitOwn.Mean), interval(x.ProfitOwn), above, width, p, money(x.report.MaxDrawdown.Mean), scoreText(x.report.Brier), x.report.VerdictText())
	}
	return w.Flush()
}
