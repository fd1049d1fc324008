// Command agent trades one round over MCP without a model, and prints the result. It
// follows the steps of the venue's prompt trade_round; the method view replaces the judgment
// of a model by one rule.
//
//	go run . [-rounds N] [MARKET_ID]
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	qty     = 5                // contracts
	lossMax = 50_000           // maximum loss in one round, in pips: $5
	margin  = 15 * time.Second // time that a round must have left
	tries   = 8
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	rounds := flag.Int("rounds", 1, "rounds to trade; 0 trades until SIGINT or SIGTERM")
	flag.Parse()
	if err := run(ctx, *rounds, flag.Args()); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, rounds int, args []string) error {
	wanted, err := strconv.Atoi(append(args, "0")[0])
	if err != nil {
		return err
	}
	command := []string{cmp.Or(os.Getenv("DX"), "dx"), "mcp"}
	if x := os.Getenv("DX_MCP"); x != "" { // the arena gives its seats the command of the bridge
		command = words(x)
	}
	bridge := exec.Command(command[0], command[1:]...)
	bridge.Stderr = os.Stderr
	self := &mcp.Implementation{Name: "duplex-agent", Version: "1"}
	session, err := mcp.NewClient(self, nil).Connect(ctx, &mcp.CommandTransport{Command: bridge}, nil)
	if err != nil {
		return err
	}
	a := &agent{ctx: ctx, session: session, traded: map[string]bool{}}
	for n := 0; a.err == nil && (rounds == 0 || n < rounds); n++ {
		a.trade(float64(wanted))
	}
	return errors.Join(a.err, session.Close())
}

// words splits a command as a shell does, at spaces outside of single quotes.
func words(command string) (list []string) {
	quoted := regexp.MustCompile(`'([^']*)'|\\(.)`)
	for _, w := range regexp.MustCompile(`(?:'[^']*'|\\.|[^\s'\\])+`).FindAllString(command, -1) {
		list = append(list, quoted.ReplaceAllString(w, "$1$2"))
	}
	return list
}

// agent is one session with the venue. After the first error its calls do nothing.
type agent struct {
	ctx     context.Context
	session *mcp.ClientSession
	traded  map[string]bool // rounds, by market and generation
	err     error
}

// rejection is the error of a call that the venue rejected.
type rejection struct{ text string }

func (r rejection) Error() string { return r.text }

// row is a JSON object, in which large numbers are strings.
type row map[string]any

func (r row) row(name string) row     { v, _ := r[name].(map[string]any); return v }
func (r row) list(name string) []any  { v, _ := r[name].([]any); return v }
func (r row) id() string              { return fmt.Sprint(r["market_id"], "/", r["generation"]) }
func (r row) num(name string) float64 { n, _ := strconv.ParseFloat(fmt.Sprint(r[name]), 64); return n }

// use calls a tool. It repeats a call that is retryable, and one whose outcome is unknown:
// an order cannot be placed twice with the same client_order_id.
func (a *agent) use(tool string, given row) row {
	for attempt := 1; a.err == nil; attempt++ {
		r, err := a.session.CallTool(a.ctx, &mcp.CallToolParams{Name: tool, Arguments: given})
		rest := 250.0 * float64(attempt) // ms
		switch {
		case err != nil:
			if attempt == tries || !refused(err) {
				a.err = fmt.Errorf("%s: %w", tool, err)
				return nil
			}
		case r.IsError:
			got := row{"it": r.StructuredContent}.row("it")
			if order := got.row("order"); got["replayed"] == true && order != nil { // placed by a call whose answer was lost
				order["seq"] = order["created_seq"]
				return order
			}
			if attempt == tries || got["retryable"] != true && got["outcome"] != "unknown" {
				a.err = rejection{fmt.Sprintf("%s: %v: %v", tool, got.row("error")["code"], got["hint"])}
				return nil
			}
			rest = cmp.Or(got.num("retry_after_ms"), rest)
		default:
			return row{"it": r.StructuredContent}.row("it")
		}
		select {
		case <-time.After(time.Duration(rest) * time.Millisecond):
		case <-a.ctx.Done(): // the next call returns the error
		}
	}
	return nil
}

// refused reports whether a read was not executed because the venue is busy or starting: such a
// protocol error has the HTTP status as its code.
func refused(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) && (e.Code == http.StatusTooManyRequests || e.Code == http.StatusServiceUnavailable)
}

