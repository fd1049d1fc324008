package arena

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"duplex/core"
	"duplex/schemas"
	"duplex/tools"
)

// Config is an arena.toml: the market, the length of a run, and the seats.
type Config struct {
	Name   string  `toml:"name" json:"name"`
	Series string  `toml:"series" json:"series"`       // whose rounds are counted and quoted; default btc-60s
	Rounds int     `toml:"rounds" json:"rounds"`       // final rounds that end a seed; default 20
	Seeds  string  `toml:"seeds" json:"seeds"`         // such as "1..5", "1,7", "fresh:30" or "committed:HASH"; default "1..30"
	Start  string  `toml:"start" json:"start"`         // venue time at the begin; default 2026-01-05T00:00:00Z
	Pace   string  `toml:"pace" json:"pace"`           // "step" or a factor of real time; default step
	Think  float64 `toml:"think" json:"think"`         // venue time that passes for each second that a seat thinks
	Stall  string  `toml:"stall" json:"stall"`         // time without a call after which a seat loses its turn; default 60s
	Noise  float64 `toml:"noise" json:"noise"`         // orders of noise traders a second, at most 5; default 0.5
	Tape   string  `toml:"tape" json:"tape,omitempty"` // file of recorded prices instead of a simulated index
	Solo   bool    `toml:"solo" json:"solo,omitempty"` // each seat has a venue of its own; default true

	// Anonymous hides the name of the asset, the level of its price and the date.
	Anonymous bool `toml:"anonymous" json:"anonymous,omitempty"`

	TapeHash    string `toml:"-" json:"tape_sha256,omitempty"` // of the file's content
	TapeSource  string `toml:"-" json:"tape_source,omitempty"`
	TapeWindows int    `toml:"-" json:"tape_windows,omitempty"` // that it could be cut into
	SeedCount   int    `toml:"-" json:"seed_count,omitempty"`   // of committed seeds
	Seats       []Seat `toml:"seat" json:"seats"`

	// Reveal is the file of committed seeds.
	Reveal string `toml:"-" json:"-"`

	// Hand allows seats without a kind and without a command, for Serve.
	Hand bool `toml:"-" json:"-"`

	series core.Series
	start  int64
	pace   int64
	stall  time.Duration
	sealed string   // fresh or committed; "": the settings have the seeds
	count  int      // of the seeds
	seeds  []uint64 // nil for fresh ones, and for committed ones until they are revealed
	salt   string   // of committed seeds

	tape          *tape // nil: a simulated index
	windowSeconds int   // how much of it a seed takes
}

// Seat is one account that trades in the arena.
type Seat struct {
	Name    string         `toml:"name" json:"name"`
	Kind    string         `toml:"kind" json:"kind,omitempty"`       // a baseline
	Command string         `toml:"command" json:"command,omitempty"` // or a process
	MCP     bool           `toml:"mcp" json:"mcp,omitempty"`         // the process is an MCP host
	Fund    any            `toml:"fund" json:"fund"`                 // dollars; default 100
	Mandate map[string]any `toml:"mandate" json:"mandate,omitempty"`
	Faults  []string       `toml:"faults" json:"faults,omitempty"`
	Holds   bool           `toml:"holds" json:"holds,omitempty"` // it may end with orders and contracts
	Files   []string       `toml:"files" json:"files,omitempty"` // what the process reads beside its arguments: its digest covers them

	fund    core.Pips
	mandate core.Mandate
	argv    []string
	faults  []fault
}

// ConfigError is an error of an arena.toml, or of the settings that replace a part of it.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }
func (e *ConfigError) Unwrap() error { return e.Err }

func badConfig(format string, args ...any) error { return &ConfigError{fmt.Errorf(format, args...)} }

// NewConfig returns a config with the defaults of an arena.toml, in which a 0 is a 0. Complete must be called
// on the result.
func NewConfig() *Config {
	return &Config{Rounds: 20, Noise: 0.5, Solo: true}
}

// ReadConfig reads an arena.toml. Complete must be called on the result.
func ReadConfig(path string) (*Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, &ConfigError{err}
	}
	c := NewConfig()
	d := toml.NewDecoder(bytes.NewReader(b)).DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
			return nil, badConfig("%s: unknown setting %s", path, strings.Join(unknown.Errors[0].Key(), "."))
		}
		return nil, badConfig("%s: %w", path, err)
	}
	return c, nil
}

// anonymousDate is the venue time at the start of an anonymous run.
const anonymousDate = "2000-01-03T00:00:00Z"

