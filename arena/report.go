package arena

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"duplex/core"
	"duplex/core/replica"
	"duplex/internal/atomicfile"
)

// Report is the report of a run (docs/guides/arena.md). Money is in dollars.
type Report struct {
	SetupHash    string       `json:"setup_hash"`
	Reproducible bool         `json:"reproducible"`
	Seeds        []uint64     `json:"seeds"`
	Seats        []SeatReport `json:"seats"`
	Paired       []Paired     `json:"paired"`

	Of int `json:"-"` // how many seeds the run has if it is complete

	name   string
	curves []*curves
}

// SeatReport is the report of one seat.
type SeatReport struct {
	Name           string         `json:"name"`
	Kind           string         `json:"kind"`
	Profit         Figure         `json:"profit"`
	Return         Figure         `json:"return"`
	MaxDrawdown    Figure         `json:"max_drawdown"`
	ProfitPerRound PerRound       `json:"profit_per_round"`
	Scores                        // of its forecasts
	Market         Scores         `json:"market"`
	Base           Scores         `json:"base"`
	Fills          Figure         `json:"fills"`
	MakerShare     float64        `json:"maker_share"`
	Fees           Figure         `json:"fees"`
	Volume         Figure         `json:"volume"`
	Calls          Figure         `json:"calls"`
	Rejections     map[string]int `json:"rejections"`
	Tokens         Figure         `json:"tokens"`
	ThinkingMs     Figure         `json:"thinking_ms"`
	Stalls         int            `json:"stalls"`
	ExitStatus     *int           `json:"exit_status"`
	Verdict        string         `json:"verdict"`
}

// PerRound is the profit of a round: its mean over rounds, as a figure over seeds, and its deviation
// over all rounds of all seeds.
type PerRound struct {
	Figure
	Deviation float64 `json:"deviation"`
}

// Scores are the scores of a seat, or of another forecaster at the same forecasts; null without forecasts.
type Scores struct {
	Brier   *Figure `json:"brier"`
	LogLoss *Figure `json:"log_loss"`
	ECE     *Figure `json:"ece"`
}

// Paired is the difference in profit between a seat and a baseline, seed by seed.
type Paired struct {
	Seat     string `json:"seat"`
	Baseline string `json:"baseline"`
	Profit   Figure `json:"profit"`
}

// The verdicts on a seat.
const (
	verdictProfit = "profit"
	verdictLoss   = "loss"
	verdictNone   = "no evidence of skill"
)

// curves is what the page draws of a seat.
type curves struct {
	equity [][]float64 // by seed
	profit []float64   // by seed
	bins   tenths
}

const (
	reportName = "report.json"
	pageName   = "report.html"
)

// IsRun reports whether a folder is that of a run: it has a report, or bundles of seeds.
func IsRun(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, reportName)); err == nil {
		return true
	}
	seeds, _ := startedSeeds(dir)
	return slices.ContainsFunc(seeds, func(seed uint64) bool {
		return IsBundle(filepath.Join(dir, strconv.FormatUint(seed, 10)))
	})
}

// bundles returns the folders of the bundles of a seed of a run: more than one if each seat has its
// own venue.
func bundles(dir string, seed uint64, c *Config) (list []string) {
	at := filepath.Join(dir, strconv.FormatUint(seed, 10))
	if !c.Solo {
		return []string{at}
	}
	for i := range c.Seats {
		list = append(list, filepath.Join(at, c.Seats[i].Name))
	}
	return list
}

// completeSeeds returns the seeds of a run that are complete: those with the bundle of every seat, if
// each has its own venue. settings are those that the run has by its settings.
func completeSeeds(dir string) (seeds, settings []uint64, err error) {
	started, err := startedSeeds(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, seed := range started {
		found := manifestsOf(filepath.Join(dir, strconv.FormatUint(seed, 10)))
		m, err := readManifest(found[0])
		if err != nil {
			return nil, nil, err
		}
		if settings, err = ParseSeeds(m.Settings.Seeds); err != nil {
			return nil, nil, err
		}
		if !m.Settings.Solo || len(found) == len(m.Settings.Seats) {
			seeds = append(seeds, seed)
		}
	}
	if len(seeds) == 0 {
		return nil, nil, badConfig("%s has no complete seed", dir)
	}
	return seeds, settings, nil
}

// startedSeeds returns the seeds of a run that have a manifest.
func startedSeeds(dir string) (seeds []uint64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		seed, err := strconv.ParseUint(e.Name(), 10, 64)
		if err != nil || !e.IsDir() {
			continue
		}
		if len(manifestsOf(filepath.Join(dir, e.Name()))) > 0 {
			seeds = append(seeds, seed)
		}
	}
	slices.Sort(seeds)
	return seeds, err
}

