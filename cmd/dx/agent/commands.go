package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// Commands is `dx agent`.
type Commands struct {
	Create    create    `cmd:"" help:"Make an agent: an account of its own with money, a mandate and a key."`
	List      list      `cmd:"" help:"List your agents."`
	Show      show      `cmd:"" help:"Show an agent: what it has, what it may do and what it has used of that."`
	Activity  activity  `cmd:"" help:"Show what an agent did, newest first, rejected commands too."`
	Fund      fund      `cmd:"" help:"Move free cash to an agent."`
	Return    withdraw  `cmd:"" help:"Move free cash of an agent back to you."`
	Mandate   mandate   `cmd:"" help:"Show or change what an agent may do."`
	Approvals approvals `cmd:"" help:"List the orders of your agents that wait for you, and what became of others."`
	Approve   approve   `cmd:"" help:"Place an order that waits for you."`
	Reject    reject    `cmd:"" help:"Do not place an order that waits for you."`
	Key       key       `cmd:"" help:"Make another key of an agent."`
	Halt      halt      `cmd:"" help:"Stop an agent: cancel its orders and reject new ones."`
	Resume    resume    `cmd:"" help:"Let a halted agent trade again."`
	Close     close     `cmd:"" help:"Close an agent for good: revoke its keys and return its cash."`
}

func (Commands) Help() string {
	return `An agent trades from an account of its own, with the money that you give it, within its mandate: bounds that the venue enforces, whatever the agent does. The portal's address and your account token come from DX_PORTAL_URL and DX_ACCOUNT_TOKEN, or from the dev file. An agent is named by its name or its account number. Money is in dollars.

Examples:
  dx agent create bot --fund 50
  dx agent show bot
  dx agent approvals
  dx agent halt bot`
}

// agentCmd is a command about one agent.
type agentCmd struct {
	ownerFlags
	Name string `arg:"" name:"agent" help:"Name or account number of the agent."`
}

// open returns the portal and the agent.
func (c *agentCmd) open(ctx context.Context) (*portal, *schemas.Agent, error) {
	p, err := c.portal()
	if err != nil {
		return nil, nil, err
	}
	a, err := p.find(ctx, c.Name)
	return p, &a, err
}

type (
	list struct {
		ownerFlags
		All bool `help:"Also list closed agents."`
	}
	show     struct{ agentCmd }
	activity struct {
		agentCmd
		Limit  int    `help:"Rows, 1 to 1000." default:"20" within:"1,1000"`
		Cursor string `help:"Cursor of the previous page." placeholder:"CURSOR"`
	}
	fund     struct{ transferCmd }
	withdraw struct{ transferCmd }
	mandate  struct {
		agentCmd
		mandateFlags
		Remove []string `help:"Remove the bounds of these flags, such as max-order-cost." placeholder:"FLAG"`
	}
	halt struct {
		ownerFlags
		Name string `arg:"" optional:"" name:"agent" help:"Name or account number of the agent."`
		All  bool   `help:"Halt all your agents."`
	}
	resume struct{ agentCmd }
	close  struct{ agentCmd }

	transferCmd struct {
		agentCmd
		Amount cli.Amount `arg:"" help:"Dollars."`
		ID     string     `name:"id" help:"client_transfer_id: the same id again moves nothing. Default: made from the time." placeholder:"ID"`
	}
)

func (l *list) Help() string {
	return `TODAY is the profit since midnight UTC that is realized. OPEN COST is what open orders and positions cost. LEFT is what new orders may still cost before max_daily_loss rejects them.`
}

