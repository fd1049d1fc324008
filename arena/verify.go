package arena

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"duplex/core/replica"
)

// IsBundle reports whether a folder is the bundle of a seed, or has bundles of an arena that are not seeds
// of a run: those of the seats of one seed, or of a certification. An export of a journal has a
// manifest.json, too, but no setup.
func IsBundle(dir string) bool {
	return slices.ContainsFunc(manifestsOf(dir), isOwn)
}

// isOwn reports whether a folder with a manifest.json is a bundle of an arena, also a damaged one.
func isOwn(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, manifestName))
	var m map[string]json.RawMessage
	if err == nil && json.Unmarshal(b, &m) == nil && m["setup_hash"] != nil {
		return true
	}
	s, err := os.Stat(filepath.Join(dir, trajectoriesDir))
	return err == nil && s.IsDir()
}

// VerifyBundles replays the bundles in a folder, and compares their files, setups and hashes with their
// manifests. It reads no report.
func VerifyBundles(dir string, progress func(done, total int)) (bundles int, err error) {
	list := manifestsOf(dir)
	var bad []error
	for i, at := range list {
		_, err := loadBundle(at, true)
		bad = append(bad, err)
		if progress != nil {
			progress(i+1, len(list))
		}
	}
	return len(list), errors.Join(bad...)
}

// loadBundle analyzes one bundle. check verifies it against its manifest.
func loadBundle(dir string, check bool) (*seedFigures, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	var each func(*replayBundle, *replica.Result) error
	if check {
		if err := m.checkFiles(dir); err != nil {
			return nil, err
		}
		if err := m.checkSetup(); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, manifestName), err)
		}
		if err := m.checkText(dir); err != nil {
			return nil, err
		}
		each = checkIndex(m)
	}
	f, err := analyze(dir, m, each, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if f.CommandsHash != m.CommandsHash || f.StateHash != m.StateHash {
		return nil, fmt.Errorf("%s: the replay has commands_hash %s and state_hash %s; the manifest has %s and %s", dir, f.CommandsHash, f.StateHash, m.CommandsHash, m.StateHash)
	}
	return f, nil
}

// checkText returns an error unless a manifest is written as writeManifest writes it: a name that is there
// twice, or in other letters, has another meaning for another reader.
func (m *Manifest) checkText(dir string) error {
	path := filepath.Join(dir, manifestName)
	have, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	want, err := m.text()
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return fmt.Errorf("%s is not written as dx arena writes it", path)
	}
	return nil
}

// IsCertification reports whether a folder has a certificate.
func IsCertification(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, certificateName))
	return err == nil
}

// VerifyCertificate verifies the bundle of every fault of the standard set, makes the certificate again
// from them, and compares it with certificate.json. The error names what differs.
func VerifyCertificate(dir string, progress func(done, total int)) (*Certificate, error) {
	return verifyCertificate(dir, standardFaults, progress)
}

func verifyCertificate(dir string, faults []string, progress func(done, total int)) (*Certificate, error) {
	path := filepath.Join(dir, certificateName)
	have, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var checks []Check
	var bad []error
	var first *Manifest
	active := map[string]bool{}
	for i, text := range faults {
		at := faultDir(dir, text)
		m, made, err := verifyFault(at, text, active)
		if err == nil && first != nil && (setupWithoutFaults(m.Settings, m.Versions) != setupWithoutFaults(first.Settings, first.Versions) || m.Seed != first.Seed || !sameSeats(m.Settings, first.Settings) || !slices.EqualFunc(m.digests(), first.digests(), equalText)) {
			err = badConfig("%s is of another setup than %s", at, faultDir(dir, faults[0]))
		}
		if first == nil {
			first = m
		}
		bad = append(bad, err)
		checks = append(checks, made...)
		if progress != nil {
			progress(i+1, len(faults))
		}
	}
	if err := errors.Join(bad...); err != nil {
		return nil, err
	}
	want := newCertificate(first.Settings, first.Versions, first.digests())
	want.Checks = append(want.Checks, checks...)
	text, err := want.finish()
	if err != nil {
		return nil, err
	}
	return want, compareReports(path, have, text, "dx arena certify")
}

// verifyFault verifies the bundle of a certification with one fault, and checks the seats again.
func verifyFault(dir, text string, active map[string]bool) (*Manifest, []Check, error) {
	f, err := loadBundle(dir, true)
	if err != nil {
		return nil, nil, err
	}
	m := f.Setup
	if m.Settings.Solo || len(m.Seats) != len(m.Settings.Seats) {
		return nil, nil, fmt.Errorf("%s does not have every seat of its settings", dir)
	}
	if m.Settings.sealed != "" {
		return nil, nil, fmt.Errorf("%s has sealed seeds, which no certification has", dir)
	}
	if m.Seed != m.Settings.seeds[0] {
		return nil, nil, fmt.Errorf("%s is the bundle of seed %d, not of the first, %d", dir, m.Seed, m.Settings.seeds[0])
	}
	for i := range m.Settings.Seats {
		s := &m.Settings.Seats[i]
		want := []string{text}
		if s.Command == "" || text == noFault {
			want = nil
		}
		if !slices.Equal(s.Faults, want) {
			return nil, nil, fmt.Errorf("%s: the faults of seat %q are %q, not %q", dir, s.Name, s.Faults, want)
		}
	}
	checks, err := checkBundle(dir, text, active)
	return m, checks, err
}

// setupWithoutFaults is the setup hash of a certification, which its runs share but for their faults.
func setupWithoutFaults(c *Config, v Versions) string {
	one := *c
	one.Solo, one.Seats = false, append([]Seat{}, c.Seats...)
	for i := range one.Seats {
		one.Seats[i].Faults = nil
	}
	return setupHash(&one, v)
}