// manifestsOf returns the bundles in the folder of a seed that are complete.
func manifestsOf(at string) (list []string) {
	if _, err := os.Stat(filepath.Join(at, manifestName)); err == nil {
		return []string{at}
	}
	found, _ := filepath.Glob(filepath.Join(at, "*", manifestName))
	for _, path := range found {
		list = append(list, filepath.Dir(path))
	}
	return list
}

// loadRun analyzes every bundle of a run, seed by seed. check verifies each against its manifest.
func loadRun(dir string, check bool, progress func(done, total int)) (runs []*seedFigures, err error) {
	seeds, _, err := completeSeeds(dir)
	if err != nil {
		return nil, err
	}
	var bad []error
	for i, seed := range seeds {
		f, err := loadSeed(filepath.Join(dir, strconv.FormatUint(seed, 10)), check)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		runs = append(runs, f)
		if err := sameRun(filepath.Join(dir, strconv.FormatUint(seed, 10)), f.Setup, runs[0].Setup); err != nil {
			return nil, err
		}
		if progress != nil {
			progress(i+1, len(seeds))
		}
	}
	return runs, errors.Join(bad...)
}

// sameRun returns an error if the bundle in a folder is of another run than another one.
func sameRun(dir string, m, other *Manifest) error {
	switch {
	case m.SetupHash != other.SetupHash:
		return badConfig("%s is of another setup than seed %d", dir, other.Seed)
	case m.Versions != other.Versions:
		return badConfig("%s is of other versions than seed %d", dir, other.Seed)
	case !sameSeats(m.Settings, other.Settings):
		return badConfig("%s has other seats than seed %d", dir, other.Seed)
	}
	return nil
}

// loadSeed analyzes the bundles of one seed, and joins those of single seats.
func loadSeed(at string, check bool) (joined *seedFigures, err error) {
	for _, dir := range manifestsOf(at) {
		f, err := loadBundle(dir, check)
		if err != nil {
			return nil, err
		}
		if name := filepath.Base(at); name != strconv.FormatUint(f.Seed, 10) {
			return nil, fmt.Errorf("%s is the bundle of seed %d", dir, f.Seed)
		}
		if joined == nil {
			joined = f
			continue
		}
		if err := sameRun(dir, f.Setup, joined.Setup); err != nil {
			return nil, err
		}
		joined.Seats = append(joined.Seats, f.Seats...)
		joined.Reproducible = joined.Reproducible && f.Reproducible
	}
	slices.SortFunc(joined.Seats, func(a, b *seatFigures) int { return a.Number - b.Number })
	for i, s := range joined.Seats {
		if s.Number != i+1 || len(joined.Seats) != len(joined.Setup.Settings.Seats) {
			return nil, fmt.Errorf("%s: its bundles do not have every seat of the settings once", at)
		}
	}
	return joined, nil
}

// checkIndex returns a function that compares the prices in a bundle with those that its seed gives. It returns
// nil for a run on a tape of real prices, because a bundle does not contain the tape.
func checkIndex(m *Manifest) func(*replayBundle, *replica.Result) error {
	if m.Settings.TapeHash != "" {
		return nil
	}
	p := newPrices(m.Settings, m.Seed)
	drawn, second := core.Price(0), int64(0)
	return func(b *replayBundle, out *replica.Result) error {
		for i := range out.Applied {
			c, ok := out.Applied[i].Command.(*core.PostIndex)
			if !ok {
				continue
			}
			second = cmp.Or(second, b.start/core.NsPerSec)
			for now := out.Applied[i].Stamp.Ts / core.NsPerSec; second < c.Tick.Second && second <= now; second++ { // a fault may have held some back
				var err error
				if drawn, _, err = p.next(); err != nil {
					return err
				}
			}
			if c.Tick.Feed != m.Settings.series.Feed || c.Tick.Price != drawn || c.Tick.Second != second {
				return fmt.Errorf("seq %d: the index is not the one that seed %d draws", out.Applied[i].Stamp.Seq, m.Seed)
			}
		}
		return nil
	}
}

// checkComplete returns an error unless a run has exactly the seeds of its settings.
func checkComplete(dir string) error {
	seeds, settings, err := completeSeeds(dir)
	if err != nil {
		return err
	}
	if missing := slices.DeleteFunc(slices.Clone(settings), func(x uint64) bool { return slices.Contains(seeds, x) }); len(missing) > 0 {
		return badConfig("%s has %d of %d seeds, and seed %d is not complete: dx arena run continues it", dir, len(seeds), len(settings), missing[0])
	}
	if !slices.Equal(seeds, settings) {
		return badConfig("%s has seeds that are not in its settings", dir)
	}
	return nil
}

