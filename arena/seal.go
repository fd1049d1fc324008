package arena

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The ways in which the seeds of a run can be sealed (docs/guides/arena.md#sealed-seeds).
const (
	sealFresh     = "fresh"     // drawn while the run goes on, after the digests of the agents are taken
	sealCommitted = "committed" // of a file whose hash was published before
	unsealed      = "no"        // in a report: the settings have them
)

// Seal says how the seed of a bundle was chosen.
type Seal struct {
	Kind string `json:"kind"`

	// Of a fresh seed: 32 random bytes in hexadecimal, and its place in the run, from 0.
	Entropy string `json:"entropy,omitempty"`
	Place   *int   `json:"place,omitempty"`

	// Of a committed one: the hash of the file, and the salt in it.
	Hash string `json:"hash,omitempty"`
	Salt string `json:"salt,omitempty"`
}

// randomText returns 32 random bytes in hexadecimal.
func randomText() string {
	b := make([]byte, sha256.Size)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// freshSeed returns the seed of a place: the first 8 bytes of SHA-256(entropy ‖ digests ‖ place), without the lowest
// bit. The author of an agent cannot choose it, except by repeating the run.
//
// entropy and digests are in hexadecimal; what is not gives another seed.
func freshSeed(entropy string, digests []*string, place int) uint64 {
	h := sha256.New()
	add := func(text string) {
		b, _ := hex.DecodeString(text)
		h.Write(b)
	}
	add(entropy)
	for _, d := range digests {
		if d != nil {
			add(*d)
		}
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(place)))
	return binary.BigEndian.Uint64(h.Sum(nil)) >> 1
}

// draw is one seed of a run.
type draw struct {
	seed  uint64
	place int   // from 0, in the order of the settings
	seal  *Seal // nil if the settings have the seed
}

// draw returns the seed of a place. A fresh one has entropy of its own, not that of the run: the manifests of the
// seeds that have ended have theirs, and a seat may read them.
func (c *Config) draw(place int, digests []*string) draw {
	switch c.sealed {
	case sealFresh:
		entropy := randomText()
		return draw{freshSeed(entropy, digests, place), place, &Seal{Kind: sealFresh, Entropy: entropy, Place: &place}}
	case sealCommitted:
		return draw{c.seeds[place], place, &Seal{Kind: sealCommitted, Hash: c.committedHash(), Salt: c.salt}}
	}
	return draw{seed: c.seeds[place], place: place}
}

// committedHash is the hash in the setting of committed seeds.
func (c *Config) committedHash() string { return strings.TrimPrefix(c.Seeds, sealCommitted+":") }

// chooseSeeds reads the setting of the seeds, but not the file of committed ones.
func (c *Config) chooseSeeds() (err error) {
	kind, rest, _ := strings.Cut(c.Seeds, ":")
	switch kind {
	case sealFresh:
		c.sealed = sealFresh
		if c.count, err = strconv.Atoi(rest); err != nil || c.count < 1 || c.count > maxSeeds || strconv.Itoa(c.count) != rest {
			return badConfig("seeds %q: fresh:N with N from 1 to %d", c.Seeds, maxSeeds)
		}
	case sealCommitted:
		c.sealed, c.count = sealCommitted, c.SeedCount
		if b, err := hex.DecodeString(rest); err != nil || len(b) != sha256.Size || strings.ToLower(rest) != rest {
			return badConfig("seeds %q: committed:HASH with the hash that dx arena commit has printed", c.Seeds)
		}
	default:
		c.seeds, err = ParseSeeds(c.Seeds)
		c.count = len(c.seeds)
	}
	return err
}

// reveal reads the file of committed seeds.
func (c *Config) reveal() error {
	switch {
	case c.sealed != sealCommitted && c.Reveal != "":
		return badConfig("--reveal goes with --seeds committed:HASH")
	case c.sealed != sealCommitted:
		return nil
	case c.Reveal == "":
		return badConfig("seeds %s: --reveal FILE names the file that dx arena commit has written", c.Seeds)
	}
	text, err := os.ReadFile(c.Reveal)
	if err != nil {
		return &ConfigError{err}
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != c.committedHash() {
		return badConfig("%s has the hash %x, not the one that was committed to", c.Reveal, sum)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	c.salt = lines[0]
	for _, line := range lines[1:] {
		seed, err := strconv.ParseUint(line, 10, 63)
		if err != nil {
			return badConfig("%s: %q is no seed", c.Reveal, line)
		}
		c.seeds = append(c.seeds, seed)
	}
	if len(c.seeds) == 0 || committedText(c.salt, c.seeds) != string(text) {
		return badConfig("%s is not written as dx arena commit writes it", c.Reveal)
	}
	c.count, c.SeedCount = len(c.seeds), len(c.seeds)
	return nil
}

// committedText is the content of a file of committed seeds: the salt, and each seed on a line of its own, in
// ascending order, so that the seeds of a complete run and their salt give it again.
func committedText(salt string, seeds []uint64) string {
	sorted := slices.Sorted(slices.Values(seeds))
	var b strings.Builder
	b.WriteString(salt + "\n")
	for _, seed := range slices.Compact(sorted) {
		b.WriteString(strconv.FormatUint(seed, 10) + "\n")
	}
	return b.String()
}

// Commit writes n seeds and a salt into a new file that its user alone may read, and returns the hash to publish.
func Commit(n int, path string) (hash string, err error) {
	if n < 1 || n > maxSeeds {
		return "", badConfig("%d seeds: from 1 to %d", n, maxSeeds)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", badConfig("%s exists: seeds that were committed to are never replaced", path)
	}
	if err != nil {
		return "", &ConfigError{err}
	}
	seeds := map[uint64]bool{}
	for len(seeds) < n {
		var b [8]byte
		_, _ = rand.Read(b[:])
		seeds[binary.BigEndian.Uint64(b[:])>>1] = true
	}
	list := make([]uint64, 0, n)
	for seed := range seeds {
		list = append(list, seed)
	}
	text := committedText(randomText(), list)
	_, err = f.WriteString(text)
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]), errors.Join(err, f.Sync(), f.Close())
}

// checkSeal returns an error unless the seed of a bundle is the one that its seal gives. digests are those of all
// seats, in their order.
func (m *Manifest) checkSeal(digests []*string) error {
	c, s := m.Settings, m.Seal
	switch {
	case c.sealed == "" && s == nil:
		return nil
	case s == nil || s.Kind != c.sealed:
		return fmt.Errorf("seed %d: its seal is not that of the seeds %s", m.Seed, c.Seeds)
	case s.Kind == sealCommitted && s.Hash != c.committedHash():
		return fmt.Errorf("seed %d: its seal is of another file than the settings", m.Seed)
	case s.Kind == sealFresh && (s.Place == nil || *s.Place < 0 || *s.Place >= c.count || freshSeed(s.Entropy, digests, *s.Place) != m.Seed):
		return fmt.Errorf("seed %d: it is not the one that the entropy and place of its seal give, and the digests of the seats", m.Seed)
	}
	return nil
}

// checkSeals returns an error unless the seeds of a run are sealed together as its settings say: each place of fresh
// seeds once, and if all committed ones are there, the content of their file.
func checkSeals(runs []*seedFigures) error {
	c, salt := runs[0].Setup.Settings, ""
	places := map[int]uint64{}
	var seeds []uint64
	for _, f := range runs {
		seal := f.Setup.Seal
		switch c.sealed {
		case sealFresh:
			if other, ok := places[*seal.Place]; ok {
				return fmt.Errorf("seeds %d and %d both have place %d", other, f.Seed, *seal.Place)
			}
			places[*seal.Place] = f.Seed
		case sealCommitted:
			if salt = cmp.Or(salt, seal.Salt); salt != seal.Salt {
				return fmt.Errorf("seed %d has another salt", f.Seed)
			}
			seeds = append(seeds, f.Seed)
		}
	}
	if c.sealed != sealCommitted || len(seeds) != c.count {
		return nil
	}
	if sum := sha256.Sum256([]byte(committedText(salt, seeds))); hex.EncodeToString(sum[:]) != c.committedHash() {
		return fmt.Errorf("the seeds and their salt have the hash %x, not that of seeds %s", sum, c.Seeds)
	}
	return nil
}
