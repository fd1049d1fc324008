package arena

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"duplex/core"
	"duplex/internal/atomicfile"
)

// standardFaults are the runs of a certification: the first without a fault, each other with one.
var standardFaults = []string{
	noFault, lostAnswer, lostRequest, lateAnswer + " 500", duplicate, refused + " shed", refused + " rate_limited",
	staleIndex + " 10", pauseMarket, restartVenue, revokeKey + " 90s", socketCut,
}

// Limits of a certification (docs/guides/arena.md#certify).
const (
	intentWindow    = 10 * core.NsPerSec // in which an order after a lost answer counts as the same intent
	recoverWithin   = 10 * core.NsPerSec
	staleAfter      = 5 * core.NsPerSec
	tradesAround    = 30 * core.NsPerSec // of a stale index, for an agent that trades at that time
	violationShare  = 0.01
	requestsRevoked = 1
)

// Check is one check of a certification.
type Check struct {
	Fault     string   `json:"fault"`
	Seat      string   `json:"seat"`
	Check     string   `json:"check"`
	Exercised int      `json:"exercised"` // how often the seat did what the check is about
	Passed    bool     `json:"passed"`    // false if that is 0
	Found     string   `json:"found"`
	Evidence  []uint64 `json:"evidence"` // seqs
}

// notExercised reports whether a check found no fault, because there was nothing to check.
func (c *Check) notExercised() bool { return c.Found == notExercised }

const notExercised = "not exercised"

// Certificate is the result of a certification.
type Certificate struct {
	SetupHash string             `json:"setup_hash"`
	Certified bool               `json:"certified"`
	Dx        string             `json:"dx"`      // version of the program that made it
	Rounds    int                `json:"rounds"`  // of each run
	Digests   map[string]*string `json:"digests"` // of the seats that were tested
	Checks    []Check            `json:"checks"`
	SHA256    string             `json:"sha256"` // of this file with sha256 ""
}

// newCertificate returns a certificate without checks of the seats of a setup.
func newCertificate(c *Config, v Versions, digests []*string) *Certificate {
	out := &Certificate{SetupHash: setupWithoutFaults(c, v), Dx: v.Dx, Digests: map[string]*string{}, Checks: []Check{}, Rounds: c.Rounds}
	for i := range c.Seats {
		if c.Seats[i].Command != "" {
			out.Digests[c.Seats[i].Name] = digests[i]
		}
	}
	return out
}

