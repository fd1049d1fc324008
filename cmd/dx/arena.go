package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"duplex/arena"
	"duplex/arena/stats"
	"duplex/cmd/dx/cli"
	"duplex/internal/atomicfile"
	"duplex/schemas"
)

// arenaCmd is `dx arena`.
type arenaCmd struct {
	Run     arenaRunCmd     `cmd:"" help:"Run agents through many rounds in virtual time, from seeds, and report how they did."`
	Report  arenaReportCmd  `cmd:"" help:"Write the report of a run again."`
	Certify arenaCertifyCmd `cmd:"" help:"Run agents once with each fault of the standard set, and check how they handle it."`
	Commit  arenaCommitCmd  `cmd:"" help:"Draw seeds that nobody knows, and print the hash to publish before a run."`
	Rank    arenaRankCmd    `cmd:"" help:"Rank the seats of runs with the same setup."`
	Board   arenaBoardCmd   `cmd:"" help:"Make one page of many runs: ranks, verdicts, certificates, and how to verify each."`
	Stats   arenaStatsCmd   `cmd:"" help:"Apply the tests and verdicts of a run to results from anywhere."`
	Import  arenaImportCmd  `cmd:"" help:"Make a tape of the CSV bars of an exchange, for dx arena run --tape."`
	Export  arenaExportCmd  `cmd:"" help:"Write the market, orders, fills and equity of a run to CSV or Parquet files."`
	Serve   arenaServeCmd   `cmd:"" help:"Open one venue in virtual time for use by hand, or serve training environments."`
}

// arenaSettings are the settings of an arena.toml that flags can replace.
type arenaSettings struct {
	Series string   `help:"Whose rounds are quoted and counted: btc-60s, btc-5m or btc-15m." placeholder:"SERIES"`
	Seeds  string   `help:"Seeds to run, such as 1..50 or 3,7; fresh:30 (drawn while they run) or committed:HASH (of dx arena commit)." placeholder:"SEEDS"`
	Rounds *int     `help:"Final rounds that end a seed." placeholder:"N"`
	Pace   string   `help:"step (time stands still while a seat thinks), or a factor of real time." placeholder:"PACE"`
	Start  string   `help:"Venue time at the begin." placeholder:"TIME"`
	Think  *float64 `help:"Venue time that passes for each second that a seat thinks." placeholder:"FACTOR"`
	Stall  string   `help:"Time without a call after which a seat loses its turn." placeholder:"DURATION"`
	Noise  *float64 `help:"Orders of noise traders a second, from 0 to 5." placeholder:"RATE"`
	Tape   string   `help:"File of dx feeds record or dx arena import, instead of a simulated index." type:"path" placeholder:"FILE"`
	Solo   *bool    `help:"Give each seat a venue of its own: the default, so that no seat changes what another one finds." negatable:""`

	Anonymous *bool `help:"Hide the asset and the date from the seats." negatable:""`
}

// config reads the file and applies the flags, and first those that a command alone has.
func (s *arenaSettings) config(file string, own ...func(*arena.Config)) (*arena.Config, error) {
	c, err := arena.ReadConfig(file)
	if err != nil {
		return nil, err
	}
	for _, f := range own {
		f(c)
	}
	return c, s.apply(c)
}

// apply applies the flags to a config.
func (s *arenaSettings) apply(c *arena.Config) error {
	for _, x := range []struct{ flag, setting *string }{{&s.Series, &c.Series}, {&s.Seeds, &c.Seeds}, {&s.Pace, &c.Pace}, {&s.Start, &c.Start}, {&s.Stall, &c.Stall}, {&s.Tape, &c.Tape}} {
		if *x.flag != "" {
			*x.setting = *x.flag
		}
	}
	replace(&c.Rounds, s.Rounds)
	replace(&c.Think, s.Think)
	replace(&c.Noise, s.Noise)
	replace(&c.Solo, s.Solo)
	replace(&c.Anonymous, s.Anonymous)
	return c.Complete()
}

// replace replaces a setting with the value of a flag, unless the flag was not given.
func replace[T any](setting, flag *T) {
	if flag != nil {
		*setting = *flag
	}
}

