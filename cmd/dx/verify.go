package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"duplex/core/engine"
)

// verifyCmd is `dx verify DIR`.
type verifyCmd struct {
	Dir string `arg:"" type:"existingdir" help:"A venue's data directory, or its journal. The venue must be stopped."`
}

func (v *verifyCmd) Help() string {
	return "Replays the journal without changing it: chain and checksums, every checkpoint and snapshot hash on the way, the money after every command. Exits 1 and names the first seq that does not hold."
}

func (v *verifyCmd) Run(out io.Writer) error {
	dir := v.Dir
	if inner := filepath.Join(dir, "journal"); isDir(inner) {
		dir = inner
	}
	if !isDir(filepath.Join(dir, "log")) {
		return fmt.Errorf("%s: no journal here", v.Dir)
	}
	progress := func(uint64) {}
	if terminal(out) {
		progress = func(done uint64) {
			if done%1000 == 0 {
				fmt.Fprintf(out, "\r%d groups", done)
			}
		}
	}
	p, err := engine.Verify(dir, progress)
	if err != nil {
		return err
	}
	if terminal(out) {
		fmt.Fprint(out, "\r")
	}
	fmt.Fprintf(out, "whole: %d commands in %d groups, up to seq %d\nstate hash %x\n", p.Commands, p.Groups, p.Seq, p.Hash)
	if p.From > 0 {
		fmt.Fprintf(out, "replayed from the snapshot at seq %d\n", p.From)
	}
	if p.Snapshots > 0 {
		fmt.Fprintf(out, "%d snapshots agree\n", p.Snapshots)
	}
	if p.Torn != nil {
		fmt.Fprintf(out, "a last group that was never whole, and never answered, ends it: %s, offset %d\n", p.Torn.File, p.Torn.Offset)
	}
	return nil
}

func isDir(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.IsDir()
}
