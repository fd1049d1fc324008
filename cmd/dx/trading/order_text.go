package trading

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// orderLabel describes the order of a sentence.
type orderLabel struct {
	in    *schemas.PlaceOrder
	where string // such as "btc-15m" or "market 4"
}

// PlacedText says in sentences what the placement of an order did, or that it waits. where names the market, such as
// "btc-15m".
func PlacedText(in *schemas.PlaceOrder, where string, p *schemas.Placed) string {
	return orderLabel{in, where}.placedText(p)
}

// PreviewText says in sentences what an order would do.
func PreviewText(in *schemas.PlaceOrder, where string, p *schemas.Preview) string {
	return orderLabel{in, where}.previewText(p)
}

// placedText says in sentences what a placement did, or that it waits for the owner of the agent.
func (l orderLabel) placedText(p *schemas.Placed) string {
	w := p.Waiting
	if w == nil {
		return l.outcomeText(&p.Outcome)
	}
	if w.Status != "waiting" { // after a lost answer, which the owner was faster than
		return fmt.Sprintf("Not placed: it waited for its owner, and %s (approval %s).", ApprovalEnd(w.Status, ""), w.ApprovalID)
	}
	at := " in the portal" // its address was in an answer that is lost
	if w.ApproveURL != "" {
		at = " at " + w.ApproveURL
	}
	return fmt.Sprintf("Not placed yet: it waits for its owner until %s UTC, who decides%s (approval %s). It would cost at most %s.",
		cli.Zone{}.Format(w.ExpiresTs, time.TimeOnly), at, w.ApprovalID, cli.FormatDollars(w.Cost.Int64()))
}

// ApprovalEnd says what became of an order that waited for the owner, by the status and the reason of its approval.
func ApprovalEnd(status, reason string) string {
	text := map[string]string{
		"placed": "it was approved and placed", "refused": "it was approved, but the venue rejected it", "rejected": "its owner rejected it",
		"expired": "nobody decided in time", "canceled": "it was canceled",
	}[status]
	switch reason {
	case "":
	case "user_cancel", "mass_cancel":
		text += " by the agent"
	default:
		text += ": " + reasonText(reason)
	}
	return cmp.Or(text, status)
}

// outcomeText says in sentences what a placement did.
func (l orderLabel) outcomeText(o *schemas.Outcome) string {
	var said []string
	if o.FilledQty > 0 {
		said = append(said, l.filled(map[string]string{"buy": "Bought", "sell": "Sold"}[l.in.Side], o.Fills, o.Fee)+".")
	}
	if o.RestingQty > 0 {
		said = append(said, fmt.Sprintf("%s to %s %s %s%s.", rests(o.FilledQty), l.in.Side, cli.Grouped(o.RestingQty), upper(l.in.Outcome), l.at()))
	}
	if o.Status == "canceled" {
		said = append(said, l.canceled("was", o.FilledQty, o.Reason))
	}
	return strings.Join(said, " ") + l.bound(o.WorstTick) + fmt.Sprintf(" Order %s.", o.OrderID)
}

// previewText says in sentences what an order would do.
func (l orderLabel) previewText(p *schemas.Preview) string {
	filled := int64(0)
	for _, f := range p.Fills {
		filled += f.Qty
	}
	var said []string
	if p.NeedsApproval {
		said = append(said, "It would wait for its owner. If that approved it now:")
	}
	if filled > 0 {
		said = append(said, l.filled("Would "+l.in.Side, p.Fills, p.Fee)+".")
	}
	if rest := int64(l.in.Qty) - filled; rest > 0 && (p.Status == "resting" || p.Status == "partially_filled") {
		said = append(said, fmt.Sprintf("An order to %s %s %s%s would rest.", l.in.Side, cli.Grouped(rest), upper(l.in.Outcome), l.at()))
	}
	if p.Status == "canceled" {
		said = append(said, l.canceled("would be", filled, p.Reason))
	}
	said = append(said, fmt.Sprintf("Worst loss %s, best payout %s; free cash after it %s.", cli.FormatDollars(p.WorstLoss.Int64()), cli.FormatDollars(p.BestPayout.Int64()), cli.FormatDollars(p.CashAfter.Int64())))
	return strings.Join(said, " ") + l.bound(p.WorstTick)
}

