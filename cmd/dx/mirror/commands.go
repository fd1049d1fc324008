package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/core/mirror"
)

// Commands is `dx mirror`.
type Commands struct {
	Status  status  `cmd:"" help:"Show how far the mirror is."`
	Check   check   `cmd:"" help:"Compare the rows of the mirror with a replay of the journal."`
	Rebuild rebuild `cmd:"" help:"Build the mirror anew from the journal."`
}

// status is `dx mirror status`.
type status struct{ source }

func (s *status) Help() string {
	return `Shows the last command whose rows are in the mirror, how far the journal is beyond it, and the first command that the mirror has.

Examples:
  dx mirror status --data dx-data
  DX_MIRROR=postgres://dx@localhost/dx dx mirror status --data dx-data`
}

func (s *status) Run(ctx context.Context, out io.Writer) error {
	o, err := s.options()
	if err != nil {
		return err
	}
	now, err := mirror.ReadStatus(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "seq       %d\ngroup     %d\nbehind    %s groups\n", now.Seq, now.At.Number, cli.Grouped(now.Last.Number-min(now.At.Number, now.Last.Number)))
	if now.At.Stamp > 0 {
		fmt.Fprintf(out, "stamp     %s\n", time.Unix(0, now.At.Stamp).UTC().Format(time.RFC3339Nano))
	}
	if now.Since > 0 {
		fmt.Fprintf(out, "since     seq %d; the journal no longer has what was before\n", now.Since)
	} else {
		fmt.Fprintln(out, "since     the first command")
	}
	older := ""
	if now.Schema < now.Newest {
		older = fmt.Sprintf("; older than %d, which this version of dx writes: the venue's next start, or dx mirror rebuild, brings it up to date", now.Newest)
	}
	_, err = fmt.Fprintf(out, "schema    %d%s\nchain     %x\n", now.Schema, older, now.At.Chain)
	return err
}

// errDifferent makes dx exit with 1.
var errDifferent = errors.New("the mirror differs from the journal: dx mirror rebuild builds it anew")

// check is `dx mirror check`.
type check struct {
	source
	Sample uint64 `help:"Compare one row in N; 1 compares all rows and their numbers." default:"1" placeholder:"N"`
}

func (c *check) Help() string {
	return `Replays the journal as far as the mirror is and compares the rows. It changes neither, and the venue may run. It exits with code 1 if a row differs, and names up to 20 of them.

Examples:
  dx mirror check --data dx-data
  dx mirror check --data dx-data --sample 1000`
}

func (c *check) Run(ctx context.Context, out io.Writer) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Sample < 1 {
		return cli.BadFlag("sample", errors.New("must be at least 1"))
	}
	bar := cli.NewCounter(os.Stderr, "groups")
	found, err := mirror.Check(ctx, o, c.Sample, bar.Update)
	bar.Clear()
	if err != nil {
		return err
	}
	for _, d := range found.Differences {
		fmt.Fprintln(out, d)
	}
	if len(found.Differences) > 0 {
		return errDifferent
	}
	_, err = fmt.Fprintf(out, "equal: %s rows, of seq %d to %d\n", cli.Grouped(found.Compared), found.From+1, found.To)
	return err
}

// rebuild is `dx mirror rebuild`.
type rebuild struct{ source }

func (r *rebuild) Help() string {
	return `Reads the journal from its first group, or from the oldest snapshot if the journal was trimmed, into a new database, and then puts that in the place of the old one. The venue may run; it continues with the new one within some seconds.

Example:
  dx mirror rebuild --data dx-data`
}

func (r *rebuild) Run(ctx context.Context, out io.Writer) error {
	o, err := r.options()
	if err != nil {
		return err
	}
	bar := cli.NewCounter(os.Stderr, "groups")
	since, seq, err := mirror.Rebuild(ctx, o, bar.Update)
	bar.Clear()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the mirror has every row up to seq %d\n", seq)
	if since > 0 {
		fmt.Fprintf(out, "it begins after seq %d, because the journal no longer has what was before\n", since)
	}
	return nil
}
