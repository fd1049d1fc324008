package arena

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"duplex/arena/stats"
	"duplex/internal/atomicfile"
)

// Report is the report of a run (docs/guides/arena.md#report). Money is in dollars.
type Report struct {
	SetupHash    string         `json:"setup_hash"`
	Reproducible bool           `json:"reproducible"`
	About        About          `json:"about"`
	Sealed       string         `json:"sealed"` // fresh, committed or no
	Tape         *TapeReport    `json:"tape"`   // null without a tape
	Seeds        []uint64       `json:"seeds"`
	Seats        []SeatReport   `json:"seats"`
	Paired       []stats.Paired `json:"paired"`
	Between      []Between      `json:"between"`

	Of int `json:"-"` // how many seeds the run has if it is complete

	name    string
	curves  []*curves
	results []stats.Result // of the seats, for comparisons with other runs
	hashes  []string       // commands_hash of each bundle
	byCount string         // the setup_hash that the run would have with sealed seeds
}

// About says what was run, and that it was no real market.
type About struct {
	Simulated bool              `json:"simulated"` // false: the index is that of a tape
	Series    string            `json:"series"`
	Rounds    int               `json:"rounds"` // of a seed
	Start     string            `json:"start"`
	Pace      string            `json:"pace"`
	Noise     float64           `json:"noise"` // orders of noise traders a second
	Solo      bool              `json:"solo"`
	Commands  map[string]string `json:"commands"` // of the seats that are processes
}

// TapeReport says which recorded prices were played.
type TapeReport struct {
	SHA256  string `json:"sha256"` // of the file
	Source  string `json:"source"`
	Windows int    `json:"windows"` // that it could be cut into
}

// SeatReport is the report of one seat.
type SeatReport struct {
	Name           string             `json:"name"`
	Kind           string             `json:"kind"`
	Profit         stats.Figure       `json:"profit"`
	ProfitOwn      stats.Figure       `json:"profit_own"` // without FromSeats: tests and verdict are about it
	FromSeats      stats.Figure       `json:"from_seats"` // won from other seats in fills with them
	Return         stats.Figure       `json:"return"`
	MaxDrawdown    stats.Figure       `json:"max_drawdown"`
	ProfitPerRound PerRound           `json:"profit_per_round"`
	Scores                            // of its forecasts
	Market         Scores             `json:"market"`
	Base           Scores             `json:"base"`
	Calibration    *stats.Calibration `json:"calibration"` // null without forecasts
	Skill          *stats.Skill       `json:"skill"`       // the market's Brier score less the seat's; null without forecasts
	Fills          stats.Figure       `json:"fills"`
	MakerShare     float64            `json:"maker_share"`
	Fees           stats.Figure       `json:"fees"`
	Volume         stats.Figure       `json:"volume"`
	Calls          stats.Figure       `json:"calls"`
	Rejections     map[string]int     `json:"rejections"`
	Tokens         stats.Figure       `json:"tokens"`            // of what a model reads: texts of tools and lists of tools
	Usage          Usage              `json:"usage"`             // as the seat says
	AfterCost      stats.Figure       `json:"profit_after_cost"` // profit less what the models cost
	ThinkingMs     stats.Figure       `json:"thinking_ms"`
	Stalls         int                `json:"stalls"`
	ExitStatus     *int               `json:"exit_status"`
	FailedSeeds    int                `json:"failed_seeds"` // in which its process ended early with another status than 0
	stats.Judgement

	failed  []failure
	digests []string // of the process, each once; none of a baseline
	terms   string   // see termsOf
}

// failure is a seed in which the process of a seat failed.
type failure struct {
	seed   uint64
	status int
	output string // the line of its output that tells most
}

// PerRound is the profit of a round: its mean over rounds, as a figure over seeds, and its deviation
// over all rounds of all seeds.
type PerRound struct {
	stats.Figure
	Deviation float64 `json:"deviation"`
}

// Scores are the scores of a seat, or of another forecaster at the same forecasts; null without forecasts.
type Scores struct {
	Brier   *stats.Figure `json:"brier"`
	LogLoss *stats.Figure `json:"log_loss"`
	ECE     *stats.Figure `json:"ece"` // of all forecasts together, without an interval
}

// curves is what the page draws of a seat.
type curves struct {
	equity [][]float64 // by seed
	profit []float64   // by seed
}

const (
	reportName = "report.json"
	pageName   = "report.html"
)

// MakeReport computes the report of a run from its bundles. With check it first compares every file
// with its manifest. progress may be nil.
func MakeReport(dir string, check bool, progress func(done, total int)) (*Report, error) {
	runs, err := loadRun(dir, check, progress)
	if err != nil {
		return nil, err
	}
	return reportOf(runs), nil
}

// reportOf computes the report of the seeds of a run.
func reportOf(runs []*seedFigures) *Report {
	c := runs[0].Setup.Settings
	r := &Report{SetupHash: runs[0].Setup.SetupHash, Reproducible: true, About: about(c), Of: c.count, Between: betweenSeats(runs), name: c.Name}
	r.Sealed, r.byCount = cmp.Or(c.sealed, unsealed), hashByCount(runs[0].Setup)
	if c.TapeHash != "" {
		r.Tape = &TapeReport{c.TapeHash, c.TapeSource, c.TapeWindows}
	}
	for _, f := range runs {
		r.Seeds = append(r.Seeds, f.Seed)
		r.hashes = append(r.hashes, f.hashes...)
		r.Reproducible = r.Reproducible && f.Reproducible
	}
	for i := range runs[0].Seats {
		var of []*seatFigures
		for _, f := range runs {
			of = append(of, f.Seats[i])
		}
		seat := seatReport(of, r.Seeds)
		seat.terms = termsOf(c, seat.Name)
		r.Seats = append(r.Seats, seat)
		r.curves = append(r.curves, curvesOf(of))
		r.results = append(r.results, resultOf(of, &seat, r.Seeds))
	}
	for i, j := range stats.Judge(r.results, len(r.Seeds) == r.Of) {
		r.Seats[i].Judgement = j
	}
	r.Paired = stats.Pair(r.results)
	return r
}