// arenaRunCmd is `dx arena run`.
type arenaRunCmd struct {
	File string `arg:"" type:"path" help:"Seats and settings, such as examples/arena/first.toml."`
	arenaSettings
	Reveal        string `help:"File of the seeds of --seeds committed:HASH. Keep it from the seats." type:"path" placeholder:"FILE"`
	ChangedAgents bool   `help:"Continue a run although the program of a seat was changed. The seat gets no verdict."`

	Jobs int    `help:"Seeds that run at the same time." default:"2"`
	Out  string `help:"Folder of the run; default .dx/arena/NAME." type:"path" placeholder:"DIR"`
}

func (r *arenaRunCmd) Help() string {
	return `Each seed is a venue of its own in virtual time: an index, a market maker and noise traders drawn from the seed, and the seats of the file. Agents use the same REST, MCP and WebSocket interfaces as on any venue. A run that was stopped continues with the seeds that are not complete.

Examples:
  dx arena run examples/arena/first.toml
  dx arena run my.toml --seeds 1..50 --rounds 200 --jobs 2`
}

func (r *arenaRunCmd) Run(ctx context.Context, out io.Writer, log *slog.Logger) error {
	c, err := r.config(r.File, func(c *arena.Config) { c.Reveal = r.Reveal })
	if err != nil {
		return err
	}
	dir := cmp.Or(r.Out, filepath.Join(".dx", "arena", c.Name))
	show := cli.NewCounter(os.Stderr, "rounds")
	report, err := arena.Run(ctx, c, arena.Options{Jobs: r.Jobs, Dir: dir, Version: version(), ChangedAgents: r.ChangedAgents, Progress: func(done, total int) { show.Update(uint64(done), uint64(total)) }})
	show.Clear()
	if ctx.Err() != nil {
		return fmt.Errorf("stopped; the same command continues with the seeds that are not complete")
	}
	failed := err
	if err != nil && !errors.Is(err, arena.ErrFailed) {
		return err
	}
	if err := report.Table(out); err != nil || failed != nil {
		return cmp.Or(err, failed)
	}
	at := cli.RelativePath(dir)
	_, err = fmt.Fprintf(out, `
Page:   open %s
Check:  dx verify %s
Your own agent: add a seat with its command to %s, such as this example
  [[seat]]
  name = "mine"
  command = "python3 examples/arena/python/policy.py"   # it gets DX_URL, DX_KEY and DX_SECRET
`, filepath.Join(at, "report.html"), at, cli.RelativePath(r.File))
	return err
}

// arenaReportCmd is `dx arena report`.
type arenaReportCmd struct {
	Dir string `arg:"" type:"existingdir" help:"Folder of a run."`
}

