package arena

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

// Ranked is a seat of one of several runs.
type Ranked struct {
	Run string
	SeatReport
}

// Rank returns the seats of runs of one setup by falling mean profit. It verifies each run. Runs of
// different setups, and those that are not complete, are an error.
func Rank(dirs []string) (list []Ranked, err error) {
	setup := ""
	for _, dir := range dirs {
		r, err := verified(dir, nil)
		if err != nil {
			return nil, err
		}
		setup = cmp.Or(setup, r.SetupHash)
		if r.SetupHash != setup {
			return nil, badConfig("%s is of another setup than %s: only runs with the same setup_hash can be compared", dir, dirs[0])
		}
		for i := range r.Seats {
			list = append(list, Ranked{filepath.Base(dir), r.Seats[i]})
		}
	}
	slices.SortStableFunc(list, func(a, b Ranked) int { return cmp.Compare(b.Profit.Mean, a.Profit.Mean) })
	return list, nil
}

// RankTable writes a ranking for a terminal.
func RankTable(out io.Writer, list []Ranked) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\trun\tseat\tkind\tprofit\t95 % interval\tdrawdown\tBrier\t  verdict\n")
	for i := range list {
		s := &list[i]
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t  %s\n", i+1, s.Run, s.Name, s.Kind, money(s.Profit.Mean), interval(s.Profit), money(s.MaxDrawdown.Mean), scoreText(s.Brier), s.Verdict)
	}
	return w.Flush()
}