// trade trades one round, from choosing it to its settlement.
func (a *agent) trade(wanted float64) {
	market := a.market(wanted)
	outcome, ask := a.view(market)
	if ask == 0 {
		return
	}
	order := row{
		// The agent places one order at a time, so the venue's time is free as an id. It makes
		// the agent's orders the same whenever a seed of the arena is repeated.
		"client_order_id": a.use("get_venue", row{}).row("time")["venue_time"],
		"market_id":       market["market_id"], "generation": market["generation"], // this round only
		"side": "buy", "outcome": outcome, "tick": ask, "qty": qty, "tif": "ioc",
	}
	p := a.use("preview_order", order)
	if errors.As(a.err, new(rejection)) { // such as without enough money: the next round may suit
		fmt.Println("no trade ", a.err)
		a.err = nil
	}
	if p == nil {
		return
	}
	fmt.Printf("preview   %d %s at %v pips: %s, fee %s, maximum loss %s, maximum payout %s\n", qty, outcome, ask, p["status"], dollars(p.num("fee")), dollars(p.num("worst_loss")), dollars(p.num("best_payout")))
	if p["status"] == "canceled" || p.num("worst_loss") > lossMax {
		return // nothing would fill, or the loss could be too large
	}
	switch placed := a.use("place_order", order); {
	case placed == nil:
	case placed["status"] == "waiting": // for the owner, above ask_above of the mandate
		fmt.Printf("waiting   the owner decides at %v\n", placed["approve_url"])
	default:
		fmt.Printf("placed    %s: %s, %v filled\n", placed["order_id"], placed["status"], placed["filled_qty"])
		if placed.num("filled_qty") > 0 {
			a.settled(market, placed)
		}
	}
}

// market returns the round to trade: the requested one, or else the one that ends first
// among those with enough time left and offers on both sides.
func (a *agent) market(wanted float64) (first row) {
	for a.err == nil {
		now := a.use("get_venue", row{}).row("time").num("venue_time") // as close_ts, also in the arena
		open := a.use("list_markets", row{"status": "trading"})
		for _, m := range open.list("markets") {
			m := row(m.(map[string]any))
			fits := m.num("market_id") == wanted || wanted == 0 && m.num("yes_bid") > 0 && m.num("yes_ask") > 0
			if end := m.num("close_ts"); fits && !a.traded[m.id()] && end > now+float64(margin) && (first == nil || end < first.num("close_ts")) {
				first = m
			}
		}
		if first != nil {
			a.traded[first.id()] = true
			return first
		}
		a.use("wait_for_event", row{"after_seq": open["as_of_seq"], "kinds": []string{"round"}})
	}
	return nil
}

// view is where a model would decide. This rule expects the price to end on the side of
// the strike where the index is now. ask is the best offer of that outcome.
func (a *agent) view(market row) (outcome string, ask float64) {
	id := market["market_id"]
	round := a.use("get_round", row{"market_id": id})
	index := a.use("get_oracle_price", row{"feed": int(round.num("category")-1) / 3})
	book := a.use("get_orderbook", row{"market_id": id, "depth": 1})
	if a.err != nil {
		return "", 0
	}
	fmt.Printf("market    %v: index %.2f, strike %.2f\n", id, index.num("price")/1e8, round.num("strike")/1e8)
	outcome, bids := "no", book.list("yes")
	if index.num("price") > round.num("strike") {
		outcome, bids = "yes", book.list("no")
	}
	if len(bids) == 0 {
		fmt.Printf("no offer  of %s; no trade\n", outcome)
		return outcome, 0
	}
	return outcome, 10_000 - bids[0].([]any)[0].(float64) // [tick, qty]
}

// settled follows a round to its end and prints what the order paid.
func (a *agent) settled(market, placed row) {
	for after := placed["seq"]; a.err == nil; {
		news := a.use("wait_for_event", row{"after_seq": after, "kinds": []string{"round", "settlement"}, "market_ids": []any{market["market_id"]}})
		for _, e := range news.list("events") {
			event := row(e.(map[string]any))
			switch msg := event.row("msg"); {
			case msg["generation"] != market["generation"]:
			case event["kind"] == "round":
				fmt.Println("round    ", msg["status"])
			default:
				a.report(placed, msg)
				return
			}
		}
		after = news["next_seq"]
	}
}

// dollars formats pips.
func dollars(pips float64) string { return fmt.Sprintf("$%.4f", pips/10_000) }

func (a *agent) report(placed, settlement row) {
	cost := 0.0 // pips
	for _, f := range a.use("list_fills", row{"order_id": placed["order_id"]}).list("fills") {
		cost += row(f.(map[string]any)).num("cost")
	}
	if balance := a.use("get_balance", row{}); balance != nil {
		fmt.Printf("settled   %v: paid %s for %s; free cash is %s\n", cmp.Or(settlement["winner"], any("void")), dollars(settlement.num("payout")), dollars(cost), dollars(balance.num("cash")))
	}
}
