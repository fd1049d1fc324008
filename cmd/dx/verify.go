package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"duplex/arena"
	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
)

// verifyCmd is `dx verify DIR`.
type verifyCmd struct {
	Dir     string `arg:"" name:"path" type:"path" help:"Data directory of a venue, or its journal; the venue must be stopped. Or the folder of a run or a certification of dx arena, one bundle of it, or a certificate.json alone."`
	NewMark bool   `help:"First rewrite the journal's MARK if it is lost or damaged and everything else is intact."`
	Rules   bool   `help:"Rehearse an upgrade: replay the last day of the archive with this program, and fail if that compares no state."`
}

// rulesPeriod is what --rules replays.
const rulesPeriod = 24 * time.Hour

func (v *verifyCmd) Help() string {
	return `Replays the journal without changing it. Checks the hash chain and the checksums, the hash of every checkpoint and snapshot, and the money after every command. On damage it exits with code 1 and names the first bad seq, its file and its offset. dx serve starts from a journal if and only if dx verify accepts it.

With --rules it replays the last day and what comes after it, as a rehearsal of an upgrade: run the new program on a copy of the data, or on a stopped member. Members keep the archive of 25 h.

Of a run of dx arena it checks every file, replays every seed, and computes the report again; of a certification, the certificate; of one bundle, its manifest. Of a certificate.json alone it checks the digest: the file is whole, and its runs are not looked at.

Examples:
  dx verify .dx/venue
  dx verify dx-data/journal
  dx verify --rules dx-data
  dx verify .dx/arena/first
  dx verify certificate.json`
}

func (v *verifyCmd) Run(out io.Writer) error {
	f, err := os.Stat(v.Dir)
	if err != nil {
		return &arena.ConfigError{Err: err}
	}
	if !f.IsDir() {
		return v.verifyFile(out)
	}
	if arena.IsRun(v.Dir) || arena.IsCertification(v.Dir) || arena.IsBundle(v.Dir) {
		return v.verifyArena(out)
	}
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
	check := engine.Verify
	if v.Rules {
		check = func(dir string, each func(uint64)) (engine.Proof, error) {
			return engine.VerifyRules(dir, rulesPeriod, each)
		}
	}
	p, err := check(dir, show.update)
	show.Clear()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "whole: %s commands in %s groups, up to seq %d\nstate hash %x\n", cli.Grouped(p.Commands), cli.Grouped(p.Groups), p.Seq, p.Hash)
	if v.Rules {
		fmt.Fprintf(out, "the rules of revision %d give the same states: %d checkpoints and %d snapshots of %v; this program knows up to revision %d\n",
			p.Rules.Revision, p.Checkpoints, p.Snapshots, time.Duration(p.Ended-p.Began).Round(time.Second), core.RevisionNewest)
	}
	if p.Actions > 0 {
		fmt.Fprintf(out, "%s actions of operators and accounts, each with who and why\n", cli.Grouped(p.Actions))
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

// verifyFile verifies a certificate without its runs.
func (v *verifyCmd) verifyFile(out io.Writer) error {
	c, err := arena.ReadCertificate(v.Dir)
	if err != nil {
		return err
	}
	passed := 0
	for i := range c.Checks {
		if c.Checks[i].Passed {
			passed++
		}
	}
	_, err = fmt.Fprintf(out, "whole: %s by dx %s, %d of %d checks passed; the digest is as written. Its runs were not looked at: dx verify FOLDER replays them\n", verdictOf(c), c.Dx, passed, len(c.Checks))
	return err
}

func verdictOf(c *arena.Certificate) string {
	if c.Certified {
		return "certified"
	}
	return "not certified"
}

// verifyArena verifies what dx arena wrote: a run, a certification, both in one folder, or bundles of one
// of them.
func (v *verifyCmd) verifyArena(out io.Writer) error {
	if arena.IsRun(v.Dir) {
		show := cli.NewCounter(os.Stderr, "seeds")
		seeds, err := arena.Verify(v.Dir, func(done, total int) { show.Update(uint64(done), uint64(total)) })
		show.Clear()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "whole: %d seeds replayed; their hashes and every figure of the report are as written\n", seeds)
	}
	if arena.IsCertification(v.Dir) {
		show := cli.NewCounter(os.Stderr, "faults")
		c, err := arena.VerifyCertificate(v.Dir, func(done, total int) { show.Update(uint64(done), uint64(total)) })
		show.Clear()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "whole: every fault replayed; the hashes and the %d checks of the certificate are as written: %s\n", len(c.Checks), verdictOf(c))
	}
	if arena.IsRun(v.Dir) || arena.IsCertification(v.Dir) {
		return nil
	}
	show := cli.NewCounter(os.Stderr, "bundles")
	n, err := arena.VerifyBundles(v.Dir, func(done, total int) { show.Update(uint64(done), uint64(total)) })
	show.Clear()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "whole: %d bundles replayed; their files, setups and hashes are as in their manifests. A report or a certificate is compared in the folder that has it\n", n)
	return err
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

// progressTo returns a counter on out for a replay of the journal in dir.
func progressTo(out io.Writer, dir string) *replayProgress {
	p := &replayProgress{Counter: cli.NewCounter(out, "groups")}
	if p.To != nil {
		p.total = countGroups(dir)
	}
	return p
}

// replayProgress counts the groups of a replay.
type replayProgress struct {
	*cli.Counter
	total uint64
}

func (p *replayProgress) update(done uint64) { p.Update(done, p.total) }

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
