package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// Commands is `dx admin`. Each command sends one request to the admin listener.
type Commands struct {
	Users        adminUsers        `cmd:"" help:"List the accounts."`
	User         adminUser         `cmd:"" help:"Show one account: money, positions, orders, keys, withdrawals; or its ledger or activity."`
	Search       adminSearch       `cmd:"" help:"Find accounts by a part of the name, an API key, an order id or a user_id."`
	CreateUser   adminCreateUser   `cmd:"" help:"Open an account. Its token is shown once."`
	CreateKey    adminCreateKey    `cmd:"" help:"Make a key of an account. Its secret is shown once."`
	RevokeKey    adminRevokeKey    `cmd:"" help:"Revoke a key of an account."`
	ResetToken   adminResetToken   `cmd:"" help:"Replace the token of an account. The new one is shown once."`
	CancelOrders adminCancelOrders `cmd:"" help:"Cancel every resting order of an account."`
	Deposit      adminDeposit      `cmd:"" help:"Credit an account. The same deposit id again changes nothing."`
	Suspend      adminSuspend      `cmd:"" help:"Suspend an account: it can cancel orders but not place them."`
	Resume       adminResume       `cmd:"" help:"End a suspension."`
	Feeds        adminFeeds        `cmd:"" help:"Show every feed with its sources."`
	Markets      adminMarkets      `cmd:"" help:"Show the rounds that are not over, first those that need a decision."`
	Pause        adminPause        `cmd:"" help:"Pause a market: orders can be canceled but not placed."`
	Unpause      adminUnpause      `cmd:"" help:"End a market's pause."`
	Void         adminVoid         `cmd:"" help:"Void a market's round: each contract pays 5000 pips ($0.50)."`
	Propose      adminPropose      `cmd:"" help:"Propose the settlement price of a frozen or proposed round."`
	Fees         adminFees         `cmd:"" help:"Replace the fee schedule."`
	Schedule     adminSchedule     `cmd:"" help:"Replace the schedule of planned windows."`
	Withdrawals  adminWithdrawals  `cmd:"" help:"List the withdrawals of all accounts."`
	Approve      adminApprove      `cmd:"" help:"Approve a pending withdrawal: it is to be paid."`
	Send         adminSend         `cmd:"" help:"Note that an approved withdrawal is paid, and by which payment."`
	Complete     adminComplete     `cmd:"" help:"Complete a withdrawal whose payment has arrived, or a pending one that was paid by hand."`
	Fail         adminFail         `cmd:"" help:"Note that the payment of a withdrawal failed, and return its amount."`
	Reject       adminReject       `cmd:"" help:"Reject a withdrawal that is not paid, and return its amount."`
	Tick         adminTick         `cmd:"" help:"Post the price of a source."`
	Snapshot     adminSnapshot     `cmd:"" help:"Write a snapshot now."`
	Audit        adminAudit        `cmd:"" help:"List the actions of operators and accounts, newest first, with seq, who and why."`
	Operator     adminOperator     `cmd:"" help:"Add, list or revoke named operators."`
	Approvals    adminApprovals    `cmd:"" help:"List, approve or reject the actions that wait for a second operator."`
	Whoami       adminWhoami       `cmd:"" help:"Show the operator of the token, with role, actions and the limit of two-person approval."`
	State        adminState        `cmd:"" help:"Show the venue's seq and state hash, and the terms of the money invariant in pips."`
}

func (Commands) Help() string {
	return `Prints the response: on a terminal as tables with money in dollars, elsewhere and with --json as one line of JSON with money in pips. Address and token come from DX_ADMIN_URL and DX_OPERATOR_TOKEN, or from the dev file; the token of a named operator puts that name into the audit. Amounts in commands are in dollars, or in pips with the unit: 10000pips are $1. The journal keeps --reason with the action. A role that does not allow the action gets missing_scope. With --four-eyes some actions print an approval_id, and are executed when another operator approves it.

Examples:
  dx admin create-user alice
  dx admin deposit 7 10000 --id bank-2291
  dx admin create-key 7 --scopes read,trade
  dx admin pause 3 --reason "the source is wrong"
  dx admin operator add alice --role treasurer
  dx admin withdrawals --status pending
  dx admin approve 2291
  dx admin send 2291 --reference bank-88
  dx admin approvals approve 4711
  dx admin audit --user 7
  dx admin state`
}

