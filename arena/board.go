package arena

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"duplex/arena/stats"
	"duplex/core"
	"duplex/internal/atomicfile"
	"duplex/schemas"
)

// Board is a page of several runs (docs/guides/arena.md#board). Runs of different setups, whose figures mean different
// things, are ranked in groups of their own. Groups whose seeds were sealed come first.
type Board struct {
	groups         []boardGroup
	certifications []certification
}

// boardGroup are the runs of one setup.
type boardGroup struct {
	Title string
	Lines []string
	Setup string
	Rows  []boardRow

	Models bool // a seat has reported what it used

	dirs    []string
	reports []*Report
}

// boardRow is a seat of a run.
type boardRow struct {
	Ranked
	Certificate string
	Command     string // that verifies the run
}

// VerdictText is that of the report.
func (r *boardRow) VerdictText() string { return r.report.VerdictText() }

// Digests are those that the seat had: several of mixed agents, none of a baseline.
func (r *boardRow) Digests() []string { return r.report.digests }

// Models are the names of the models that a seat says it has used, in the order of the alphabet.
func (r *boardRow) Models() []string {
	return slices.Sorted(maps.Keys(r.report.Usage.Models))
}

// AfterCost is the profit less what the models cost; nil of a seat without one.
func (r *boardRow) AfterCost() *stats.Figure {
	if len(r.report.Usage.Models) == 0 {
		return nil
	}
	return &r.report.AfterCost
}

// certification is a folder with a certificate.
type certification struct {
	Name     string
	Verdicts []seatVerdict
	Command  string // that verifies it

	hashes []string // commands_hash of each bundle
}

// seatVerdict is what a certificate says of one seat.
type seatVerdict struct {
	Seat    string
	Digest  string
	Verdict string

	terms string // see termsOf
}

// termsOf is what a certificate of a seat depends on beside its agent: the series, and the fund, the mandate and the
// leave to hold contracts at the end. An agent that keeps within a large fund may not keep within a small one.
func termsOf(c *Config, seat string) string {
	s := &c.Seats[slices.IndexFunc(c.Seats, func(s Seat) bool { return s.Name == seat })]
	b, err := json.Marshal(struct {
		Series  string
		Fund    core.Pips
		Mandate core.Mandate
		Holds   bool
	}{c.Series, s.fund, s.mandate, s.Holds})
	if err != nil {
		panic(err) // numbers and texts
	}
	return string(b)
}

const boardName = "index.html"

// boardMark is in every board. A page without it is somebody else's, and is not replaced.
const boardMark = `<meta name="generator" content="dx arena board">`

//go:embed board.html
var boardText string

var boardTemplate = template.Must(template.Must(pageTemplate.Clone()).New("board").Parse(boardText))

// MakeBoard verifies runs and certifications, and makes a board of them. A folder that is neither, a run that is not
// complete, and a folder that is named twice, also by a link or as a copy, are errors. progress may be nil.
func MakeBoard(dirs []string, progress func(done, total int)) (*Board, error) {
	return makeBoard(dirs, standardFaults, progress)
}

func makeBoard(dirs, faults []string, progress func(done, total int)) (*Board, error) {
	var runs, certified []string
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		run, certificate := IsRun(dir), IsCertification(dir)
		switch {
		case !schemas.PlainText(dir):
			return nil, badConfig("%q: the name of a folder has characters that are not plain text", dir)
		case !run && !certificate:
			return nil, badConfig("%s is neither a run nor a certification of dx arena", dir)
		}
		if run {
			runs = append(runs, dir)
		}
		if certificate {
			certified = append(certified, dir)
		}
	}
	if len(runs) == 0 {
		return nil, badConfig("no run: a board has at least one")
	}
	if err := differentFolders(certified); err != nil {
		return nil, err
	}
	b := &Board{}
	step := func(done int) {
		if progress != nil {
			progress(done, len(runs)+len(certified))
		}
	}
	reports, err := differentRuns(runs, step)
	if err != nil {
		return nil, err
	}
	for i, dir := range certified {
		c, err := readCertification(dir, faults)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(b.certifications, func(other certification) bool { return slices.Equal(c.hashes, other.hashes) }); i >= 0 {
			return nil, badConfig("%s is the certification %s once more: every bundle has the same commands", dir, b.certifications[i].Name)
		}
		b.certifications = append(b.certifications, c)
		step(len(runs) + i + 1)
	}
	// The page does not depend on the order of the arguments.
	slices.SortFunc(b.certifications, func(x, y certification) int { return strings.Compare(x.Command, y.Command) })
	by := map[string]*Report{}
	for i, dir := range runs {
		by[dir] = reports[i]
	}
	slices.Sort(runs)
	for i, dir := range runs {
		reports[i] = by[dir]
	}
	b.group(runs, reports)
	return b, nil
}

