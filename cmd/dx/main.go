// Command dx is the exchange: a venue in one process, and the tools to use it.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"duplex/arena"
	"duplex/cluster"
	"duplex/cmd/dx/agent"
	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/mirror"
	"duplex/cmd/dx/operator"
	"duplex/cmd/dx/trading"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/internal/address"
	"duplex/schemas"
)

const description = `Duplex: an exchange for yes/no prediction markets that agents, bots and people use on equal terms.

Start with 'dx dev': nine live series, a price feed, a market maker and funded keys in one process.`

// commandLine is the command line. Every flag of dx dev, serve, follow and config is also a variable
// (variables.go) and, for dx serve, a setting in dx.toml.
type commandLine struct {
	Dev         devCmd              `cmd:"" help:"Run a venue for development: simulated prices, funded accounts, a market maker."`
	Serve       serveCmd            `cmd:"" help:"Run a venue for real users, without funded accounts."`
	Follow      followCmd           `cmd:"" help:"Run a follower of a cluster, which serves reads and takes no writes."`
	Mcp         mcpCmd              `cmd:"" help:"Connect an MCP host to the venue."`
	Agent       agent.Commands      `cmd:"" help:"Give an AI agent an account of its own, and watch or stop it."`
	Call        trading.Call        `cmd:"" help:"Send one signed request."`
	Order       trading.Order       `cmd:"" help:"Place an order."`
	Replace     trading.Replace     `cmd:"" help:"Replace a resting order by another, in one step."`
	Cancel      trading.Cancel      `cmd:"" help:"Cancel orders."`
	Markets     trading.Markets     `cmd:"" help:"List the markets."`
	Book        trading.Book        `cmd:"" help:"Show a market's orderbook."`
	Balance     trading.Balance     `cmd:"" help:"Show the account's money."`
	Positions   trading.Positions   `cmd:"" help:"List what the account holds."`
	Orders      trading.Orders      `cmd:"" help:"List the account's orders."`
	Fills       trading.Fills       `cmd:"" help:"List the account's fills."`
	Rounds      trading.Rounds      `cmd:"" help:"List rounds with their results and the account's profit."`
	Settlements trading.Settlements `cmd:"" help:"List what finished rounds paid the account."`
	Pnl         trading.PnL         `cmd:"" aliases:"portfolio" help:"Show the account's profit and loss."`
	Ledger      trading.Ledger      `cmd:"" help:"List the changes of the account's money."`
	Forecast    trading.Forecast    `cmd:"" help:"Record the probability that you give YES in a round, for a score."`
	Forecasts   trading.Forecasts   `cmd:"" help:"List the account's forecasts with their scores."`
	History     trading.History     `cmd:"" help:"List the index of a feed."`
	Watch       trading.Watch       `cmd:"" help:"Print the event stream, one line per message."`
	Doctor      throughCmd          `cmd:"" help:"Check a venue, and the proxies in front of it, from where a client is."`
	Ready       readyCmd            `cmd:"" help:"Exit with 0 if a node is ready for requests: for health checks."`
	Top         topCmd              `cmd:"" help:"Show the nine series, an order book, its trades and your orders on a terminal."`
	Bench       benchCmd            `cmd:"" help:"Load a venue on this machine and print throughput and latency."`
	Feeds       feedsCmd            `cmd:"" help:"Watch or record the price sources."`
	Evidence    trading.Evidence    `cmd:"" help:"Recompute how a round settled and compare it with the venue."`
	Proof       proofCommands       `cmd:"" help:"Write or check the proof bundle of a settled round."`
	Verify      verifyCmd           `cmd:"" help:"Replay a journal and check all of it."`
	Backup      backupCmd           `cmd:"" help:"Copy the data of a venue, also while it runs, and verify the copy."`
	Restore     restoreCmd          `cmd:"" help:"Put a backup into a new data directory."`
	Mirror      mirror.Commands     `cmd:"" help:"Look at the mirror, the database of the whole history, or build it anew."`
	Export      exportCmd           `cmd:"" help:"Write tables of the mirror to CSV or Parquet files."`
	Cluster     operator.Cluster    `cmd:"" help:"Look at the members of a cluster, or change them."`
	Arena       arenaCmd            `cmd:"" help:"Test trading agents in virtual time: many seeds, statistics, and a proof."`
	Admin       operator.Commands   `cmd:"" help:"Act as the operator."`
	Keys        operator.Keys       `cmd:"" help:"Replace the master key."`
	Conf        configCmd           `cmd:"" name:"config" help:"Check or show the settings of dx serve."`
	Completion  completionCmd       `cmd:"" help:"Print the completion script of a shell."`

	LogLevel slog.Level       `help:"Lowest level to log: debug, info, warn or error." default:"info" env:"DX_LOG_LEVEL"`
	Config   kong.ConfigFlag  `help:"TOML file whose settings are flags." type:"existingfile" env:"DX_CONFIG"`
	Version  kong.VersionFlag `help:"Print the version."`
}