// operatorFlags name the venue, its operator, and the reason for an action.
type operatorFlags struct {
	cli.Zone
	Reason        string `help:"Reason, for the audit." placeholder:"TEXT"`
	Admin         string `help:"Address of the admin listener. Default: the address in the dev file." env:"DX_ADMIN_URL" placeholder:"URL"`
	OperatorToken string `type:"secret" env:"DX_OPERATOR_TOKEN" hidden:"" help:"The operator's bearer token, in the environment."`
	DevFile       string `help:"The file that dx dev writes." default:".dx/dev.json" type:"path" env:"DX_DEV_FILE"`
	JSON          bool   `help:"Print the venue's answer as JSON, also on a terminal."`
}

func (o *operatorFlags) auditReason() schemas.AuditReason {
	return schemas.AuditReason{Reason: o.Reason}
}

// request sends one request and prints the response: for people on a terminal, else as JSON. An error of
// the venue is explained.
func (o *operatorFlags) request(ctx context.Context, out io.Writer, method, path string, body any) error {
	text, err := o.response(ctx, method, path, body)
	switch {
	case err != nil:
		return err
	case o.JSON || !cli.IsTerminal(out):
		_, err = fmt.Fprintf(out, "%s\n", text)
		return err
	}
	return layout{o.Zone, time.Now()}.print(out, text)
}

// response sends one request and returns the response. An error of the venue is explained.
func (o *operatorFlags) response(ctx context.Context, method, path string, body any) ([]byte, error) {
	base, token := o.Admin, o.OperatorToken
	switch { // the dev file's belong together, or a command would act on another venue than the one named
	case base == "" && token != "":
		return nil, cli.BadFlag("admin", errors.New("DX_OPERATOR_TOKEN is set, so the address of its venue is needed, here or in DX_ADMIN_URL"))
	case base != "" && token == "":
		return nil, cli.BadFlag("admin", errors.New("requires the token of its operator in DX_OPERATOR_TOKEN"))
	case base == "":
		dev, err := cli.ReadDevFile(o.DevFile)
		if err != nil {
			return nil, fmt.Errorf("no DX_ADMIN_URL and DX_OPERATOR_TOKEN, and no venue started here: %w", err)
		}
		base, token = dev.Admin, dev.OperatorToken
	}
	return send(ctx, base, token, method, path, body)
}