// MakeReport computes the report of a run from its bundles. With check it first compares every file
// with its manifest. progress may be nil.
func MakeReport(dir string, check bool, progress func(done, total int)) (*Report, error) {
	runs, err := loadRun(dir, check, progress)
	if err != nil {
		return nil, err
	}
	r := reportOf(runs)
	r.Of = len(runs[0].Setup.Settings.seeds)
	return r, nil
}

// reportOf computes the report of the seeds of a run.
func reportOf(runs []*seedFigures) *Report {
	r := &Report{SetupHash: runs[0].Setup.SetupHash, Reproducible: true, Paired: []Paired{}, name: runs[0].Setup.Settings.Name}
	for _, f := range runs {
		r.Seeds = append(r.Seeds, f.Seed)
		r.Reproducible = r.Reproducible && f.Reproducible
	}
	b := newBootstrap(r.SetupHash, len(runs))
	for i := range runs[0].Seats {
		var of []*seatFigures
		for _, f := range runs {
			of = append(of, f.Seats[i])
		}
		r.Seats = append(r.Seats, seatReport(b, of))
		r.curves = append(r.curves, curvesOf(of))
	}
	for i, x := range runs[0].Seats {
		for j, y := range runs[0].Seats {
			if i == j || baselines[y.Kind] == nil {
				continue
			}
			var differences []float64
			for _, f := range runs {
				differences = append(differences, f.Seats[i].Profit-f.Seats[j].Profit)
			}
			r.Paired = append(r.Paired, Paired{Seat: x.Name, Baseline: y.Name, Profit: b.figure(differences)})
		}
	}
	return r
}

func seatReport(b *bootstrap, of []*seatFigures) SeatReport {
	over := func(value func(*seatFigures) float64) Figure {
		values := make([]float64, len(of))
		for i, s := range of {
			values[i] = value(s)
		}
		return b.figure(values)
	}
	out := SeatReport{
		Name: of[0].Name, Kind: of[0].Kind, Rejections: map[string]int{},
		Profit:      over(func(s *seatFigures) float64 { return s.Profit }),
		Return:      over(func(s *seatFigures) float64 { return ratio(s.Profit, s.Fund) }),
		MaxDrawdown: over(func(s *seatFigures) float64 { return s.MaxDrawdown }),
		Fills:       over(func(s *seatFigures) float64 { return float64(s.Fills) }),
		Fees:        over(func(s *seatFigures) float64 { return s.Fees }),
		Volume:      over(func(s *seatFigures) float64 { return s.Volume }),
		Calls:       over(func(s *seatFigures) float64 { return float64(s.Calls) }),
		Tokens:      over(func(s *seatFigures) float64 { return float64(s.Tokens) }),
		ThinkingMs:  over(func(s *seatFigures) float64 { return s.ThinkingMs }),
	}
	var rounds []float64
	fills, makers := 0, 0
	for _, s := range of {
		rounds = append(rounds, s.Rounds...)
		fills, makers = fills+s.Fills, makers+s.MakerFills
		out.Stalls += s.Stalls
		if s.ExitStatus != nil && (out.ExitStatus == nil || *out.ExitStatus == 0) { // a failure in any seed
			out.ExitStatus = s.ExitStatus
		}
		for code, n := range s.Rejections {
			out.Rejections[code] += n
		}
	}
	out.ProfitPerRound = PerRound{over(func(s *seatFigures) float64 { return mean(s.Rounds) }), round6(deviation(rounds))}
	out.MakerShare = round6(ratio(float64(makers), float64(fills)))
	out.Scores = scoreFigures(b, of, func(s *seatFigures) *score { return &s.scores.Seat })
	out.Market = scoreFigures(b, of, func(s *seatFigures) *score { return &s.scores.Market })
	out.Base = scoreFigures(b, of, func(s *seatFigures) *score { return &s.scores.Base })
	switch {
	case out.Profit.Low != nil && *out.Profit.Low > 0:
		out.Verdict = verdictProfit
	case out.Profit.High != nil && *out.Profit.High < 0:
		out.Verdict = verdictLoss
	default:
		out.Verdict = verdictNone
	}
	return out
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// scoreFigures returns the figures of three scores over the seeds that have forecasts: an interval
// only if all have. They are null without any.
func scoreFigures(b *bootstrap, of []*seatFigures, which func(*seatFigures) *score) Scores {
	var x, y, z []float64
	for _, s := range of {
		if p, q, r, ok := which(s).values(); ok {
			x, y, z = append(x, p), append(y, q), append(z, r)
		}
	}
	if len(x) == 0 {
		return Scores{}
	}
	f, g, h := b.figure(x), b.figure(y), b.figure(z)
	return Scores{&f, &g, &h}
}

func curvesOf(of []*seatFigures) *curves {
	c := &curves{}
	for _, s := range of {
		c.equity = append(c.equity, s.Equity)
		c.profit = append(c.profit, s.Profit)
		for i, x := range s.scores.Seat.bins {
			c.bins[i].n, c.bins[i].yes, c.bins[i].p = c.bins[i].n+x.n, c.bins[i].yes+x.yes, c.bins[i].p+x.p
		}
	}
	return c
}

// Write writes report.json and report.html into the folder of a run.
func (r *Report) Write(dir string) error {
	text, page, err := r.files()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, reportName), text); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, pageName), page)
}

