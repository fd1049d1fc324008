package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/trading"
	"duplex/core"
	"duplex/core/proof"
	"duplex/internal/atomicfile"
)

// proofCommands is `dx proof`.
type proofCommands struct {
	Write proofWriteCmd `cmd:"" default:"withargs" help:"Write the proof bundle of a settled round."`
	Check proofCheckCmd `cmd:"" help:"Check a proof bundle. It needs no venue and no journal."`
}

// proofWriteCmd is `dx proof ROUND`.
type proofWriteCmd struct {
	Round uint64 `arg:"" help:"round_number of a settled round."`
	Out   string `required:"" type:"path" help:"File to write, with mode 0600. An existing file must be the same bundle." placeholder:"FILE"`
	Data  string `help:"Data directory of the venue, or its journal." default:"dx-data" type:"path" env:"DX_DATA"`
}

func (p *proofWriteCmd) Help() string {
	return `Replays the journal without changing it, and copies every group that touched the round, with its chain, the round's ticks, fills, redemptions and payouts. The venue may be running. dx proof check and examples/python/check_proof.py recompute the round from the file alone.

The groups hold commands of other accounts. A bundle is for the operator and for auditors: give it to nobody else.

Examples:
  dx proof 12 --out round-12.proof
  dx proof 12 --data .dx/venue --out round-12.proof
  dx proof check round-12.proof`
}

func (p *proofWriteCmd) Run(out io.Writer) error {
	dir, err := journalIn(p.Data)
	if err != nil {
		return cli.BadFlag("data", err)
	}
	old, err := os.ReadFile(p.Out)
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.BadFlag("out", err)
	}
	if exists && !proof.IsBundle(old, p.Round) {
		return cli.BadFlag("out", fmt.Errorf("%s exists, and is not a bundle of round %d", cli.RelativePath(p.Out), p.Round))
	}
	show := progressTo(os.Stderr, dir)
	var report proof.Report
	var size int64
	err = atomicfile.WriteWith(p.Out, 0o600, func(f *os.File) error {
		if err := proof.Write(f, dir, p.Round, show.update); err != nil {
			return err
		}
		if size, err = f.Seek(0, io.SeekCurrent); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if report, err = proof.Check(f); err != nil {
			return fmt.Errorf("the journal does not prove round %d: %w", p.Round, err)
		}
		return sameAs(f, old, exists)
	})
	show.Clear()
	switch {
	case errors.Is(err, errUnchanged):
		fmt.Fprintf(out, "%s is this bundle already\n", cli.RelativePath(p.Out))
	case err != nil:
		return err
	default:
		fmt.Fprintf(out, "wrote %s: %s bytes\n", cli.RelativePath(p.Out), cli.Grouped(size))
	}
	printReport(out, &report)
	fmt.Fprintln(out, "The file holds commands of other accounts. It is for the operator and for auditors: give it to nobody else.")
	return nil
}

var errUnchanged = errors.New("the file has these bytes already")

// sameAs returns errUnchanged if f has the bytes old, another error if it has others, and nil if
// there were none.
func sameAs(f *os.File, old []byte, exists bool) error {
	if !exists {
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if bytes.Equal(b, old) {
		return errUnchanged
	}
	return cli.BadFlag("out", errors.New("the file exists, and is another bundle of this round"))
}

// proofCheckCmd is `dx proof check`.
type proofCheckCmd struct {
	File string `arg:"" type:"existingfile" help:"A bundle that dx proof has written."`
}

func (p *proofCheckCmd) Help() string {
	return `Recomputes a settled round from the file alone: the SHA-256 of the file, the chain of each group, each tick, fill and redemption from the command of its group, the strike, the settle price, the winner, and each payout to the pip. Exits with code 1 and names the first line that does not hold.

The chain values are those of the venue if a bundle that somebody else writes from a copy of the journal has the same SHA-256.

Examples:
  dx proof check round-12.proof`
}

func (p *proofCheckCmd) Run(out io.Writer) error {
	f, err := os.Open(p.File)
	if err != nil {
		return err
	}
	defer f.Close()
	report, err := proof.Check(f)
	if err != nil {
		return fmt.Errorf("%s: %w", cli.RelativePath(p.File), err)
	}
	printReport(out, &report)
	fmt.Fprintln(out, "agrees")
	return nil
}

func printReport(out io.Writer, r *proof.Report) {
	by := ""
	if r.ByOperator {
		by = ", given by an operator"
	}
	fmt.Fprintf(out, "round %d, %s, market %d, generation %d\n", r.Round, trading.SeriesName(r.Category), r.Market, r.Generation)
	fmt.Fprintf(out, "strike       %s\nsettle price %s%s; %d of %d s have a price\nwinner       %s\n", assetPrice(r.Strike), assetPrice(r.SettlePrice), by, r.Covered, r.Window, r.Winner)
	fmt.Fprintf(out, "payouts      %s to %s accounts for %s pairs, after %s fills\n", cli.FormatDollars(int64(r.Paid)), cli.Grouped(r.Accounts), cli.Grouped(r.Pairs), cli.Grouped(r.Fills))
	fmt.Fprintf(out, "groups       %s\n  first      %d, chain %x\n  last       %d, chain %x\n", cli.Grouped(r.Groups), r.First.Number, r.First.Chain, r.Last.Number, r.Last.Chain)
	fmt.Fprintf(out, "SHA-256      %x\n", r.SHA256)
}

// assetPrice formats a price with all of its decimals.
func assetPrice(p core.Price) string { return fmt.Sprintf("%d.%08d", p/100_000_000, p%100_000_000) }
