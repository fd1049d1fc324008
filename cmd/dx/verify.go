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
	Dir     string `arg:"" type:"existingdir" help:"Data directory of a venue, or its journal. The venue must be stopped."`
	NewMark bool   `help:"First rewrite the journal's MARK if it is lost or damaged and everything else is intact."`
}

func (v *verifyCmd) Help() string {
	return `Replays the journal without changing it. Checks the hash chain and the checksums, the hash of every checkpoint and snapshot, and the money after every command. On damage it exits with code 1 and names the first bad seq, its file and its offset. dx serve starts from a journal if and only if dx verify accepts it.

Examples:
  dx verify .dx/venue
  dx verify dx-data/journal`
}

func (v *verifyCmd) Run(out io.Writer) error {
	dir, err := journalIn(v.Dir)
	if err != nil {
		return err
	}
	if v.NewMark {
		last, err := engine.NewMark(dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "wrote a new MARK: group %d is the last one in the journal; later groups, if there were any, are lost\n", last)
	}
	show := progressTo(os.Stderr, dir)
	p, err := engine.Verify(dir, show.update)
	show.clear()
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
		fmt.Fprintf(out, "an older snapshot is damaged; no start needs it, so move it away: %v\n", err)
	}
	if p.Torn != nil {
		fmt.Fprintf(out, "the last group is incomplete and was never answered: %s, offset %d\n", p.Torn.File, p.Torn.Offset)
	}
	return nil
}

// countGroups counts the groups to replay. It stops at damage, which the replay reports.
func countGroups(dir string) (n uint64) {
	for _, err := range journal.Scan(dir, 0) {
		if err != nil {
			break
		}
		n++
	}
	return n
}

// progressTo returns a bar on out for a replay of the journal in dir. Without a terminal it shows
// nothing.
func progressTo(out io.Writer, dir string) *progressBar {
	if !cli.IsTerminal(out) {
		return &progressBar{out: io.Discard}
	}
	return &progressBar{out: out, total: countGroups(dir)}
}

// progressBar shows the progress of a replay on one line of a terminal.
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

// journalIn returns the folder of the journal in a venue's data directory, or dir itself if it
// is one.
func journalIn(dir string) (string, error) {
	inner := dir
	if j := filepath.Join(dir, "journal"); isDir(j) {
		inner = j
	}
	if !engine.HasJournal(inner) {
		return "", fmt.Errorf("%s: no journal here", dir)
	}
	return inner, nil
}

func isDir(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.IsDir()
}