// group ranks the runs of each setup.
func (b *Board) group(dirs []string, reports []*Report) {
	for i, r := range reports {
		at := slices.IndexFunc(b.groups, func(g boardGroup) bool { return g.Setup == r.SetupHash })
		if at < 0 {
			at = len(b.groups)
			b.groups = append(b.groups, boardGroup{Setup: r.SetupHash})
		}
		g := &b.groups[at]
		g.dirs, g.reports = append(g.dirs, dirs[i]), append(g.reports, r)
	}
	slices.SortStableFunc(b.groups, func(x, y boardGroup) int {
		return compareBool(x.reports[0].Sealed == unsealed, y.reports[0].Sealed == unsealed)
	})
	for i := range b.groups {
		g := &b.groups[i]
		r := g.reports[0]
		seeds := several(r.Of, "sealed seed")
		if r.Sealed == unsealed {
			seeds = several(r.Of, "seed") + " known before the run"
		}
		g.Title, g.Lines = r.About.Series+", "+seeds, r.lines(several(r.Of, "seed"))
		for _, x := range rankRuns(g.dirs, g.reports).Rows {
			g.Models = g.Models || len(x.report.Usage.Models) > 0
			g.Rows = append(g.Rows, boardRow{Ranked: x, Certificate: b.certificateOf(x.report), Command: verifyCommand(x.dir)})
		}
	}
}

// verifyCommand is the command that verifies a folder, whose path is absolute.
func verifyCommand(dir string) string { return "dx verify " + quoteCommand(dir) }

// certificateOf returns what the certificates say of a seat: that of its digest on the same terms, and the worst if
// there are several.
func (b *Board) certificateOf(s *SeatReport) string {
	switch {
	case baselines[s.Kind] != nil:
		return "–"
	case len(s.digests) != 1:
		return "none"
	}
	text := "none"
	for _, c := range b.certifications {
		for _, v := range c.Verdicts {
			switch {
			case v.Digest != s.digests[0]:
			case v.terms != s.terms:
				if text == "none" {
					text = otherTerms
				}
			case !strings.HasPrefix(text, "fail"):
				text = v.Verdict
			}
		}
	}
	return text
}

const otherTerms = "none: certified with another series, fund, mandate or holds"

// readCertification verifies a certification and returns what it says of each seat.
func readCertification(dir string, faults []string) (certification, error) {
	c, err := verifyCertificate(dir, faults, nil)
	if err != nil {
		return certification{}, err
	}
	out := certification{Name: filepath.Base(dir), Command: verifyCommand(dir)}
	var settings *Config
	for _, fault := range faults {
		m, err := readManifest(faultDir(dir, fault))
		if err != nil {
			return certification{}, err
		}
		out.hashes, settings = append(out.hashes, m.CommandsHash), m.Settings
	}
	for _, seat := range slices.Sorted(maps.Keys(c.Digests)) {
		v := seatVerdict{Seat: seat, Verdict: c.verdictOf(seat), terms: termsOf(settings, seat)}
		if d := c.Digests[seat]; d != nil { // else somebody has taken it out of every manifest
			v.Digest = *d
		}
		out.Verdicts = append(out.Verdicts, v)
	}
	return out, nil
}

// verdictOf says whether a seat passed every check of its own.
func (c *Certificate) verdictOf(seat string) string {
	checks, failed, missing := 0, 0, 0
	for i := range c.Checks {
		switch x := &c.Checks[i]; {
		case x.Seat != seat:
			continue
		case x.notExercised():
			missing++
		case !x.Passed:
			failed++
		}
		checks++
	}
	switch {
	case checks > 0 && failed+missing == 0:
		return fmt.Sprintf("pass: %s in runs of %s", several(checks, "check"), several(c.Rounds, "round"))
	case missing == 0:
		return fmt.Sprintf("fail: %d of %d checks", failed, checks)
	case failed == 0:
		return fmt.Sprintf("fail: %d of %d checks not exercised", missing, checks)
	}
	return fmt.Sprintf("fail: %d of %d checks, and %d not exercised", failed, checks, missing)
}

// page returns the board as one page that loads nothing.
func (b *Board) page() ([]byte, error) {
	return fill(boardTemplate, map[string]any{"Mark": template.HTML(boardMark), "Groups": b.groups, "Certifications": b.certifications})
}

// Write writes the page into a folder, as index.html. It replaces a board there, but no other page, and writes into no
// run.
func (b *Board) Write(dir string) error {
	if run, err := runAround(dir); err != nil {
		return err
	} else if run != "" {
		return badConfig("%s is inside the run %s, which would then have a file that is not its own: name another folder with --out", dir, run)
	}
	path := filepath.Join(dir, boardName)
	switch old, err := os.ReadFile(path); {
	case err == nil && !strings.Contains(string(old), boardMark):
		return badConfig("%s is no board of dx arena: name another folder with --out", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return &ConfigError{err}
	}
	text, err := b.page()
	if err != nil {
		return err
	}
	return atomicfile.WriteMode(path, text, 0o644)
}