func (l *list) Run(ctx context.Context, out io.Writer) error {
	p, err := l.portal()
	if err != nil {
		return err
	}
	agents, err := p.open(ctx, l.All)
	if err != nil || l.JSON {
		return cli.PrintResult(out, struct {
			Agents []schemas.Agent `json:"agents"`
		}{agents}, err)
	}
	t := cli.NewTable("AGENT", "ACCOUNT", "STATE", "EQUITY", "TODAY", "OPEN COST", "LEFT", "ORDERS TODAY")
	for i := range agents {
		a := &agents[i]
		t.Row(a.Name, cli.ID(a.UserID), a.State, dollars(a.Equity), cli.FormatDollars(int64(a.RealizedToday)), dollars(a.Usage.OpenCost), leftToday(a), a.Usage.OrdersDay)
	}
	return t.Print(out, fmt.Sprintf("You have no agents. Make one with: %s agent create bot --fund 50%s", cli.CommandName(), p.flags))
}

// leftToday returns what max_daily_loss leaves, or a dash without this bound.
func leftToday(a *schemas.Agent) string {
	if left := a.Headroom.MaxDailyLoss; left != nil {
		return dollars(*left)
	}
	return "-"
}

func dollars(pips schemas.U64) string { return cli.FormatDollars(pips.Int64()) }