func about(c *Config) About {
	a := About{Simulated: c.TapeHash == "", Series: c.Series, Rounds: c.Rounds, Start: c.Start, Pace: c.Pace, Noise: c.Noise, Solo: c.Solo, Commands: map[string]string{}}
	for i := range c.Seats {
		if s := &c.Seats[i]; s.Command != "" {
			a.Commands[s.Name] = s.Command
		}
	}
	return a
}

// resultOf returns what the tests are about: the profits of a seat without what it won from other seats. A seat
// that loses on purpose would make another one look skilled.
func resultOf(of []*seatFigures, seat *SeatReport, seeds []uint64) stats.Result {
	x := stats.Result{Name: seat.Name, Seeds: seeds}
	for _, s := range of {
		x.Profits = append(x.Profits, s.profitOwn())
		x.Swing = max(x.Swing, s.Swing)
	}
	switch {
	case seat.FailedSeeds > 0:
		x.Out = stats.Failed
	case slices.ContainsFunc(of, func(s *seatFigures) bool { return !equalText(s.Digest, of[0].Digest) }):
		x.Out = stats.MixedAgents
	}
	return x
}

func equalText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// profitOwn is the profit of a seed without what the seat won from others, in dollars.
func (s *seatFigures) profitOwn() float64 { return s.Profit - s.fromSeats() }

func seatReport(of []*seatFigures, seeds []uint64) SeatReport {
	over := func(value func(*seatFigures) float64) stats.Figure {
		values := make([]float64, len(of))
		for i, s := range of {
			values[i] = value(s)
		}
		return stats.FigureOf(values)
	}
	out := SeatReport{
		Name: of[0].Name, Kind: of[0].Kind, Rejections: map[string]int{},
		Profit:      over(func(s *seatFigures) float64 { return s.Profit }),
		ProfitOwn:   over((*seatFigures).profitOwn),
		FromSeats:   over((*seatFigures).fromSeats),
		Return:      over(func(s *seatFigures) float64 { return ratio(s.Profit, s.Fund) }),
		MaxDrawdown: over(func(s *seatFigures) float64 { return s.MaxDrawdown }),
		Fills:       over(func(s *seatFigures) float64 { return float64(s.Fills) }),
		Fees:        over(func(s *seatFigures) float64 { return s.Fees }),
		Volume:      over(func(s *seatFigures) float64 { return s.Volume }),
		Calls:       over(func(s *seatFigures) float64 { return float64(s.Calls) }),
		Tokens:      over(func(s *seatFigures) float64 { return float64(s.Tokens) }),
		ThinkingMs:  over(func(s *seatFigures) float64 { return s.ThinkingMs }),
		Scores:      scoresOf(of, seatSays), Market: scoresOf(of, marketSays), Base: scoresOf(of, baseSays),
	}
	out.Usage = usageOf(of)
	out.AfterCost = over(func(s *seatFigures) float64 { return s.Profit - s.modelCost() })
	out.Calibration, out.Skill = calibrationOf(of)
	var rounds []float64
	fills, makers := 0, 0
	for i, s := range of {
		if s.Digest != nil && !slices.Contains(out.digests, *s.Digest) {
			out.digests = append(out.digests, *s.Digest)
		}
		rounds = append(rounds, s.Rounds...)
		fills, makers = fills+s.Fills, makers+s.MakerFills
		out.Stalls += s.Stalls
		if s.ExitStatus != nil && (out.ExitStatus == nil || *out.ExitStatus == 0) { // a failure in any seed
			out.ExitStatus = s.ExitStatus
		}
		if s.ExitStatus != nil && *s.ExitStatus != 0 {
			out.failed = append(out.failed, failure{seeds[i], *s.ExitStatus, s.Output})
		}
		for code, n := range s.Rejections {
			out.Rejections[code] += n
		}
	}
	out.FailedSeeds = len(out.failed)
	out.ProfitPerRound = PerRound{over(func(s *seatFigures) float64 { return stats.Mean(s.Rounds) }), stats.Round(stats.Deviation(rounds))}
	out.MakerShare = stats.Round(ratio(float64(makers), float64(fills)))
	return out
}

// ErrFailed means that the process of a seat failed.
var ErrFailed = errors.New("a seat failed")

// Failed returns an error that names each seat whose process failed, with the seeds and the exit statuses; nil if
// none did.
func (r *Report) Failed() error {
	var bad []error
	for i := range r.Seats {
		for _, f := range r.Seats[i].failed {
			said := ""
			if f.output != "" {
				said = ": " + f.output
			}
			bad = append(bad, fmt.Errorf("%w: seat %q ended seed %d with exit status %d%s", ErrFailed, r.Seats[i].Name, f.seed, f.status, said))
		}
	}
	return errors.Join(bad...)
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func curvesOf(of []*seatFigures) *curves {
	c := &curves{}
	for _, s := range of {
		c.equity = append(c.equity, s.Equity)
		c.profit = append(c.profit, s.profitOwn())
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