// send sends one request to the admin listener at base and returns the response.
func send(ctx context.Context, base, token, method, path string, body any) ([]byte, error) {
	var sent []byte
	if body != nil {
		var err error
		if sent, err = schemas.Append(nil, body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, base+"/admin"+path, bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		return bytes.TrimSpace(text), nil
	}
	var failed schemas.ErrorBody
	if err := json.Unmarshal(text, &failed); err != nil || failed.Error.Code == "" {
		return nil, fmt.Errorf("%d %s", resp.StatusCode, text)
	}
	return nil, &venueError{resp.StatusCode, failed.Error}
}

// venueError is an error of the venue, which its text explains.
type venueError struct {
	status int
	wire   schemas.Error
}

func (e *venueError) Error() string {
	m := schemas.ErrorInfoOf(e.wire.Code)
	text := m.Means + " " + m.Next
	if e.wire.Details != nil && (*e.wire.Details)["reason"] != "" {
		d := *e.wire.Details
		up, unknown := strconv.Atoi(d["up"])
		voters, _ := strconv.Atoi(d["voters"]) // with up
		switch {
		case e.wire.Code != "shed":
			text = d["reason"]
		case unknown == nil && up <= voters/2:
			text = fmt.Sprintf("no leader: %d of %d members %s up. Start the others; if their data are lost for good, see dx cluster recover.", up, voters, isOrAre(up))
		case d["reason"] == "joining":
			text = "this member is joining: it waits until a majority of the members is there, or copies what it lacks. Start those that are down, or ask another one."
		case d["reason"] != "busy":
			text = fmt.Sprintf("this member is %s: ask another one, and see dx cluster status.", d["reason"])
		}
	}
	return fmt.Sprintf("%s (%d): %s", e.wire.Code, e.status, text)
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// pageFlags choose a page of a list.
type pageFlags struct {
	operatorFlags
	Limit  int    `help:"Rows per page, 1 to 1000." default:"100" within:"1,1000"`
	Cursor string `help:"Cursor of the previous page." placeholder:"CURSOR"`
}

// printPage requests a page of a list and prints it.
func (l *pageFlags) printPage(ctx context.Context, out io.Writer, path string, q url.Values) error {
	q.Set("limit", strconv.Itoa(l.Limit))
	if l.Cursor != "" {
		q.Set("cursor", l.Cursor)
	}
	return l.request(ctx, out, "GET", path+"?"+q.Encode(), nil)
}

type (
	adminUsers struct{ pageFlags }
	adminAudit struct {
		pageFlags
		Who    string `help:"Only actions of an operator by name, or of operator (the shared token), account, dx or dx dev." placeholder:"WHO"`
		Action string `help:"Only this action, such as suspend_user." placeholder:"NAME"`
		User   uint32 `help:"Only actions about this account." placeholder:"ID"`
	}

	adminCreateUser struct {
		operatorFlags
		Name     string `arg:"" help:"1 to 64 characters."`
		Referrer *int64 `help:"The account that referred this one." placeholder:"ID"`
	}
	adminCreateKey struct {
		operatorFlags
		User   uint32   `arg:"" help:"user_id."`
		Scopes []string `help:"Any of read, trade and withdraw." default:"read,trade"`
		Label  string   `help:"Label in the list of keys."`
	}
	adminDeposit struct {
		operatorFlags
		User   uint32     `arg:"" help:"user_id."`
		Amount cli.Credit `arg:"" help:"Dollars, such as 500 or 2.50, or pips, such as 5000000pips. A whole number from 1000000 on must show its unit: 1000000.00."`
		ID     string     `name:"id" required:"" help:"deposit_id, unique in the venue, such as a reference of the bank." placeholder:"ID"`
	}
	adminSuspend  struct{ accountAction }
	adminResume   struct{ accountAction }
	adminPause    struct{ marketAction }
	adminUnpause  struct{ marketAction }
	adminVoid     struct{ marketAction }
	adminApprove  struct{ withdrawalAction }
	adminComplete struct{ withdrawalAction }
	adminFail     struct{ withdrawalAction }
	adminReject   struct{ withdrawalAction }
	adminSend     struct {
		withdrawalAction
		Reference string `required:"" help:"Of the payment, such as its number at the bank." placeholder:"REF"`
	}

	adminPropose struct {
		marketAction
		Price uint64 `arg:"" help:"Price times 1e8: 65000.00 is 6500000000000."`
	}
	adminFees struct {
		operatorFlags
		Maker    int64 `help:"Maker rate in 1/10000." required:""`
		Taker    int64 `help:"Taker rate in 1/10000." required:""`
		Rebate   int64 `help:"Percentage of the taker fee that the maker gets." default:"0"`
		Referral int64 `help:"Percentage of the taker fee that the taker's referrer gets." default:"0"`
	}
	adminTick struct {
		operatorFlags
		Feed   cli.Feed `arg:"" help:"BTC, gold or WTI, or the number of the feed."`
		Source string   `arg:"" help:"Name of the source."`
		Price  uint64   `arg:"" help:"Price times 1e8."`
	}
	adminSnapshot struct{ operatorFlags }
	adminState    struct{ operatorFlags }
	adminWhoami   struct{ operatorFlags }

	accountAction struct {
		operatorFlags
		User uint32 `arg:"" help:"user_id."`
	}
	marketAction struct {
		operatorFlags
		Market string `arg:"" help:"market_id, or a series such as btc-15m, which names its round that is not over." predictor:"series"`
	}
	withdrawalAction struct {
		operatorFlags
		Withdrawal uint64 `arg:"" help:"withdrawal_id."`
	}
)

func (c *adminUsers) Run(ctx context.Context, out io.Writer) error {
	return c.printPage(ctx, out, "/users", url.Values{})
}

func (c *adminAudit) Run(ctx context.Context, out io.Writer) error {
	q := url.Values{}
	if c.Who != "" {
		q.Set("who", c.Who)
	}
	if c.Action != "" {
		q.Set("action", c.Action)
	}
	if c.User != 0 {
		q.Set("user_id", strconv.FormatUint(uint64(c.User), 10))
	}
	return c.printPage(ctx, out, "/audit", q)
}

func (c *adminCreateUser) Run(ctx context.Context, out io.Writer) error {
	body := schemas.CreateUser{Name: c.Name, AuditReason: c.auditReason()}
	if c.Referrer != nil {
		body.ReferrerID = schemas.Ptr(schemas.Int(*c.Referrer))
	}
	return c.request(ctx, out, "POST", "/users", body)
}

func (c *adminCreateKey) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "POST", fmt.Sprintf("/users/%d/keys", c.User), struct {
		Label  string   `json:"label,omitzero"`
		Scopes []string `json:"scopes,omitempty"`
		schemas.AuditReason
	}{c.Label, c.Scopes, c.auditReason()})
}

func (c *adminDeposit) Run(ctx context.Context, out io.Writer) error {
	if c.ID == "" {
		return cli.BadFlag("id", errors.New("must not be empty"))
	}
	return c.request(ctx, out, "POST", fmt.Sprintf("/users/%d/deposits", c.User), struct {
		DepositID string      `json:"deposit_id"`
		Amount    schemas.U64 `json:"amount"`
		schemas.AuditReason
	}{c.ID, schemas.U64(c.Amount), c.auditReason()})
}