func (s *show) Run(ctx context.Context, out io.Writer) error {
	p, a, err := s.open(ctx)
	if err != nil {
		return err
	}
	m, err := p.mandate(ctx, a.UserID)
	if err != nil {
		return err
	}
	var keys schemas.KeyList
	if _, err := p.do(ctx, "GET", agentPath(a.UserID, "keys"), nil, &keys); err != nil {
		return err
	}
	if s.JSON {
		return cli.PrintResult(out, struct {
			schemas.Agent
			Mandate schemas.Mandate `json:"mandate"`
			Keys    []schemas.Key   `json:"keys"`
		}{*a, m.Mandate, keys.Keys}, nil)
	}
	fmt.Fprintf(out, "%s (account %d) is %s.\n\n", a.Name, a.UserID, a.State)
	t := cli.NewTable("", "")
	t.Row("equity", dollars(a.Equity))
	t.Row("profit today", cli.FormatDollars(int64(a.RealizedToday)))
	t.Row("open orders and positions", dollars(a.Usage.OpenCost))
	t.Row("resting orders", a.Usage.OpenOrders)
	t.Row("orders today", a.Usage.OrdersDay)
	if left := a.Headroom.MaxDailyLoss; left != nil {
		t.Row("may still lose today", dollars(*left))
	}
	if left := a.Headroom.MaxOpenCost; left != nil {
		t.Row("may still have open", dollars(*left))
	}
	if left := a.Headroom.MaxOrdersPerDay; left != nil {
		t.Row("orders left today", *left)
	}
	if left := a.Headroom.MaxOpenOrders; left != nil {
		t.Row("orders that may still rest", *left)
	}
	if err := t.PrintRows(out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if err := printMandate(out, a.Name, m, s.Zone); err != nil || len(keys.Keys) == 0 {
		return err
	}
	fmt.Fprintln(out)
	k := cli.NewTable("KEY", "KIND", "LABEL", "SCOPES", s.Column("ENDS"), "CLIENT")
	for _, x := range keys.Keys {
		end, client := "-", "-"
		if x.Kind == "oauth" {
			end, client = s.Format(x.ExpiresTs, time.DateTime), x.Client
			if len(client) > clientWidth { // a registered client_id holds all that was registered
				client = client[:clientWidth] + "…"
			}
		}
		k.Row(x.APIKey, x.Kind, cmp.Or(schemas.ForTerminal(x.Label), "-"), strings.Join(x.Scopes, ","), end, schemas.ForTerminal(client))
	}
	return k.Print(out, "")
}

// clientWidth is how much of a client_id a table shows.
const clientWidth = 40

func printMandate(out io.Writer, name string, m *schemas.AgentMandate, zone cli.Zone) error {
	_, err := fmt.Fprintf(out, "Mandate of %s, revision %d: it\n  - %s\n", name, m.Rev, strings.Join(describe(&m.Mandate, zone), "\n  - "))
	return err
}

func (p *portal) mandate(ctx context.Context, id uint32) (*schemas.AgentMandate, error) {
	var m schemas.AgentMandate
	_, err := p.do(ctx, "GET", agentPath(id, "mandate"), nil, &m)
	return &m, err
}

func (c *activity) Run(ctx context.Context, out io.Writer) error {
	p, a, err := c.open(ctx)
	if err != nil {
		return err
	}
	q := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	if c.Cursor != "" {
		q.Set("cursor", c.Cursor)
	}
	var l schemas.ActivityList
	text, err := p.do(ctx, "GET", agentPath(a.UserID, "activity?"+q.Encode()), nil, &l)
	if err != nil || c.JSON {
		return printText(out, text, err)
	}
	if len(l.Activity) == 0 {
		_, err := fmt.Fprintf(out, "%s has done nothing yet.\n", a.Name)
		return err
	}
	t := cli.NewTable(c.Column("TIME"), "SEQ", "BY", "OPERATION", "ORDER", "RESULT")
	for i := range l.Activity {
		x := &l.Activity[i]
		by, order, result := "owner", "-", "ok"
		if x.APIKey != nil {
			by = *x.APIKey
		}
		if x.OrderID != nil {
			order = cli.ID(*x.OrderID)
		}
		switch {
		case x.Code != "":
			result = x.Code
		case x.ApprovalID != nil && x.Operation == "place_order":
			result = "waits: approval " + x.ApprovalID.String()
		case x.ApprovalID != nil:
			result = "ok: approval " + x.ApprovalID.String()
		}
		if x.Rule != "" {
			result += ": " + x.Rule
		}
		t.Row(c.Format(x.Ts, time.DateTime), cli.ID(x.Seq), by, x.Operation, order, result)
	}
	if err := t.Print(out, "No activity."); err != nil || l.Cursor == "" {
		return err
	}
	_, err = fmt.Fprintf(out, "\nOlder: %s agent activity %s --cursor %s%s\n", cli.CommandName(), a.Name, cli.ShellWord(l.Cursor), p.flags)
	return err
}

func printText(out io.Writer, text []byte, err error) error {
	if err != nil {
		return err
	}
	return cli.PrintJSON(out, text)
}

func (c *fund) Help() string {
	return `Example:
  dx agent fund bot 25`
}

func (c *fund) Run(ctx context.Context, out io.Writer) error { return c.move(ctx, out, "fund", "to") }

func (c *withdraw) Help() string {
	return `Only free cash moves: what orders reserve and what contracts cost stays.

Example:
  dx agent return bot 25`
}

func (c *withdraw) Run(ctx context.Context, out io.Writer) error {
	return c.move(ctx, out, "return", "from")
}

// transferBody and mandateBody are the bodies of requests whose path names the agent.
type (
	transferBody struct {
		ClientTransferID string      `json:"client_transfer_id"`
		Amount           schemas.U64 `json:"amount"`
	}
	mandateBody struct {
		IfRev   uint32          `json:"if_rev"`
		Mandate schemas.Mandate `json:"mandate"`
	}
)

// move transfers money between the owner and the agent.
func (c *transferCmd) move(ctx context.Context, out io.Writer, what, direction string) error {
	p, a, err := c.open(ctx)
	if err != nil {
		return err
	}
	c.ID = cmp.Or(c.ID, fmt.Sprintf("dx-%d", time.Now().UnixNano()))
	text, err := p.do(ctx, "POST", agentPath(a.UserID, what), transferBody{c.ID, schemas.U64(c.Amount)}, nil)
	var refused *portalError
	switch {
	case errors.As(err, &refused) && schemas.ErrorInfoOf(refused.Code).Retry == schemas.Never:
		return err
	case err != nil:
		return fmt.Errorf("%w\nThe money may have moved. To be sure, repeat the command with --id %s: it moves the money at most once", err, c.ID)
	case c.JSON:
		return cli.PrintJSON(out, text)
	}
	_, err = fmt.Fprintf(out, "Moved %s %s %s.\n", c.Amount, direction, a.Name)
	return err
}

func (c *mandate) Help() string {
	return `Without a bound it shows the mandate. With bounds it changes these and keeps the others; --preset replaces all of them, and --remove removes single ones. A new mandate applies to orders placed after it: resting orders can still fill, so halt the agent first if that matters. It never applies to what the agent holds.

Examples:
  dx agent mandate bot
  dx agent mandate bot --max-daily-loss 10 --expires 24h
  dx agent mandate bot --remove series,collar
  dx agent mandate bot --preset careful`
}

func (c *mandate) Run(ctx context.Context, out io.Writer) error {
	change := c.given() || len(c.Remove) > 0
	var none schemas.Mandate
	for _, flag := range c.Remove {
		if !removeBound(&none, flag) {
			return cli.BadFlag("remove", fmt.Errorf("no bound has a flag --%s", strings.TrimPrefix(flag, "--")))
		}
	}
	if err := c.apply(&none, time.Now()); err != nil { // before anything is sent
		return err
	}
	p, a, err := c.open(ctx)
	if err != nil {
		return err
	}
	m, err := p.mandate(ctx, a.UserID)
	if err != nil {
		return err
	}
	if change {
		if m, err = c.replace(ctx, p, a, m); err != nil {
			return err
		}
	}
	if c.JSON {
		return cli.PrintResult(out, m, nil)
	}
	return printMandate(out, a.Name, m, c.Zone)
}

// replace changes the mandate, unless it was changed since it was read.
func (c *mandate) replace(ctx context.Context, p *portal, a *schemas.Agent, m *schemas.AgentMandate) (*schemas.AgentMandate, error) {
	next := *m
	if err := c.apply(&next.Mandate, time.Now(), c.Remove...); err != nil {
		return nil, err
	}
	var done schemas.AgentCreated
	_, err := p.do(ctx, "PUT", agentPath(a.UserID, "mandate"), mandateBody{m.Rev, next.Mandate}, &done)
	next.Rev = done.Rev
	return &next, err
}

func (c *halt) Help() string {
	return `Cancels the agent's resting orders in the same step. Its positions stay until they settle, and it can still cancel, redeem and read. dx agent resume ends it.

Examples:
  dx agent halt bot
  dx agent halt --all`
}

func (c *halt) Run(ctx context.Context, out io.Writer) error {
	if (c.Name == "") != c.All {
		return cli.BadFlag("all", errors.New("name an agent, or use --all for all of them"))
	}
	if !c.All {
		one := agentCmd{c.ownerFlags, c.Name}
		return one.change(ctx, out, "halt")
	}
	p, err := c.portal()
	if err != nil {
		return err
	}
	open, err := p.open(ctx, false)
	if err != nil {
		return err
	}
	var failed []error
	for i := range open { // one that fails must not keep the others from being halted
		if err := c.changeState(ctx, out, p, &open[i], "halt"); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", open[i].Name, err))
		}
	}
	return errors.Join(failed...)
}

func (c *resume) Run(ctx context.Context, out io.Writer) error { return c.change(ctx, out, "resume") }

func (c *close) Help() string {
	return `Closing is final, and the name is not used again. It halts the agent, revokes all its keys and moves its free cash to you. Contracts stay until they settle, and then their payout moves to you too.`
}

func (c *close) Run(ctx context.Context, out io.Writer) error { return c.change(ctx, out, "close") }

// change halts, resumes or closes the agent.
func (c *agentCmd) change(ctx context.Context, out io.Writer, what string) error {
	p, a, err := c.open(ctx)
	if err != nil {
		return err
	}
	return c.changeState(ctx, out, p, a, what)
}

func (o *ownerFlags) changeState(ctx context.Context, out io.Writer, p *portal, a *schemas.Agent, what string) error {
	var done schemas.AgentState
	text, err := p.do(ctx, "POST", agentPath(a.UserID, what), nil, &done)
	if err != nil || o.JSON {
		return printText(out, text, err)
	}
	_, err = fmt.Fprintf(out, "%s is %s.\n", a.Name, done.State)
	return err
}
