package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/core/engine"
	"duplex/core/journal"
)

// verifyCmd is `dx verify DIR`.
type verifyCmd struct {
	Dir     string `arg:"" type:"existingdir" help:"A venue's data directory, or its journal. The venue must be stopped."`
	NewMark bool   `help:"First write the journal's MARK anew, if it is lost or damaged and all else is whole."`
}

func (v *verifyCmd) Help() string {
	return `Replays the journal without changing it: chain and checksums, every checkpoint and snapshot hash on the way, the money after every command. Exits 1 and names the first seq that does not hold, with file and offset. What it finds whole, dx serve starts from, and what it refuses dx serve refuses.

Examples:
  dx verify .dx/venue
  dx verify dx-data/journal`
}

func (v *verifyCmd) Run(out io.Writer) error {
	dir := v.Dir
	if inner := filepath.Join(dir, "journal"); isDir(inner) {
		dir = inner
	}
	if !engine.HasJournal(dir) {
		return fmt.Errorf("%s: no journal here", v.Dir)
	}
	if v.NewMark {
		last, err := engine.NewMark(dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "a new MARK: group %d is the last that is there; of later ones, if there were any, nothing is left\n", last)
	}
	var show io.Writer
	if cli.IsTerminal(os.Stderr) {
		show = os.Stderr
	}
	p, err := replayed(dir, show)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "whole: %d commands in %d groups, up to seq %d\nstate hash %x\n", p.Commands, p.Groups, p.Seq, p.Hash)
	if p.Actions > 0 {
		fmt.Fprintf(out, "%d actions of operators and accounts, each with who and why\n", p.Actions)
	}
	if p.From > 0 {
		fmt.Fprintf(out, "replayed from the snapshot at seq %d\n", p.From)
	}
	if p.Snapshots > 0 {
		fmt.Fprintf(out, "%d snapshots agree\n", p.Snapshots)
	}
	for _, err := range p.Damaged {
		fmt.Fprintf(out, "an older snapshot is damaged, which no start needs; move it away: %v\n", err)
	}
	if p.Torn != nil {
		fmt.Fprintf(out, "a last group that was never whole, and never answered, ends it: %s, offset %d\n", p.Torn.File, p.Torn.Offset)
	}
	return nil
}

// replayed verifies the journal of dir and draws its progress on show, a terminal; nil
// draws nothing. The bar is gone when it returns, so that what is printed next has the
// line for itself.
func replayed(dir string, show io.Writer) (engine.Proof, error) {
	if show == nil {
		return engine.Verify(dir, nil)
	}
	b := progressBar{out: show, total: countGroups(dir)}
	defer b.clear()
	return engine.Verify(dir, b.update)
}

// countGroups counts what there is to replay. What is damaged ends the count; the replay
// names it.
func countGroups(dir string) (n uint64) {
	for _, err := range journal.Scan(dir, 0) {
		if err != nil {
			break
		}
		n++
	}
	return n
}

// progressBar shows on one line of a terminal how far a replay is.
type progressBar struct {
	out   io.Writer
	total uint64
	shown time.Time
}

func (b *progressBar) update(done uint64) {
	if done < b.total && time.Since(b.shown) < 100*time.Millisecond {
		return
	}
	b.shown, done = time.Now(), min(done, b.total)
	fmt.Fprintf(b.out, "\r%s %3d %% of %d groups", cli.Bar(int64(done), int64(b.total)), done*100/max(b.total, 1), b.total)
}

func (b *progressBar) clear() { fmt.Fprint(b.out, cli.ClearLine) }

func isDir(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.IsDir()
}
