package arena

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"duplex/core"
	"duplex/core/journal"
	"duplex/internal/atomicfile"
)

// bundleVersion is the version of the layout of a bundle.
const bundleVersion = 2

// Manifest describes the bundle of one seed.
type Manifest struct {
	SetupHash    string            `json:"setup_hash"`
	Seed         uint64            `json:"seed"`
	Seal         *Seal             `json:"seal"` // null if the settings have the seeds
	Tape         *window           `json:"tape"` // null without a tape
	Reproducible bool              `json:"reproducible"`
	CommandsHash string            `json:"commands_hash"`
	StateHash    string            `json:"state_hash"`
	Versions     Versions          `json:"versions"`
	Settings     *Config           `json:"settings"`
	Seats        []SeatEnd         `json:"seats"`
	Files        map[string]string `json:"files"` // SHA-256 of every other file, by path
}

// Versions are the versions that a run depends on.
type Versions struct {
	Bundle   int    `json:"bundle"`
	Dx       string `json:"dx"`
	Journal  int    `json:"journal"`
	Revision int    `json:"revision"`
}

// SeatEnd is how a seat ended, which the journal does not show.
type SeatEnd struct {
	Name       string  `json:"name"`
	Number     int     `json:"number"`
	Stalls     int     `json:"stalls"`
	ExitStatus *int    `json:"exit_status"` // of a process that ended before the run; null: it did not
	Output     string  `json:"output,omitempty"`
	Digest     *string `json:"digest"` // SHA-256 of the process; null for a baseline
}

// digests returns the digests of the seats by number, of a bundle that has every seat of its settings.
func (m *Manifest) digests() []*string {
	out := make([]*string, len(m.Settings.Seats))
	for i := range m.Seats {
		out[m.Seats[i].Number-1] = m.Seats[i].Digest
	}
	return out
}

func versions(dx string) Versions {
	return Versions{Bundle: bundleVersion, Dx: dx, Journal: journal.Format, Revision: int(core.RevisionNewest)}
}

// SetupHash is the hash of everything that the seats of two runs must share to be compared: seeds, or the
// number of sealed ones, settings, mandates, faults, market and versions, but not the seats' commands.
func SetupHash(c *Config, dx string) string { return setupHash(c, versions(dx)) }

func setupHash(c *Config, v Versions) string {
	type setupSeat struct {
		Fund    core.Pips
		Mandate map[string]any
		Faults  []string
	}
	x := struct {
		Seeds                            []uint64 // nil if they are sealed
		Count                            int      `json:",omitempty"` // of sealed seeds
		Series, Start, Pace, Stall, Tape string
		Rounds                           int
		Think, Noise                     float64
		Solo                             bool
		Seats                            []setupSeat
		Versions                         Versions
		Anonymous                        bool `json:",omitempty"`
	}{c.seeds, 0, c.Series, c.Start, c.Pace, c.Stall, c.TapeHash, c.Rounds, c.Think, c.Noise, c.Solo, nil, v, c.Anonymous}
	if c.sealed != "" {
		x.Seeds, x.Count = nil, c.count
	}
	for i := range c.Seats {
		x.Seats = append(x.Seats, setupSeat{c.Seats[i].fund, c.Seats[i].Mandate, c.Seats[i].Faults})
	}
	b, err := json.Marshal(x) // maps are written by key
	if err != nil {
		panic(err) // numbers, texts and what TOML has
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// hashByCount returns the setup_hash that a run would have if its seeds were sealed.
func hashByCount(m *Manifest) string {
	c := *m.Settings
	c.sealed = sealFresh
	return setupHash(&c, m.Versions)
}

const (
	manifestName    = "manifest.json"
	trajectoriesDir = "trajectories"
)

// hashFiles returns the SHA-256 of every file of a bundle but the manifest and what can be made from
// the others.
func hashFiles(dir string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		rel = filepath.ToSlash(rel)
		if err != nil || rel == manifestName || strings.HasPrefix(rel, "export/") {
			return err
		}
		sum, err := hashFile(path)
		out[rel] = sum
		return err
	})
	return out, err
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func writeManifest(dir string, m *Manifest) error {
	b, err := m.text()
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, manifestName), b)
}

func (m *Manifest) text() ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

// readManifest reads the manifest of a bundle.
func readManifest(dir string) (*Manifest, error) {
	b, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return nil, err
	}
	var version struct{ Versions Versions }
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, manifestName), err)
	}
	if v := version.Versions; v.Bundle != bundleVersion {
		return nil, badConfig("%s is a bundle of version %d; this program reads version %d", dir, v.Bundle, bundleVersion)
	}
	m := &Manifest{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, manifestName), err)
	}
	if m.Settings == nil {
		return nil, fmt.Errorf("%s has no settings", filepath.Join(dir, manifestName))
	}
	if err := m.Settings.completeRead(); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, manifestName), err)
	}
	return m, nil
}

// checkSetup compares the setup hash with the settings.
func (m *Manifest) checkSetup() error {
	if hash := setupHash(m.Settings, m.Versions); hash != m.SetupHash {
		return fmt.Errorf("the settings have setup_hash %s, the manifest has %s", hash, m.SetupHash)
	}
	return nil
}

// checkFiles compares the files of a bundle with the manifest.
func (m *Manifest) checkFiles(dir string) error {
	have, err := hashFiles(dir)
	if err != nil {
		return err
	}
	var bad []error
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		switch sum, ok := have[name]; {
		case !ok:
			bad = append(bad, fmt.Errorf("%s is missing", filepath.Join(dir, filepath.FromSlash(name))))
		case sum != m.Files[name]:
			bad = append(bad, fmt.Errorf("%s was changed: its SHA-256 is %s, the manifest has %s", filepath.Join(dir, filepath.FromSlash(name)), sum, m.Files[name]))
		}
		delete(have, name)
	}
	for name := range have {
		bad = append(bad, fmt.Errorf("%s is not in the manifest", filepath.Join(dir, filepath.FromSlash(name))))
	}
	return errors.Join(bad...)
}