var seatName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// Complete sets the defaults and checks everything that can be checked before a run.
func (c *Config) Complete() (err error) {
	c.Name = cmp.Or(c.Name, "arena")
	c.Series = cmp.Or(c.Series, "btc-60s")
	c.Seeds = cmp.Or(c.Seeds, "1..30")
	if c.Anonymous {
		if c.Start != "" && c.Start != anonymousDate {
			return badConfig("start %q: an anonymous run hides the date, and has no start", c.Start)
		}
		c.Start = anonymousDate
	}
	c.Start = cmp.Or(c.Start, "2026-01-05T00:00:00Z")
	c.Pace = cmp.Or(c.Pace, "step")
	c.Stall = cmp.Or(c.Stall, "60s")
	if err := c.checkNames(); err != nil {
		return err
	}
	if c.series, err = seriesOf(c.Series); err != nil {
		return err
	}
	if c.start, err = timeOf(c.Start); err != nil {
		return err
	}
	if c.Pace != "step" {
		if c.pace, err = strconv.ParseInt(c.Pace, 10, 64); err != nil || c.pace < 1 || c.pace > 10_000 {
			return badConfig("pace %q: step, or a whole factor of real time from 1 to 10000", c.Pace)
		}
	}
	if c.stall, err = time.ParseDuration(c.Stall); err != nil || c.stall < time.Millisecond {
		return badConfig("stall %q: a duration such as 60s", c.Stall)
	}
	if err = cmp.Or(c.chooseSeeds(), c.reveal()); err != nil {
		return err
	}
	switch {
	case c.Rounds < 1 || c.Rounds > 100_000:
		return badConfig("rounds %d: from 1 to 100000", c.Rounds)
	case !(c.Noise >= 0 && c.Noise <= 5): // nan is neither
		return badConfig("noise %v: from 0 to 5 orders a second", c.Noise)
	case !(c.Think >= 0 && c.Think <= 1000):
		return badConfig("think %v: from 0 to 1000", c.Think)
	case c.Think > 0 && c.pace > 0:
		return badConfig("think goes with the pace step alone")
	}
	if c.Tape != "" {
		if err := c.cutTape(); err != nil {
			return err
		}
	}
	for i := range c.Seats {
		s := &c.Seats[i]
		if err := s.complete(c.Hand); err != nil {
			return badConfig("seat %q: %w", s.Name, err)
		}
	}
	return nil
}

// checkNames checks what reports, tables and folders show of a run: its name, and the names and kinds of the
// seats.
func (c *Config) checkNames() error {
	switch {
	case !seatName.MatchString(c.Name):
		return badConfig("name %q: lower-case letters, digits and dashes, at most 32", c.Name)
	case len(c.Seats) == 0:
		return badConfig("no seats: add a [[seat]] with a name and a kind or a command")
	case len(c.Seats) > 64:
		return badConfig("%d seats: at most 64", len(c.Seats))
	}
	names := map[string]bool{}
	for i := range c.Seats {
		switch s := &c.Seats[i]; {
		case !seatName.MatchString(s.Name):
			return badConfig("seat %q: a name has lower-case letters, digits and dashes, and at most 32 characters", s.Name)
		case names[s.Name]:
			return badConfig("seat %q: the name is used twice", s.Name)
		case s.Kind != "" && baselines[s.Kind] == nil:
			return badConfig("seat %q: unknown kind %q: hold, random, mid, fair or maker", s.Name, s.Kind)
		}
		names[c.Seats[i].Name] = true
	}
	return nil
}

func seriesOf(name string) (core.Series, error) {
	var names []string
	for _, s := range core.AllSeries() {
		if s.Feed != core.BTC {
			continue // the index of an arena is that of BTC
		}
		if tools.SeriesName(s) == name {
			return s, nil
		}
		names = append(names, tools.SeriesName(s))
	}
	return core.Series{}, badConfig("series %q: one of %s", name, strings.Join(names, ", "))
}

// maxSeeds bounds the seeds of a range and those that are sealed.
const maxSeeds = 1_000_000

// ParseSeeds parses seeds: numbers and ranges such as 1..50, separated by commas.
func ParseSeeds(text string) (seeds []uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "..")
		if !isRange {
			to = from
		}
		a, err1 := strconv.ParseUint(from, 10, 63)
		b, err2 := strconv.ParseUint(to, 10, 63)
		if err := errors.Join(err1, err2); err != nil || a > b || b-a >= maxSeeds {
			return nil, badConfig("seeds %q: numbers and ranges, such as 1..50 or 3,7", text)
		}
		for s := a; s <= b; s++ {
			seeds = append(seeds, s)
		}
	}
	slices.Sort(seeds)
	if len(slices.Compact(slices.Clone(seeds))) < len(seeds) {
		return nil, badConfig("seeds %q: a seed is named twice", text)
	}
	return seeds, nil
}

