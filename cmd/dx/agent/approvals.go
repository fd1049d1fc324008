package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/trading"
	"duplex/schemas"
)

// The commands of approvals: orders of agents that wait for their owner (docs/rules/agent-accounts.md#approvals).
type (
	approvals struct {
		ownerFlags
		Status string `help:"Only these: waiting, placed, refused, rejected, expired, canceled." placeholder:"LIST"`
		Limit  int    `help:"Rows, 1 to 1000." default:"20" within:"1,1000"`
		Cursor string `help:"Cursor of the previous page." placeholder:"CURSOR"`
	}
	approve     struct{ decisionCmd }
	reject      struct{ decisionCmd }
	decisionCmd struct {
		ownerFlags
		ID uint64 `arg:"" name:"id" help:"approval_id, as dx agent approvals shows it."`
	}
)

func (c *approvals) Help() string {
	return `An agent whose mandate has ask_above asks before it has more than that at stake in one round: its order waits for you for at most 5 minutes, and not longer than the round. COST is the most that the order can cost. AT STAKE is what the agent had in the round when it asked. Nothing is reserved while an order waits.

Examples:
  dx agent approvals --status waiting
  dx agent approve 190`
}

func (c *approvals) Run(ctx context.Context, out io.Writer) error {
	p, err := c.portal()
	if err != nil {
		return err
	}
	q := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	for name, value := range map[string]string{"status": c.Status, "cursor": c.Cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	var l schemas.AgentApprovalList
	text, err := p.do(ctx, "GET", "/approvals?"+q.Encode(), nil, &l)
	if err != nil || c.JSON {
		return printText(out, text, err)
	}
	return c.print(out, p.flags, &l, time.Now())
}

// print prints a page as of a time of this machine.
func (c *approvals) print(out io.Writer, flags string, l *schemas.AgentApprovalList, now time.Time) error {
	t := cli.NewTable("APPROVAL", "AGENT", "SERIES", "ROUND", "ORDER", "COST", "AT STAKE", c.Column("ASKED"), "STATE")
	waiting := ""
	for i := range l.Approvals {
		a := &l.Approvals[i]
		if a.Status == "waiting" {
			waiting = a.ApprovalID.String() // of those that wait the one with the least time
		}
		t.Row(cli.ID(a.ApprovalID), a.Agent, trading.SeriesName(a.Category), cli.ID(a.RoundNumber), trading.AskedOrder(a), dollars(a.Cost), dollars(a.OpenCost), c.Format(a.CreatedTs, time.DateTime), state(a, now))
	}
	if err := t.Print(out, "Your agents have asked for nothing."); err != nil {
		return err
	}
	name := cli.CommandName()
	if waiting != "" {
		fmt.Fprintf(out, "\nPlace it: %s agent approve %s%s\nOr not:   %[1]s agent reject %[2]s%[3]s\n", name, waiting, flags)
	}
	if l.Cursor == "" {
		return nil
	}
	if c.Status != "" {
		flags = " --status " + cli.ShellWord(c.Status) + flags
	}
	_, err := fmt.Fprintf(out, "\nOlder: %s agent approvals --cursor %s%s\n", name, cli.ShellWord(l.Cursor), flags)
	return err
}

// state is the time that is left to decide, or what became of the order.
func state(a *schemas.AgentApproval, now time.Time) string {
	if a.Status != "waiting" {
		text := trading.ApprovalEnd(a.Status, a.Reason)
		if a.OrderID != nil {
			text += ", order " + a.OrderID.String()
		}
		return text
	}
	left := time.Unix(0, a.ExpiresTs.Int64()).Sub(now)
	return fmt.Sprintf("waits for you, %v left", max(left, 0).Truncate(time.Second))
}

func (c *approve) Help() string {
	return `The order is placed now, as a new one: every bound of the mandate and every check of an order holds now, at the prices of now. It may trade, rest, be canceled or be rejected, and dx says which. The same decision again changes nothing.

Example:
  dx agent approve 190`
}

func (c *approve) Run(ctx context.Context, out io.Writer) error { return c.decide(ctx, out, "approve") }

func (c *reject) Help() string {
	return `The order is not placed, and the agent gets to know it. The same decision again changes nothing. dx agent halt stops the agent as well.

Example:
  dx agent reject 190`
}

func (c *reject) Run(ctx context.Context, out io.Writer) error { return c.decide(ctx, out, "reject") }

func (c *decisionCmd) decide(ctx context.Context, out io.Writer, what string) error {
	p, err := c.portal()
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/approvals/%d", c.ID)
	var done schemas.AgentApprovalDecided
	text, err := p.do(ctx, "POST", path+"/"+what, nil, &done)
	var refused *portalError
	switch {
	case isCode(err, "unknown_approval"):
		return fmt.Errorf("%w\nNone of your agents asked this. What they ask: %s agent approvals%s", err, cli.CommandName(), p.flags)
	case isCode(err, "invalid_transition"):
		return p.explainEnd(ctx, path, err)
	case errors.As(err, &refused) && schemas.ErrorInfoOf(refused.Code).Retry == schemas.Never:
		return err
	case err != nil:
		return fmt.Errorf("%w\nThe decision may have been made. Repeat the command: the same decision again changes nothing", err)
	case c.JSON:
		return cli.PrintJSON(out, text)
	}
	_, err = fmt.Fprintln(out, decided(&done))
	return err
}

// explainEnd adds to the error of a decision that came too late what became of the order.
func (p *portal) explainEnd(ctx context.Context, path string, late error) error {
	var a schemas.AgentApprovalRead
	if _, err := p.do(ctx, "GET", path, nil, &a); err != nil {
		return errors.Join(late, err)
	}
	end := "its time to decide has ended"
	if a.Status != "waiting" {
		end = trading.ApprovalEnd(a.Status, a.Reason)
	}
	return fmt.Errorf("%w\nNothing was changed: %s asked to %s, and %s. If it still wants that, it must ask again", late, a.Agent, trading.AskedOrder(&a.AgentApproval), end)
}

// decided says what a decision did.
func decided(d *schemas.AgentApprovalDecided) string {
	a := &d.Approval
	asked := fmt.Sprintf("Approval %s of %s, %s in %s for at most %s", a.ApprovalID, a.Agent, trading.AskedOrder(a), trading.SeriesName(a.Category), dollars(a.Cost))
	switch {
	case a.Status == "rejected":
		return asked + ": rejected. Nothing was placed."
	case a.Status == "refused":
		m := schemas.ErrorInfoOf(a.Reason)
		return fmt.Sprintf("%s: approved, but not placed, because the venue rejects it now: %s. %s", asked, a.Reason, m.Means)
	case d.Order == nil: // the decision was made before
		return fmt.Sprintf("%s: approved and placed before, as order %s.", asked, a.OrderID)
	}
	in := schemas.PlaceOrder{Side: a.Side, Outcome: a.Outcome, Type: a.Type, Qty: schemas.Int(a.Qty)}
	if tick := schemas.Ptr(schemas.Int(a.Tick)); a.Type == "market" {
		in.WorstTick = tick
	} else {
		in.Tick = tick
	}
	return fmt.Sprintf("%s: approved. %s", asked, trading.PlacedText(&in, trading.SeriesName(a.Category), &schemas.Placed{Outcome: *d.Order}))
}