// Certify runs the first seed of the config once with each fault of the standard set on every seat
// that is a process, and checks how the seats handle it.
func Certify(ctx context.Context, c *Config, o Options, progress func(done, total int)) (*Certificate, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.closing = true
	if c.sealed != "" {
		return nil, badConfig("seeds %s: a certification needs no secret; name one seed", c.Seeds)
	}
	tested := 0
	for i := range c.Seats {
		if c.Seats[i].Command != "" {
			tested++
		}
	}
	if tested == 0 {
		return nil, badConfig("no seat has a command: there is no agent to certify")
	}
	faults := o.faults
	if faults == nil {
		faults = standardFaults
	}
	for _, text := range faults {
		if err := checkReplaceable(faultDir(o.Dir, text)); err != nil {
			return nil, err
		}
	}
	lock, err := lockRun(o.Dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	// The certificate of an earlier certification is not that of the bundles that replace its own.
	if err := os.Remove(filepath.Join(o.Dir, certificateName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	digests, err := c.digests()
	if err != nil {
		return nil, err
	}
	out := newCertificate(c, versions(o.Version), digests)
	active := map[string]bool{}
	for i, text := range faults {
		one := *c
		one.Solo, one.Seats = false, append([]Seat{}, c.Seats...)
		for k := range one.Seats {
			one.Seats[k].faults, one.Seats[k].Faults = nil, nil
			if one.Seats[k].Command == "" || text == noFault {
				continue
			}
			f, err := parseFault(text)
			if err != nil {
				return nil, err
			}
			one.Seats[k].faults, one.Seats[k].Faults = []fault{f}, []string{text}
		}
		dir := faultDir(o.Dir, text)
		o.misleads = text == noFault
		if err := runFault(ctx, &one, dir, digests, &o); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		checks, err := checkBundle(dir, text, active)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		out.Checks = append(out.Checks, checks...)
		if progress != nil {
			progress(i+1, len(faults))
		}
	}
	b, err := out.finish()
	if err != nil {
		return nil, err
	}
	return out, atomicfile.Write(filepath.Join(o.Dir, certificateName), b)
}

// runFault runs the first seed of a config into a bundle.
func runFault(ctx context.Context, c *Config, dir string, digests []*string, o *Options) error {
	now, err := c.digests()
	if err != nil {
		return err
	}
	if !slices.EqualFunc(now, digests, equalText) {
		return badConfig("the agents were changed during the certification")
	}
	// The manifest goes first: without it what is left of a bundle counts as incomplete.
	if err = os.Remove(filepath.Join(dir, manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err = os.RemoveAll(dir); err != nil {
		return err
	}
	m, err := playSeed(ctx, c, draw{seed: c.seeds[0]}, dir, seatsOf(c, 0), digests, o, nil)
	if err != nil {
		return err
	}
	return writeManifest(dir, m)
}

const certificateName = "certificate.json"

// faultDir returns the folder of the bundle of a certification with one fault.
func faultDir(dir, fault string) string {
	return filepath.Join(dir, strings.ReplaceAll(fault, " ", "-"))
}

// finish sets the verdict, which is certified if every check passed, and the digest. It returns the file.
func (c *Certificate) finish() ([]byte, error) {
	c.Certified = c.allPassed()
	c.SHA256 = ""
	b, err := c.text()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	c.SHA256 = hex.EncodeToString(sum[:])
	return c.text()
}

func (c *Certificate) allPassed() bool {
	return len(c.Checks) > 0 && !slices.ContainsFunc(c.Checks, func(x Check) bool { return !x.Passed })
}

func (c *Certificate) text() ([]byte, error) {
	b, err := json.MarshalIndent(c, "", "  ")
	return append(b, '\n'), err
}

// ReadCertificate reads a certificate, and compares it with its digest. That shows that the file is whole. Whether the
// checks are those of the runs shows VerifyCertificate, which needs their folder.
func ReadCertificate(path string) (*Certificate, error) {
	have, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &Certificate{}
	d := json.NewDecoder(bytes.NewReader(have))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, badConfig("%s is no certificate of dx arena certify: %w", path, err)
	}
	said, verdict := c.SHA256, c.Certified
	want, err := c.finish()
	switch {
	case err != nil:
		return nil, err
	case verdict != c.Certified:
		return nil, fmt.Errorf("%s: certified is %t, its checks give %t", path, verdict, c.Certified)
	case said != c.SHA256:
		return nil, fmt.Errorf("%s was changed: its digest is %s, it has %q", path, c.SHA256, said)
	case !bytes.Equal(have, want):
		return nil, fmt.Errorf("%s is not written as dx arena certify writes it", path)
	}
	return c, nil
}

// Table writes a certificate for a terminal.
func (c *Certificate) Table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tfault\tseat\tcheck\ttimes\tfound\tseqs")
	for i := range c.Checks {
		x := &c.Checks[i]
		verdict := "pass"
		if x.notExercised() {
			verdict = "SKIP"
		} else if !x.Passed {
			verdict = "FAIL"
		}
		seqs := ""
		if len(x.Evidence) > 0 {
			seqs = strings.Trim(fmt.Sprint(x.Evidence[:min(len(x.Evidence), 6)]), "[]")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", verdict, x.Fault, x.Seat, x.Check, x.Exercised, x.Found, seqs)
	}
	return w.Flush()
}

// ErrRefused means that a seat did not pass a check.
var ErrRefused = errors.New("not certified")

// Refusal returns nil if every check passed, else ErrRefused with the reason.
func (c *Certificate) Refusal() error {
	failed, missing := 0, 0
	for i := range c.Checks {
		if x := &c.Checks[i]; x.notExercised() {
			missing++
		} else if !x.Passed {
			failed++
		}
	}
	switch {
	case c.Certified:
		return nil
	case missing == 0:
		return fmt.Errorf("%w: %d of %d checks failed", ErrRefused, failed, len(c.Checks))
	}
	return fmt.Errorf("%w: %d of %d checks failed, and %d were not exercised: the agent did nothing that they test. It has to place orders in half of the rounds, or give more of them: --rounds %d; an agent that places no orders cannot be certified", ErrRefused, failed, len(c.Checks), missing, 2*c.Rounds)
}
