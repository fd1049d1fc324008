package main

import (
	"context"
	"errors"
	"io"
	"os"

	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/top"
)

// topCmd is `dx top`.
type topCmd struct{ cli.ClientFlags }

func (t *topCmd) Help() string {
	return `Up and down select a series, q quits. The terminal needs 80 by 24 characters. ▲ marks a price above the strike or a taker of YES, ▼ the opposite, * a level with an order of yours.

Examples:
  dx top
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
	return top.Run(ctx, c, base, who, os.Stdin, out)
}
