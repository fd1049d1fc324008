package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/operator"
	"duplex/cmd/dx/top"
	"duplex/cmd/dx/trading"
)

// topCmd is `dx top`.
type topCmd struct {
	cli.ClientFlags
	cli.Zone
	Series        trading.SeriesFlag `help:"The series to select first, such as btc-15m." predictor:"series" placeholder:"NAME"`
	Admin         string             `help:"Address of the admin listener of a member, to show the members of a cluster. Default: the address in the dev file, with the venue of that file." env:"DX_ADMIN_URL" placeholder:"URL"`
	OperatorToken string             `type:"secret" env:"DX_OPERATOR_TOKEN" hidden:"" help:"The operator's bearer token, in the environment."`
}

func (t *topCmd) Help() string {
	return "Trade on a screen. Its keys and signs, which ? shows too:\n\n  " + strings.ReplaceAll(strings.TrimRight(top.Help(), "\n"), "\n", "\n  ") + `

Nothing is sent before you answer y or Enter to what it would do. A ticket without a limit is a market order that fills at most 2 cents beyond the best price. A ticket closes when its round ends.

The terminal needs 80 by 18 characters, and the screen uses all it has: from 110 columns there are the results of the series in full, from 150 bars and your positions, from 34 lines a chart of the index. There are no colors if NO_COLOR is set.

The operator of a cluster (DX_ADMIN_URL and DX_OPERATOR_TOKEN, or the dev file) also sees its members: role, state, seq, and how many groups of the log each is behind the newest that any of them has.

Examples:
  dx top
  dx top --series btc-60s
  dx top --as maker`
}

func (t *topCmd) Run(ctx context.Context, out io.Writer) error {
	if !cli.IsTerminal(out) || !cli.IsTerminal(os.Stdin) {
		return errors.New("dx top needs a terminal; dx watch prints the events, one line per message")
	}
	c, err := t.Client()
	if err != nil {
		return err
	}
	base, key, _, err := t.Resolve()
	if err != nil {
		return err
	}
	who := t.As
	if t.Key != "" {
		who = key
	}
	o := top.Options{Address: base, Account: who, Zone: t.Zone}
	if t.Series != "" {
		o.Series = int(t.Series.Category()) - 1
	}
	if admin, token := t.operator(); admin != "" {
		o.ReadMembers = func() top.MembersMsg { return readMembers(ctx, admin, token) }
	}
	return top.Run(ctx, c, o, os.Stdin, out)
}

// operator returns the admin listener and its token, or "" if they are not known. Those of the dev file
// belong to the venue of that file.
func (t *topCmd) operator() (admin, token string) {
	if t.Admin != "" && t.OperatorToken != "" {
		return t.Admin, t.OperatorToken
	}
	if t.Profile != "" || t.URL != "" {
		return "", ""
	}
	dev, err := cli.ReadDevFile(t.DevFile)
	if err != nil { // an operator's listener is optional
		return "", ""
	}
	return dev.Admin, dev.OperatorToken
}

// membersTimeout is above the time after which a member counts as down.
const membersTimeout = 10 * time.Second

func readMembers(ctx context.Context, admin, token string) top.MembersMsg {
	ctx, cancel := context.WithTimeout(ctx, membersTimeout)
	defer cancel()
	s, err := operator.ReadCluster(ctx, admin, token)
	if errors.Is(err, operator.ErrNoCluster) {
		return top.MembersMsg{Single: true}
	}
	return top.MembersMsg{Members: s.Members, Err: err}
}
