package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/schemas"
)

// runCommand runs a command line in this process and returns its exit code, output and
// errors.
func runCommand(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(args, &o, &e)
	return code, o.String(), e.String()
}

// noTrade matches what a command prints when the house maker replaces its quotes, or when the market is paused
// because its venue was held up for 5 s. The quotes may also go between the read of the book and the order,
// which then finds nothing.
var noTrade = regexp.MustCompile(`nobody (offers|bids)|"fills":\[\].*"reason":"ioc_remainder"|"yes":\[\]|market_paused|is paused`)

// missedTrade reports whether a command needs a market with quotes and noTrade matches what it printed.
func missedTrade(args []string, printed string) bool {
	return slices.Contains([]string{"order", "replace", "book"}, args[0]) && noTrade.MatchString(printed)
}

// runTrading is runCommand, and repeats the command for up to 3 min while missedTrade.
func runTrading(args ...string) (code int, out, errs string) {
	within(3*time.Minute, func() bool {
		code, out, errs = runCommand(args...)
		return !missedTrade(args, out+errs)
	})
	return code, out, errs
}

// expectCommand runs a command of dx, and requires its exit code and a text in what it prints: on standard
// output if it is to succeed, on standard error if not.
func expectCommand(t *testing.T, code int, text string, args ...string) {
	t.Helper()
	got, out, errs := runCommand(args...)
	printed := errs
	if code == 0 {
		printed = out
	}
	if got != code || !strings.Contains(printed, text) {
		t.Errorf("dx %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), got, code, text, out, errs)
	}
}

// textFile writes a text to a file in a new folder and returns its path.
func textFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCommands runs the commands of a first session against a venue.
func TestCommands(t *testing.T) {
	data := t.TempDir()
	p := start(t, data)
	p.devFile()
	m := p.marketFor(2*time.Minute, func(m schemas.Market) bool { return m.YesBid > 100 && m.YesAsk > 0 && m.YesAsk < 9800 })
	market := fmt.Sprintf("--market-id=%d", m.MarketID)
	series := "--series=" + p.series(m)
	id := func(out string) string {
		_, rest, _ := strings.Cut(out, `"order_id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}

	for _, c := range []struct {
		name string
		args string
		code int
		want string // in the output, or in the errors when it fails
	}{
		{"call", "call get /v1/portfolio/balance", 0, `"cash":"100000000"`},
		{"call as another", "call --as reader POST /v1/portfolio/orders {}", 1, "missing_scope"},
		{"call what is not there", "call GET /v1/nothing", 1, `404 {"error":{"code":"not_found"`},
		{"call without a slash", "call GET v1/time", 2, "--path"},
		{"call with a query", "call GET /v1/markets?status=trading&limit=1", 0, `"cursor":`},
		{"nobody of that name", "call --as nobody GET /v1/time", 2, "--as"},
		{"markets", "markets", 0, "SERIES    MARKET  STATUS"},
		{"markets by series", "markets", 0, "\nwti-15m   "},
		{"markets as JSON", "markets --json", 0, `{"markets":[{"market_id":`},
		{"book", fmt.Sprintf("book %d", m.MarketID), 0, "= NO BID"},
		{"book as JSON", fmt.Sprintf("book %d --depth 1 --json", m.MarketID), 0, `"yes":[[`},
		{"book of a series", "book --depth 1 --json " + series, 0, fmt.Sprintf(`{"market_id":%d,`, m.MarketID)},
		{"no such book", "book 33", 1, "unknown_market"},
		{"no book named", "book", 2, "--series"},
		{"two books named", "book 3 " + series, 2, "--series"},
		{"preview", "order buy yes 1 --preview " + market, 0, `"best_payout":"10000"`},
		{"market order", "order buy yes 1 --max-cost 1.1 " + market, 0, `"status":"executed"`},
		{"market order by series", "order buy yes 1 --max-cost 1.1 " + series, 0, `"status":"executed"`},
		{"order and --json", "order sell yes 1 @99 --preview --json " + series, 0, `"best_payout":"9900"`},
		{"preview by series", "order sell yes 1 @99 --preview " + series, 0, `"best_payout":"9900"`},
		{"no such series", "order buy yes 3 @50 --series btc-1h", 2, "--series: unknown series \"btc-1h\""},
		{"series and market", "order buy yes 3 @50 " + market + " " + series, 2, "can't be used together"},
		{"pips", "order buy yes 3 @4700 " + market, 2, "in cents"},
		{"off the grid", "order buy yes 3 @50.5 " + market, 2, "--price: prices are 1 to 99.9 cents"},
		{"no market", "order buy yes 3 @50", 2, "--series: choose a market"},
		{"nothing to cancel", "cancel", 2, "--all"},
		{"both ways", "cancel 5 --all", 2, "--all"},
		{"ids and a series", "cancel 5 " + series, 2, "--all"},
		{"ids and a client_order_id", "cancel 5 --client-order-id 6", 2, "--all"},
		{"cancel by a client_order_id without an order", "cancel --client-order-id 99", 1, "unknown_order"},
		{"cancel what is not mine", "cancel 1", 1, "dx: order 1: unknown_order: "},
		{"markets of a series", "markets " + series, 0, " trading "},
		{"markets of a series as JSON", "markets --json " + series, 0, fmt.Sprintf(`{"markets":[{"market_id":%d,`, m.MarketID)},
		{"balance", "balance", 0, "FREE  RESERVED"},
		{"balance as JSON", "balance --json", 0, `{"cash":"`},
		{"positions", "positions " + series, 0, "IF IT WINS"},
		{"positions of an empty market", "positions --market-id 31", 0, "No positions in market 31."},
		{"positions as JSON", "positions --json", 0, `"outcome":"yes","qty":2,`},
		{"positions of a series as JSON", "positions --json " + series, 0, `"outcome":"yes","qty":2,`},
		{"orders", "orders", 0, "No resting orders."},
		{"all orders of a series", "orders --all " + series, 0, "executed"},
		{"orders by status", "orders --json --status executed " + market, 0, `{"orders":[{"order_id":"`},
		{"orders of a status that is not", "orders --status all", 2, `--status: "all" is not one of resting, partially_filled, executed, canceled, expired, rejected; --all lists orders of every status`},
		{"a time in force without a price", "order buy yes 3 --tif ioc " + market, 2, "--tif: is for an order with a price, such as @55"},
		{"orders of two kinds", "orders --all --status executed", 2, "can't be used together"},
		{"orders of a series as JSON", "orders --all --limit 1 --json " + series, 0, `"cursor":"","as_of_seq":"`},
		{"fills", "fills " + series, 0, "taker"},
		{"fills as JSON", "fills --json --limit 1", 0, `{"fills":[{"n":"`},
		{"rounds", "rounds " + series, 0, "SETTLED AT"},
		{"rounds as JSON", "rounds --json --limit 1", 0, `{"rounds":[{"market_id":`},
		{"own rounds", "rounds --mine", 0, "PAYOUT"},
		{"own rounds as JSON", "rounds --mine --json", 0, `"bought_yes":2`},
		{"ledger of a series", "ledger " + series, 0, "fill"},
		{"profit and loss", "pnl", 0, "AVG COST"},
		{"profit and loss as JSON", "pnl --json", 0, `{"realized":"`},
		{"the portfolio", "portfolio", 0, "AVG COST"},
		{"settlements", "settlements " + series, 0, "No settlements in "},
		{"settlements as JSON", "settlements --json --limit 1", 0, `{"settlements":[`},
		{"prices", "history wti --step 1 --limit 2", 0, "SOURCES"},
		{"prices as JSON", "history --json --limit 1", 0, `{"feed":0,"step_secs":60,"rows":[{"ts":"`},
		{"prices of a feed that is not", "history silver", 2, `"silver" is not BTC, gold or WTI`},
		{"prices of a long step", "history --step 3601", 2, "--step: must be a whole number from 1 to 3,600, and not \"3601\""},
		{"buy as a command", "buy yes 1 @1 --json " + series, 0, `"status":"resting"`},
		{"sell as a command", "sell no 1 @99 " + series, 1, "insufficient_position"},
		{"help about a command", "help order", 0, "Usage: dx order"},
		{"help about a subcommand", "help agent create", 0, "Usage: dx agent create"},
		{"help", "help", 0, "Usage: dx <command>"},
		{"ledger", "ledger", 0, "deposit"},
		{"ledger of fees", "ledger --kind fee --limit 1 --json " + market, 0, `"kind":"fee"`},
		{"ledger of a kind that is not", "ledger --kind fees", 1, "schema_violation"},
		{"ledger of too many rows", "ledger --limit 1001", 2, "--limit"},
		{"cancel all", "cancel --all " + market, 0, `"seq":`},
		{"cancel all of a series", "cancel --all " + series, 0, `"seq":`},
	} {
		code, out, errs := runTrading(strings.Fields(c.args)...)
		if text := map[bool]string{true: out, false: errs}[c.code == 0]; code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: exit %d\n%s%s", c.name, code, out, errs)
		}
	}
	code, out, errs := runTrading("order", "buy", "yes", "3", "@1", "--post-only", "--tif", "gtt", "--expires", "1m", "--client-order-id", "7", market)
	if code != 0 || !strings.Contains(out, `"client_order_id":"7","status":"resting"`) {
		t.Fatalf("dx order with a client order id: exit %d %s%s, want it resting", code, out, errs)
	}
	expectCommand(t, 0, `"canceled_qty":3`, "cancel", id(out))
	runTrading("order", "buy", "yes", "2", "@1", "--post-only", "--client-order-id", "8", market)
	expectCommand(t, 0, `"canceled_qty":2`, "cancel", "--client-order-id", "8")
	p.stop()
	expectCommand(t, 0, "state hash", "verify", data)
	expectCommand(t, 1, "refused", "call", "GET", "/v1/time")
	expectCommand(t, 1, "no journal", "verify", t.TempDir())
}
