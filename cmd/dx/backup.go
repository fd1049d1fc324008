package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"duplex/cmd/dx/cli"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/server"
)

// backupCmd is `dx backup DIR --to DIR2`.
type backupCmd struct {
	Dir string `arg:"" type:"existingdir" help:"Data directory of a venue. The venue may run."`
	To  string `required:"" type:"path" help:"Folder of the copy: a new one, or an earlier backup of the same venue, to which only what is new is copied."`
}

func (b *backupCmd) Help() string {
	return `Copies the journal and its snapshots, also while the venue runs, and verifies the copy as dx verify does. The copy ends with the newest group of commands that was complete. It has neither the master key nor the operator's token: keep these apart from it.

Examples:
  dx backup dx-data --to /backup/venue
  dx restore /backup/venue --data dx-data`
}

func (b *backupCmd) Run(ctx context.Context, out io.Writer) error {
	from, err := journalIn(b.Dir)
	if err != nil {
		return err
	}
	to := filepath.Join(b.To, "journal")
	if inside, err := isInside(b.To, b.Dir); err != nil || inside {
		return errors.Join(err, fmt.Errorf("--to %s is inside %s, with which it would be lost", b.To, b.Dir))
	}
	return copyAndVerify(ctx, out, from, to)
}

// restoreCmd is `dx restore DIR --data DIR2`.
type restoreCmd struct {
	Dir  string `arg:"" type:"existingdir" help:"A backup, or the folder of --archive-to."`
	Data string `required:"" type:"path" help:"Data directory for dx serve, which must have no journal yet."`
}

func (r *restoreCmd) Help() string {
	return `Copies a backup into a new data directory and verifies it. Then start dx serve --data with the master key of the time of the backup. The command says up to which seq the copy reaches; what the venue confirmed after that is lost.

Example:
  dx restore /backup/venue --data dx-data`
}

func (r *restoreCmd) Run(ctx context.Context, out io.Writer) error {
	from, err := journalIn(r.Dir)
	if err != nil {
		return err
	}
	to := filepath.Join(r.Data, "journal")
	if engine.HasJournal(to) {
		return fmt.Errorf("%s has a journal already; move it away first", r.Data)
	}
	if err := copyAndVerify(ctx, out, from, to); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "start it with the master key of that time: %s serve --data %s\n", cli.CommandName(), cli.ShellWord(r.Data))
	return err
}

// copyAndVerify copies a journal and verifies the copy.
func copyAndVerify(ctx context.Context, out io.Writer, from, to string) error {
	result, err := journal.Copy(ctx, from, to, journal.CopyOptions{Other: []string{server.FingerprintFile, server.EnvironmentFile}})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "copied %s files, %.1f MB\n", cli.Grouped(result.Files), float64(result.Bytes)/1e6)
	show := progressTo(os.Stderr, to)
	p, err := engine.Verify(to, show.update)
	show.Clear()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "whole: %s groups replayed, up to seq %d\nstate hash %x\n", cli.Grouped(p.Groups), p.Seq, p.Hash)
	return err
}

// isInside reports whether a folder, which need not exist, is dir or inside it.
func isInside(folder, dir string) (bool, error) {
	outer, err := os.Stat(dir)
	if err != nil {
		return false, err
	}
	there := folder // what exists of it
	for _, err = os.Stat(there); errors.Is(err, os.ErrNotExist); _, err = os.Stat(there) {
		there = filepath.Dir(there)
	}
	if err != nil {
		return false, err
	}
	if there, err = filepath.EvalSymlinks(there); err != nil {
		return false, err
	}
	for {
		info, err := os.Stat(there)
		if err != nil || os.SameFile(info, outer) {
			return err == nil, err
		}
		if there == filepath.Dir(there) {
			return false, nil
		}
		there = filepath.Dir(there)
	}
}