// bound names the worst price of a market order: its own, or the one that a price collar chose, in pips; 0 if none did.
func (l orderLabel) bound(collar int64) string {
	if l.in.WorstTick != nil {
		collar = int64(*l.in.WorstTick)
	}
	if collar == 0 {
		return ""
	}
	return fmt.Sprintf(" %s: %s.", map[string]string{"buy": "Highest price", "sell": "Lowest price"}[l.in.Side], cli.FormatCents(collar))
}

// replacementText says in sentences what a replace did.
func (l orderLabel) replacementText(r *schemas.Replacement) string {
	return fmt.Sprintf("Canceled order %s: %s. %s", r.Replaced.OrderID, Count(int(r.Replaced.CanceledQty), "contract"), l.outcomeText(&r.Outcome))
}

// filled says what fills do, such as "Bought 10 YES in btc-15m at 56¢ for $5.60, plus a fee of
// $0.0616".
func (l orderLabel) filled(verb string, fills []schemas.OutcomeFill, fee schemas.U64) string {
	qty, sum, lowest, highest := int64(0), int64(0), int64(10_000), int64(0)
	for _, f := range fills {
		at := ownPrice(l.in.Outcome, f.TickYes)
		qty, sum, lowest, highest = qty+f.Qty, sum+f.Qty*at, min(lowest, at), max(highest, at)
	}
	at := cli.FormatCents(lowest)
	if lowest != highest {
		at += " to " + cli.FormatCents(highest)
	}
	text := fmt.Sprintf("%s %s %s in %s at %s for %s", verb, cli.Grouped(qty), upper(l.in.Outcome), l.where, at, cli.FormatDollars(sum))
	if fee == 0 {
		return text
	}
	return fmt.Sprintf("%s, %s a fee of %s", text, map[string]string{"buy": "plus", "sell": "less"}[l.in.Side], cli.FormatDollars(fee.Int64()))
}

func rests(filled int64) string {
	if filled > 0 {
		return "The rest waits"
	}
	return "Your order waits"
}

func (l orderLabel) at() string {
	if l.in.Tick == nil {
		return ""
	}
	return " at " + cli.FormatCents(int64(*l.in.Tick))
}

// canceled says that the order, or what did not fill of it, was canceled.
func (l orderLabel) canceled(was string, filled int64, reason string) string {
	what := fmt.Sprintf("The order to %s %s %s in %s", l.in.Side, cli.Grouped(l.in.Qty), upper(l.in.Outcome), l.where)
	if filled > 0 {
		what = "The rest"
	}
	text := fmt.Sprintf("%s %s canceled", what, was)
	if reason != "" {
		text += ": " + reasonText(reason)
	}
	return text + "."
}

// reasons has the words of the page for why an order was canceled.
var reasons = map[string]string{
	"post_only_cross":       "it would have traded at once",
	"fok_infeasible":        "it could not be filled completely",
	"ioc_remainder":         "nobody offers more within your price",
	"self_trade_prevention": "it met an order of your own",
	"max_cost_infeasible":   "the spending limit was reached",
	"user_cancel":           "by you",
	"mass_cancel":           "by you",
	"replaced":              "replaced by you",
	"group_limit":           "by the bound of its group",
	"requoted":              "by a newer quote of its group",
	"disconnect":            "its connection ended",
	"key_revoked":           "its key was revoked",
	"deadman":               "by the dead-man switch",
	"decreased_to_zero":     "reduced to nothing",
	"paused":                "trading was paused",
	"round_closed":          "the round ended",
	"suspended":             "the account was suspended",
	"operator":              "by the operator",
	"halted":                "the agent was stopped",
	"mandate_expired":       "the mandate expired",
	"reduce_only":           "it would have added to the position",
}

// reasonText says why an order was canceled or rejected.
func reasonText(reason string) string {
	return cmp.Or(reasons[reason], strings.ReplaceAll(reason, "_", " "))
}

// printFor prints a sentence on a terminal, and JSON elsewhere or with --json.
func printFor(out io.Writer, json bool, v any, sentence func() string, err error) error {
	if err != nil || json || !cli.IsTerminal(out) {
		return cli.PrintResult(out, v, err)
	}
	_, err = fmt.Fprintln(out, sentence())
	return err
}