// files returns the contents of report.json and report.html.
func (r *Report) files() (text, page []byte, err error) {
	if text, err = json.MarshalIndent(r, "", "  "); err != nil {
		return nil, nil, err
	}
	page, err = r.page(r.name)
	return append(text, '\n'), page, err
}

// Table writes the report for a terminal.
func (r *Report) Table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "seat\tkind\tprofit\t95 %% interval\tper round\tdrawdown\tfills\tfees\tcalls\tBrier\t  verdict\n")
	for i := range r.Seats {
		s := &r.Seats[i]
		verdict := s.Verdict
		if s.Stalls > 0 {
			verdict += fmt.Sprintf(", %d stalls", s.Stalls)
		}
		if s.ExitStatus != nil {
			verdict += fmt.Sprintf(", ended with exit status %d", *s.ExitStatus)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%.0f\t%s\t%.0f\t%s\t  %s\n", s.Name, s.Kind, money(s.Profit.Mean), interval(s.Profit), money(s.ProfitPerRound.Mean), money(s.MaxDrawdown.Mean), s.Fills.Mean, money(s.Fees.Mean), s.Calls.Mean, scoreText(s.Brier), verdict)
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

func money(x float64) string {
	text := fmt.Sprintf("$%.2f", max(x, -x))
	if x < 0 && text != "$0.00" {
		return "−" + text
	}
	return text
}

func interval(f Figure) string {
	if f.Low == nil {
		return "under 5 seeds"
	}
	return money(*f.Low) + " to " + money(*f.High)
}

// Verify recomputes the report of a complete run from its bundles, and compares it with report.json and
// report.html byte by byte. The error names what differs.
func Verify(dir string, progress func(done, total int)) (seeds int, err error) {
	r, err := verified(dir, progress)
	if r != nil {
		seeds = len(r.Seeds)
	}
	return seeds, err
}

// verified returns the report of a run with the error of Verify.
func verified(dir string, progress func(done, total int)) (*Report, error) {
	if err := checkComplete(dir); err != nil {
		return nil, err
	}
	want, err := MakeReport(dir, true, progress)
	if err != nil {
		return nil, err
	}
	text, page, err := want.files()
	if err != nil {
		return nil, err
	}
	have, err := os.ReadFile(filepath.Join(dir, reportName))
	if err != nil {
		return nil, err
	}
	havePage, err := os.ReadFile(filepath.Join(dir, pageName))
	if err != nil {
		return nil, err
	}
	err = compareReports(filepath.Join(dir, reportName), have, text, "dx arena report")
	if !bytes.Equal(havePage, page) {
		err = errors.Join(err, fmt.Errorf("%s is not the page of these bundles; dx arena report writes it again", filepath.Join(dir, pageName)))
	}
	return want, err
}

// compareReports compares the text of a report with what it should be. writer is the command that writes it.
func compareReports(path string, text, should []byte, writer string) error {
	if bytes.Equal(text, should) {
		return nil
	}
	var have, want any
	if err := json.Unmarshal(text, &have); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := json.Unmarshal(should, &want); err != nil {
		return err
	}
	var bad []error
	differences("", have, want, func(at string, have, want any) {
		bad = append(bad, fmt.Errorf("%s: %s is %v, the bundles give %v", path, strings.TrimPrefix(at, "."), show(have), show(want)))
	})
	if bad == nil { // such as a name that is there twice, of which readers see one or the other
		return fmt.Errorf("%s is not written as %s writes it", path, writer)
	}
	return errors.Join(bad...)
}

func show(v any) string {
	b, _ := json.Marshal(v) // it was JSON
	return string(b)
}

// differences calls f for each value in which two JSON values differ.
func differences(at string, have, want any, f func(at string, have, want any)) {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			f(at, have, want)
			return
		}
		for k := range w {
			differences(at+"."+k, h[k], w[k], f)
		}
		for k := range h {
			if _, ok := w[k]; !ok {
				f(at+"."+k, h[k], nil)
			}
		}
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			f(at, have, want)
			return
		}
		for i := range w {
			differences(fmt.Sprintf("%s[%d]", at, i), h[i], w[i], f)
		}
	default:
		if have != want {
			f(at, have, want)
		}
	}
}