func main() {
	if code, is := cluster.RunReader(); is {
		os.Exit(code)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// asCommand returns the command line that people mean who type the commands of other programs.
func asCommand(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		of := asCommand(args[1:])
		if slices.Contains(of, "--help") { // twice, it would be printed twice
			return of
		}
		return append(slices.Clone(of), "--help")
	case args[0] == "buy" || args[0] == "sell":
		return append([]string{"order"}, args...)
	}
	return args
}

// run runs a command line and returns the exit code: 0 for success, 1 for a failure, 2 for
// a flag or setting that cannot work, 3 for a member of several that must not be restarted
// (docs/rules/operation.md#member-states).
func run(args []string, out, errs io.Writer) int {
	var c commandLine
	code := -1
	parser, err := kong.New(&c, append(mappers(), kong.Name("dx"), kong.Description(description), kong.UsageOnError(), kong.Writers(out, errs),
		kong.Exit(func(n int) { code = n }), kong.Vars{"version": versionText()}, kong.Configuration(tomlFlags, folderConfig), kong.DefaultEnvars("DX"))...)
	if err != nil {
		fmt.Fprintln(errs, "dx:", err)
		return 2
	}
	kongcompletion.Register(parser, seriesPredictor())
	if code >= 0 { // a shell asked for completions
		return code
	}
	stops := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		stops = append(stops, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), stops...)
	defer stop()
	var warnings bytes.Buffer // a venue's go to its log, which never waits for a reader
	err = checkVariables(parser.Model, &warnings)
	args = asCommand(args)
	var cmd *kong.Context
	if err == nil {
		cmd, err = parser.Parse(args)
		err = explainNegative(parser, args, err)
	}
	if code >= 0 { // --help or --version has printed its output
		return code
	}
	if err != nil {
		fmt.Fprintf(errs, "%sdx: %s\n", &warnings, errorText(err))
		return 2
	}
	name, _, _ := strings.Cut(cmd.Command(), " ")
	isVenue := slices.Contains(venueCommands, name)
	if !isVenue { // a venue stops within 10 s, and two Ctrl-C may be one that a parent sent again
		defer context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) })()
	}
	log := openLog(isVenue, out, errs, c.LogLevel)
	defer log.close()
	if warnings.Len() > 0 {
		_, _ = log.errs.Write(warnings.Bytes()) // nobody hears of an error of standard error
	}
	warnOfFlagVariables(cmd.Selected(), log.errs)
	cmd.BindTo(ctx, (*context.Context)(nil))
	cmd.BindTo(log.out, (*io.Writer)(nil))
	cmd.Bind(log.Logger, diagnostics{log.errs}, log.venueLog)
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(log.errs, "dx:", errorText(err))
		if a := cmp.Or(advice(err), keyAdvice(err, cmd)); a != "" {
			fmt.Fprintln(log.errs, "dx:", a)
		}
		return exitCode(err)
	}
	return 0
}

// explainNegative returns what an argument says to a number with a minus sign, which the parser takes for a flag.
func explainNegative(parser *kong.Kong, args []string, err error) error {
	at := slices.IndexFunc(args, func(arg string) bool { return len(arg) > 1 && arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9' })
	if err == nil || at < 0 {
		return err
	}
	_, rejected := parser.Parse(slices.Insert(slices.Clone(args), at, "--"))
	if rejected != nil && strings.Contains(rejected.Error(), strconv.Quote(args[at])) {
		return rejected
	}
	return err
}

// fromVariable matches how kong names the variable of a value that it rejects, with the value.
var fromVariable = regexp.MustCompile(`\(from envar (\w+)="(?:[^"\\]|\\.)*"\)`)

// errorText returns the text of an error without the values of variables, without the secrets of URLs, and without
// what would steer a terminal: a server or a file may have chosen a part of it.
func errorText(err error) string {
	return schemas.ForTerminal(fromVariable.ReplaceAllString(address.RedactError(err), "(from $1)"))
}

// venueCommands serve a venue until they are stopped.
var venueCommands = []string{"dev", "serve", "follow"}

// exitCode is the exit code of a command that failed with err.
func exitCode(err error) int {
	var flag cli.FlagError
	var settings *arena.ConfigError
	switch {
	case errors.As(err, &flag), errors.As(err, &settings):
		return 2
	case errors.Is(err, engine.ErrDiverged), errors.Is(err, engine.ErrDamaged), errors.Is(err, engine.ErrRemoved):
		return 3
	}
	return 1
}

// diagnostics is standard error. Commands get it for what is not their result.
type diagnostics struct{ io.Writer }

// versionText is what dx --version prints: the version, the commit with a mark if the source was
// changed since, and the journal format that this program writes.
func versionText() string {
	commit, changed := "unknown", ""
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value[:min(len(s.Value), 12)]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = " with changes"
			}
		}
	}
	return fmt.Sprintf("dx %s, commit %s%s, journal format %d", version(), commit, changed, journal.Format)
}

func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		return b.Main.Version
	}
	return "dev"
}
