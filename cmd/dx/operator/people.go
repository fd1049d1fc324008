package operator

import (
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

type (
	adminUser struct {
		pageFlags
		User     uint32 `arg:"" help:"user_id."`
		Ledger   bool   `help:"Show the changes of its money instead, newest first." xor:"what"`
		Activity bool   `help:"Show its events instead, newest first." xor:"what"`
	}
	adminSearch struct {
		pageFlags
		Text string `arg:"" help:"Part of a name, an API key, an order id or a user_id."`
	}
	adminRevokeKey struct {
		operatorFlags
		User uint32 `arg:"" help:"user_id."`
		Key  string `arg:"" help:"API key."`
	}
	adminResetToken   struct{ accountAction }
	adminCancelOrders struct{ accountAction }
	adminFeeds        struct{ operatorFlags }
	adminMarkets      struct{ operatorFlags }
	adminWithdrawals  struct {
		pageFlags
		Status string `help:"Only pending (oldest first), completed or rejected." enum:",pending,completed,rejected" default:"" placeholder:"STATUS"`
	}
	adminSchedule struct {
		operatorFlags
		Window []string `help:"A planned window, as KIND,START,END with times such as 2026-11-24T10:00:00Z. Repeat it for several." sep:"none" placeholder:"WINDOW"`
		Clear  bool     `help:"Plan no window."`
	}

	// adminOperator is `dx admin operator`.
	adminOperator struct {
		Add    operatorAdd    `cmd:"" help:"Add an operator. The token is shown once."`
		List   operatorList   `cmd:"" help:"List the operators."`
		Revoke operatorRevoke `cmd:"" help:"Revoke an operator, whose token is then invalid."`
	}
	operatorAdd struct {
		operatorFlags
		Name string `arg:"" help:"Name that the audit shows: letters, digits and . _ @ -."`
		Role string `help:"viewer (reads), support (keys, tokens, orders, suspensions), treasurer (deposits, withdrawals), service (a funding service) or admin (everything)." required:"" enum:"viewer,support,treasurer,service,admin"`
	}
	operatorList   struct{ operatorFlags }
	operatorRevoke struct {
		operatorFlags
		Name string `arg:"" help:"Name of the operator."`
	}

	// adminApprovals is `dx admin approvals`.
	adminApprovals struct {
		List    approvalsList    `cmd:"" default:"withargs" help:"List the actions that wait, or were decided in the last 24 hours."`
		Approve approvalsApprove `cmd:"" help:"Approve the action of another operator, which executes it."`
		Reject  approvalsReject  `cmd:"" help:"Reject the action of another operator."`
	}
	approvalsList struct {
		pageFlags
		Status string `help:"Only pending, approved or rejected." enum:",pending,approved,rejected" default:"" placeholder:"STATUS"`
	}
	approvalsApprove struct{ approvalAction }
	approvalsReject  struct{ approvalAction }
	approvalAction   struct {
		operatorFlags
		Approval uint64 `arg:"" help:"approval_id."`
	}
)

func (c *adminUser) Run(ctx context.Context, out io.Writer) error {
	path := fmt.Sprintf("/users/%d", c.User)
	switch {
	case c.Ledger:
		return c.printPage(ctx, out, path+"/ledger", url.Values{})
	case c.Activity:
		return c.printPage(ctx, out, path+"/activity", url.Values{})
	}
	return c.request(ctx, out, "GET", path, nil)
}

func (c *adminSearch) Run(ctx context.Context, out io.Writer) error {
	return c.printPage(ctx, out, "/search", url.Values{"q": {c.Text}})
}

func (c *adminRevokeKey) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "DELETE", fmt.Sprintf("/users/%d/keys/%s", c.User, url.PathEscape(c.Key)), c.auditReason())
}

func (c *adminResetToken) Run(ctx context.Context, out io.Writer) error {
	return c.post(ctx, out, "token")
}

func (c *adminCancelOrders) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "DELETE", fmt.Sprintf("/users/%d/orders", c.User), c.auditReason())
}

func (c *adminFeeds) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "GET", "/feeds", nil)
}

func (c *adminMarkets) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "GET", "/markets", nil)
}

func (c *adminWithdrawals) Run(ctx context.Context, out io.Writer) error {
	return c.printPage(ctx, out, "/withdrawals", statusQuery(c.Status))
}

func statusQuery(status string) url.Values {
	q := url.Values{}
	if status != "" {
		q.Set("status", status)
	}
	return q
}

func (c *adminSchedule) Run(ctx context.Context, out io.Writer) error {
	if len(c.Window) == 0 && !c.Clear {
		return cli.BadFlag("window", errors.New("give at least one, or --clear"))
	}
	body := schemas.SetSchedule{Schedule: []schemas.Window{}, AuditReason: c.auditReason()}
	for _, text := range c.Window {
		w, err := parseWindow(text)
		if err != nil {
			return cli.BadFlag("window", err)
		}
		body.Schedule = append(body.Schedule, w)
	}
	return c.request(ctx, out, "PUT", "/schedule", body)
}

// parseWindow parses KIND,START,END.
func parseWindow(text string) (w schemas.Window, err error) {
	part := strings.Split(text, ",")
	if len(part) != 3 {
		return w, fmt.Errorf("%q is not KIND,START,END", text)
	}
	w.Kind = part[0]
	for i, to := range []*schemas.U64{&w.StartTs, &w.EndTs} {
		at, err := time.Parse(time.RFC3339, part[i+1])
		if err != nil {
			return w, fmt.Errorf("%q is not a time such as 2026-11-24T10:00:00Z", part[i+1])
		}
		*to = schemas.U64(at.UnixNano())
	}
	return w, nil
}

func (c *operatorAdd) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "POST", "/operators", schemas.AddOperator{Name: c.Name, Role: c.Role, AuditReason: c.auditReason()})
}

func (c *operatorList) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "GET", "/operators", nil)
}

func (c *operatorRevoke) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "DELETE", "/operators/"+url.PathEscape(c.Name), c.auditReason())
}

func (c *approvalsList) Run(ctx context.Context, out io.Writer) error {
	return c.printPage(ctx, out, "/approvals", statusQuery(c.Status))
}

func (c *approvalsApprove) Run(ctx context.Context, out io.Writer) error {
	return c.decide(ctx, out, "approve")
}

func (c *approvalsReject) Run(ctx context.Context, out io.Writer) error {
	return c.decide(ctx, out, "reject")
}

func (c *approvalAction) decide(ctx context.Context, out io.Writer, what string) error {
	return c.request(ctx, out, "POST", "/approvals/"+strconv.FormatUint(c.Approval, 10)+"/"+what, c.auditReason())
}
