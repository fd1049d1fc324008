package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"duplex/cmd/dx/cli"
	"duplex/core/sim/day"
)

// sampleCmd is `dx sample`.
type sampleCmd struct {
	Data string `required:"" type:"path" help:"Data directory to write. It must not have a journal." placeholder:"DIR"`
	Seed uint64 `help:"Seed of prices and traders. The same seed gives the same journal." default:"1"`
}

func (s *sampleCmd) Help() string {
	return `Writes the journal of ` + day.Date + `, a UTC day of the three BTC series with a market maker and four traders, in some seconds. dx mirror rebuild, dx export, dx proof and dx verify read it as that of any venue that has stopped.

Examples:
  dx sample --data day
  dx mirror rebuild --data day
  dx export all --data day --format parquet --out day/export`
}

func (s *sampleCmd) Run(ctx context.Context, out io.Writer) error {
	show := cli.NewCounter(os.Stderr, "seconds of the day")
	r, err := day.Write(ctx, s.Data, s.Seed, show.Update)
	show.Clear()
	if errors.Is(err, fs.ErrExist) {
		return cli.BadFlag("data", fmt.Errorf("%s has a journal: name another directory", cli.RelativePath(s.Data)))
	}
	if ctx.Err() != nil {
		return errors.New("stopped; no journal stays")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "wrote a day of %d rounds to %s: %d commands in %d groups\n", r.Rounds, cli.RelativePath(s.Data), r.Seq, r.Groups)
	return err
}