// complete checks a seat whose name and kind are checked. Errors do not name it.
func (s *Seat) complete(hand bool) (err error) {
	switch {
	case s.Kind != "" && s.Command != "" || !hand && s.Kind == "" && s.Command == "":
		return errors.New("either a kind or a command")
	case s.Kind != "" && s.MCP:
		return errors.New("mcp goes with a command")
	case s.Command == "" && len(s.Files) > 0:
		return errors.New("files go with a command")
	}
	if s.Fund == nil {
		s.Fund = int64(100)
	}
	if s.fund, err = dollars(s.Fund); err != nil {
		return err
	}
	if err := s.decodeMandate(); err != nil {
		return err
	}
	if s.Command != "" {
		if s.argv, err = splitCommand(s.Command); err != nil {
			return err
		}
		if err := commandExists(s.argv[0]); err != nil {
			return err
		}
		if _, err := s.digest(); err != nil {
			return err
		}
	}
	for _, text := range s.Faults {
		f, err := parseFault(text)
		if err != nil {
			return err
		}
		if s.Kind != "" && f.name != staleIndex && f.name != pauseMarket && f.name != restartVenue {
			return fmt.Errorf("fault %q goes with a command: a baseline sends no requests", text)
		}
		s.faults = append(s.faults, f)
	}
	return nil
}

func (s *Seat) decodeMandate() error {
	if s.Mandate == nil {
		return nil
	}
	b, err := json.Marshal(s.Mandate)
	if err != nil {
		return err
	}
	m, fault := schemas.DecodeMandate(b)
	if fault != nil {
		return mandateError(fault)
	}
	s.mandate = m
	return nil
}

// mandateError names the field of a mandate, what is allowed and what it has.
func mandateError(f *schemas.Fault) error {
	var fields []string
	for x := range reflect.TypeFor[schemas.Mandate]().Fields() {
		name, _, _ := strings.Cut(x.Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	if name := strings.TrimPrefix(f.Field, "mandate."); f.Field != "" && !slices.ContainsFunc(fields, func(x string) bool { return name == x || strings.HasPrefix(name, x+"[") }) {
		return fmt.Errorf("%s: a mandate has no such field, but %s", f.Field, strings.Join(fields, ", "))
	}
	text := cmp.Or(f.Field, "mandate") + ": " + cmp.Or(f.Limit, f.Message(), f.Code)
	if f.Got != "" {
		text += ", not " + f.Got
	}
	return errors.New(text)
}

// dollars parses an amount: an integer, or a decimal string with at most four places.
func dollars(v any) (core.Pips, error) {
	bad := fmt.Errorf("fund %v: dollars, as a whole number or a string such as \"12.50\", from 0 to 1000000", v)
	text := fmt.Sprint(v)
	if _, isFloat := v.(float64); isFloat {
		return 0, bad
	}
	whole, part, _ := strings.Cut(text, ".")
	if len(part) > 4 || whole == "" || strings.HasPrefix(text, "+") {
		return 0, bad
	}
	n, err := strconv.ParseUint(whole+part+strings.Repeat("0", 4-len(part)), 10, 62)
	if err != nil || n > 1_000_000*10_000 {
		return 0, bad
	}
	return core.Pips(n), nil
}

// splitCommand splits a command like a shell line: at spaces, with quotes and backslashes.
func splitCommand(line string) (argv []string, err error) {
	var word strings.Builder
	inWord, quote := false, rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				argv = append(argv, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		argv = append(argv, word.String())
	}
	switch {
	case quote != 0 || escaped:
		return nil, fmt.Errorf("command %q: a quote is not closed", line)
	case len(argv) == 0:
		return nil, errors.New("command is empty")
	}
	return argv, nil
}

// plainWord has nothing that splitCommand, a shell or a split at spaces treats in a special way.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// quoteCommand quotes a word of a command if it has to be, so that splitCommand and a shell see one word.
func quoteCommand(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// mostExposed returns what a seat may have paid for the contracts that it holds when a round closes, in pips.
func (s *Seat) mostExposed() core.Pips {
	if s.mandate.Has(core.RuleOpenCost) {
		return core.Pips(s.mandate.Cost(core.RuleOpenCost))
	}
	return s.fund / 2
}