func (r *arenaReportCmd) Run(out io.Writer) error {
	report, err := arena.MakeReport(r.Dir, false, nil)
	if err != nil {
		return err
	}
	if err := report.Write(r.Dir); err != nil {
		return err
	}
	if err := report.Table(out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nPage: open %s\n", filepath.Join(cli.RelativePath(r.Dir), "report.html"))
	return err
}

// arenaCommitCmd is `dx arena commit`.
type arenaCommitCmd struct {
	N   int    `arg:"" name:"number" help:"How many seeds."`
	Out string `required:"" type:"path" help:"File for the seeds, which its user alone may read. A file that exists is never changed." placeholder:"FILE"`
}

func (r *arenaCommitCmd) Help() string {
	return `Publish the hash before the agents are handed in. The file then proves that the seeds were chosen before.

Examples:
  dx arena commit 30 --out seeds.txt
  dx arena run my.toml --seeds committed:HASH --reveal seeds.txt`
}

func (r *arenaCommitCmd) Run(out io.Writer) error {
	hash, err := arena.Commit(r.N, r.Out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, hash)
	return err
}

// arenaRankCmd is `dx arena rank`.
type arenaRankCmd struct {
	Dirs []string `arg:"" type:"existingdir" help:"Folders of runs." name:"dir"`
	JSON bool     `name:"json" help:"Print JSON."`
}

func (r *arenaRankCmd) Run(out io.Writer) error {
	list, err := arena.Rank(r.Dirs)
	if err != nil {
		return err
	}
	if r.JSON {
		return json.NewEncoder(out).Encode(list)
	}
	return list.Table(out)
}

// arenaBoardCmd is `dx arena board`.
type arenaBoardCmd struct {
	Dirs []string `arg:"" type:"existingdir" help:"Folders of runs and of certifications." name:"dir"`
	Out  string   `required:"" type:"path" help:"Folder to write index.html into. A board there is replaced, another page never." placeholder:"DIR"`
}

func (b *arenaBoardCmd) Help() string {
	return `Verifies every folder like dx verify, and writes one page that loads nothing. Runs of different setups are ranked in groups of their own, and those whose seeds were sealed come first. A certificate counts for the seats with the same digest.

Examples:
  dx arena board .dx/arena/first .dx/arena/agents --out board
  dx arena board runs/mine runs/mine-certify --out board`
}

func (b *arenaBoardCmd) Run(out io.Writer) error {
	show := cli.NewCounter(os.Stderr, "folders")
	board, err := arena.MakeBoard(b.Dirs, func(done, total int) { show.Update(uint64(done), uint64(total)) })
	show.Clear()
	if err != nil {
		return err
	}
	if err := board.Write(b.Out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Page: open %s\n", filepath.Join(cli.RelativePath(b.Out), "index.html"))
	return err
}

// arenaStatsCmd is `dx arena stats`.
type arenaStatsCmd struct {
	File string `arg:"" type:"existingfile" help:"CSV file of results from anywhere."`
	JSON bool   `name:"json" help:"Print JSON."`
}

func (s *arenaStatsCmd) Help() string {
	return `Applies the tests and verdicts of dx arena run to results from anywhere: a line for each seed and seat.

Columns: seed, seat and profit; or seed, seat, p and outcome (p and market from 0 to 1, outcome 0 or 1). Optional: run (seats of a run are tested together), swing (the most that one bet could lose) and market.

Examples:
  dx arena stats results.csv
  dx arena stats results.csv --json`
}

func (s *arenaStatsCmd) Run(out io.Writer) error {
	f, err := os.Open(s.File)
	if err != nil {
		return err
	}
	defer f.Close()
	runs, err := stats.ReadCSV(f)
	if err != nil {
		return &arena.ConfigError{Err: fmt.Errorf("%s: %w", s.File, err)}
	}
	if s.JSON {
		return json.NewEncoder(out).Encode(runs)
	}
	return arena.StatsTable(out, runs)
}

// arenaImportCmd is `dx arena import`.
type arenaImportCmd struct {
	File   string `arg:"" type:"path" help:"CSV file of bars of one second, or of one minute for series of 5 and 15 minutes."`
	Out    string `required:"" type:"path" help:"The tape to write. A file of that name is replaced, after an error unchanged." placeholder:"TAPE"`
	Source string `required:"" help:"Where the bars come from, for reports." placeholder:"NAME"`
	Time   string `help:"Column of the time at which a bar begins: its name, or its number from 1." placeholder:"COL"`
	Price  string `help:"Column of the close: its name, or its number from 1." placeholder:"COL"`
	Feed   string `help:"Feed of the prices; the arena plays btc." default:"btc"`
}

func (m *arenaImportCmd) Help() string {
	return `Without --time and --price the columns are those named time or timestamp (also open_time, unix) and close; in a file without names 1 and 5. Commas, semicolons or tabs separate them, and a first line without any, such as a link, is passed over. Times rise or fall, and are s, ms, µs or ns since 1970, which their magnitude shows, or ISO 8601.

A missing second holds the last close, at most 5 s. The close of a minute holds until the next. A larger gap, times that both rise and fall, a time that is there twice, and a cell that is no number are errors, and nothing is written.

Examples:
  dx arena import BTCUSDT-1s-2026-01-05.csv --source binance --out monday.csv
  dx arena import bars.csv --source exchange --time timestamp --price close --out tape.csv
  dx arena run my.toml --tape monday.csv`
}

func (m *arenaImportCmd) Run(out io.Writer) error {
	x, err := (&arena.Import{File: m.File, Out: m.Out, Source: m.Source, Feed: m.Feed, Time: m.Time, Price: m.Price}).Run()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "wrote %s: %s from %s on, %d seconds, of bars of %v\n", cli.RelativePath(m.Out), x.Feed, x.Start.Format(time.RFC3339), x.Seconds, x.Bar)
	return err
}

// arenaExportCmd is `dx arena export`.
type arenaExportCmd struct {
	Dir string `arg:"" type:"existingdir" help:"Folder of a run."`
	exportOptions
	Out string `required:"" type:"path" help:"Folder to write into, a folder for each seed. It must not be inside a run. A file that exists is never changed." placeholder:"DIR"`
}

func (e *arenaExportCmd) Run(out io.Writer) error {
	options, err := e.options()
	if err != nil {
		return err
	}
	show := cli.NewCounter(os.Stderr, "seeds")
	err = arena.Export(e.Dir, e.Out, options, func(done, total int) { show.Update(uint64(done), uint64(total)) })
	show.Clear()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "wrote %s; README.md there describes the tables\n", cli.RelativePath(e.Out))
	return err
}