func (c *adminSuspend) Run(ctx context.Context, out io.Writer) error {
	return c.post(ctx, out, "suspend")
}
func (c *adminResume) Run(ctx context.Context, out io.Writer) error {
	return c.post(ctx, out, "resume")
}

func (c *accountAction) post(ctx context.Context, out io.Writer, what string) error {
	return c.request(ctx, out, "POST", fmt.Sprintf("/users/%d/%s", c.User, what), c.auditReason())
}

func (c *adminPause) Run(ctx context.Context, out io.Writer) error { return c.post(ctx, out, "pause") }
func (c *adminUnpause) Run(ctx context.Context, out io.Writer) error {
	return c.post(ctx, out, "resume")
}
func (c *adminVoid) Run(ctx context.Context, out io.Writer) error { return c.post(ctx, out, "void") }

func (c *marketAction) post(ctx context.Context, out io.Writer, what string) error {
	market, err := c.marketID(ctx)
	if err != nil {
		return err
	}
	return c.request(ctx, out, "POST", fmt.Sprintf("/markets/%d/%s", market, what), c.auditReason())
}

// marketID returns the market that the argument names. Two rounds of a series may not be over: then it is
// an error that has both, because they are not alike to an operator.
func (c *marketAction) marketID(ctx context.Context) (uint32, error) {
	if id, err := cli.ParseUint(c.Market, 32); err == nil {
		return uint32(id), nil
	}
	name := strings.ToLower(c.Market)
	text, err := c.response(ctx, "GET", "/markets", nil)
	if err != nil {
		return 0, err
	}
	var list schemas.AdminMarkets
	if err := json.Unmarshal(text, &list); err != nil {
		return 0, err
	}
	var found []schemas.AdminMarket
	var rounds, all []string
	for _, m := range list.Markets {
		if all = append(all, m.Series); m.Series == name {
			found, rounds = append(found, m), append(rounds, fmt.Sprintf("market %d (%s)", m.MarketID, m.Status))
		}
	}
	switch len(found) {
	case 1:
		return found[0].MarketID, nil
	case 0:
		return 0, fmt.Errorf("%q is neither a market_id nor a series with a round that is not over: %s", c.Market, strings.Join(slices.Compact(slices.Sorted(slices.Values(all))), ", "))
	}
	return 0, fmt.Errorf("%s has several rounds that are not over: name %s", name, strings.Join(rounds, " or "))
}

func (c *adminPropose) Run(ctx context.Context, out io.Writer) error {
	market, err := c.marketID(ctx)
	if err != nil {
		return err
	}
	return c.request(ctx, out, "POST", fmt.Sprintf("/markets/%d/propose", market), struct {
		SettlePrice schemas.U64 `json:"settle_price"`
		schemas.AuditReason
	}{schemas.U64(c.Price), c.auditReason()})
}

func (c *adminFees) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "PUT", "/fees", schemas.SetFees{
		MakerRate: schemas.Int(c.Maker), TakerRate: schemas.Int(c.Taker), MakerRebatePct: schemas.Int(c.Rebate), ReferralPct: schemas.Int(c.Referral), AuditReason: c.auditReason(),
	})
}

func (c *adminApprove) Run(ctx context.Context, out io.Writer) error {
	return c.post(ctx, out, "approve")
}
func (c *adminSend) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "POST", fmt.Sprintf("/withdrawals/%d/send", c.Withdrawal), struct {
		Reference string `json:"reference"`
		schemas.AuditReason
	}{c.Reference, c.auditReason()})
}
func (c *adminComplete) Run(ctx context.Context, out io.Writer) error {
	return c.post(ctx, out, "complete")
}
func (c *adminFail) Run(ctx context.Context, out io.Writer) error {
	return c.post(ctx, out, "fail")
}
func (c *adminReject) Run(ctx context.Context, out io.Writer) error {
	return c.post(ctx, out, "reject")
}

func (c *withdrawalAction) post(ctx context.Context, out io.Writer, what string) error {
	return c.request(ctx, out, "POST", fmt.Sprintf("/withdrawals/%d/%s", c.Withdrawal, what), c.auditReason())
}

func (c *adminTick) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "POST", "/oracle/ticks", schemas.Tick{Feed: schemas.Int(c.Feed.Number()), Source: c.Source, Price: schemas.U64(c.Price), AuditReason: c.auditReason()})
}

func (c *adminSnapshot) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "POST", "/snapshot", c.auditReason())
}

func (c *adminWhoami) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "GET", "/whoami", nil)
}

func (c *adminState) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "GET", "/state", nil)
}