// arenaServeCmd is `dx arena serve`.
type arenaServeCmd struct {
	File  string `arg:"" optional:"" type:"path" help:"Seats and settings; default: one seat, agent, with $1,000."`
	Seed  uint64 `help:"Seed of the market." default:"1"`
	Train bool   `help:"Serve training environments to the program that has started this one, over standard input and output. Each has seats and a seed of its own, so that it takes settings of the market alone."`
	arenaSettings
	Keys   string `help:"File to write addresses and keys to, in the form of that of dx dev." default:".dx/arena.json" type:"path" placeholder:"FILE"`
	API    string `help:"Address of REST, WebSocket and MCP." default:"127.0.0.1:0" placeholder:"ADDR"`
	Portal string `help:"Address of the dashboard." default:"127.0.0.1:0" placeholder:"ADDR"`
	Admin  string `help:"Address of the operator." default:"127.0.0.1:0" placeholder:"ADDR"`
}

func (s *arenaServeCmd) Run(ctx context.Context, out io.Writer, log *slog.Logger) error {
	c := arena.NewConfig()
	c.Seats = []arena.Seat{{Name: "agent", Fund: int64(1000)}}
	switch {
	case s.Train && s.File != "":
		return &arena.ConfigError{Err: fmt.Errorf("--train takes no file of seats: each environment has its own")}
	case s.File != "":
		var err error
		if c, err = arena.ReadConfig(s.File); err != nil {
			return err
		}
	}
	c.Hand = true
	if err := s.apply(c); err != nil {
		return err
	}
	if s.Train {
		return arena.Train(ctx, c, os.Stdin, out)
	}
	if err := os.MkdirAll(filepath.Dir(s.Keys), 0o700); err != nil {
		return err
	}
	return arena.Serve(ctx, c, s.Seed, arena.Options{API: s.API, Portal: s.Portal, Admin: s.Admin, Log: log, Version: version()}, func(f schemas.DevFile) error {
		b, err := json.MarshalIndent(f, "", "  ")
		if err != nil {
			return err
		}
		if err := atomicfile.Write(s.Keys, append(b, '\n')); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "venue of seed %d: API %s, dashboard %s, keys in %s\nTime stands still until a seat calls; wait_for_event and POST /v1/arena/advance let it pass.\n", s.Seed, f.API, f.Portal, cli.RelativePath(s.Keys))
		return err
	})
}

// arenaCertifyCmd is `dx arena certify`.
type arenaCertifyCmd struct {
	File string `arg:"" type:"path" help:"Seats and settings. Every seat with a command is tested."`
	arenaSettings
	Out string `help:"Folder of the runs; default .dx/arena/NAME-certify." type:"path" placeholder:"DIR"`
}

func (r *arenaCertifyCmd) Run(ctx context.Context, out io.Writer) error {
	c, err := r.config(r.File)
	if err != nil {
		return err
	}
	dir := cmp.Or(r.Out, filepath.Join(".dx", "arena", c.Name+"-certify"))
	show := cli.NewCounter(os.Stderr, "faults")
	certificate, err := arena.Certify(ctx, c, arena.Options{Dir: dir, Version: version()}, func(done, total int) { show.Update(uint64(done), uint64(total)) })
	show.Clear()
	if err != nil {
		return err
	}
	if err := certificate.Table(out); err != nil {
		return err
	}
	if err := certificate.Refusal(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "certified")
	return err
}
