package arena

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sealedConfig is a run of one round with two baselines, each in a venue of its own.
func sealedConfig(t *testing.T, seeds, reveal string, kinds ...string) *Config {
	t.Helper()
	return testConfig(t, func(c *Config) {
		c.Rounds, c.Seeds, c.Reveal, c.Solo, c.Seats = 1, seeds, reveal, true, nil
		for _, kind := range kinds {
			c.Seats = append(c.Seats, Seat{Name: kind, Kind: kind})
		}
	})
}

// readSeal returns the members of a manifest that say how its seed was chosen.
func readSeal(t *testing.T, dir string) (m struct {
	Seed uint64
	Seal struct {
		Kind, Entropy, Hash, Salt string
		Place                     int
	}
	Seats []struct{ Digest *string }
},
) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFreshSeeds tests that the seeds of a run are drawn from entropy and the digests of its agents; that nothing in
// the folder of the run holds a seed, or what it can be computed from, before all its seats have played; and that a
// run that was stopped draws new ones.
func TestFreshSeeds(t *testing.T) {
	dir, played := t.TempDir(), 0
	c := sealedConfig(t, "fresh:3", "", "hold", "mid")
	c.Seats = append(c.Seats, Seat{Name: "mine", Command: "true"})
	if err := c.Complete(); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: dir, Jobs: 1, Ready: func(s *seedRun) {
		played++
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if strings.Contains(path, "playing-") && !strings.HasPrefix(path, s.dir) {
				t.Errorf("while a seat plays place %d in %s, there is %s of another one that has played it", s.place, s.dir, path)
			}
			b, err := os.ReadFile(path)
			for _, secret := range []string{strconv.FormatUint(s.seed, 10), s.seal.Entropy} {
				if strings.Contains(path, secret) || strings.Contains(string(b), secret) {
					t.Errorf("while place %d plays, %s has %s", s.place, path, secret)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}}
	r := mustRun(t, c, o)
	if played != 9 || r.Sealed != "fresh" || len(r.Seeds) != 3 || !strings.HasPrefix(r.Lines()[1], "3 seeds (fresh) of 1 round of btc-60s") {
		t.Errorf("%d venues, sealed %q, seeds %v, %q", played, r.Sealed, r.Seeds, r.Lines())
	}
	var places []int
	for _, seed := range r.Seeds {
		m := readSeal(t, filepath.Join(dir, strconv.FormatUint(seed, 10), "mine"))
		entropy, err1 := hex.DecodeString(m.Seal.Entropy)
		digest, err2 := hex.DecodeString(*m.Seats[0].Digest)
		sum := sha256.Sum256(slices.Concat(entropy, digest, binary.BigEndian.AppendUint64(nil, uint64(m.Seal.Place))))
		if err1 != nil || err2 != nil || len(entropy) != 32 || binary.BigEndian.Uint64(sum[:8])>>1 != seed || m.Seal.Kind != "fresh" {
			t.Errorf("seed %d has the seal %+v, %v, %v", seed, m.Seal, err1, err2)
		}
		places = append(places, m.Seal.Place)
	}
	if slices.Sort(places); !slices.Equal(places, []int{0, 1, 2}) {
		t.Errorf("the places are %v", places)
	}
	if n, err := Verify(dir, nil); err != nil || n != 3 {
		t.Errorf("%d seeds, %v", n, err)
	}

	// What is left of a seed is drawn again.
	lost := filepath.Join(dir, strconv.FormatUint(r.Seeds[1], 10))
	if err := os.RemoveAll(filepath.Join(lost, "mid")); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(dir, nil); err == nil || !strings.Contains(err.Error(), "2 of 3 seeds") {
		t.Errorf("a run without a seed: %v", err)
	}
	again := mustRun(t, c, o)
	if _, err := os.Stat(lost); err == nil || len(again.Seeds) != 3 || slices.Contains(again.Seeds, r.Seeds[1]) {
		t.Errorf("seeds %v, then %v; the one that was lost: %v", r.Seeds, again.Seeds, err)
	}
	if _, err := Verify(dir, nil); err != nil {
		t.Error(err)
	}

	// A seed that was chosen is found.
	at := filepath.Join(dir, strconv.FormatUint(again.Seeds[0], 10))
	seal := readSeal(t, filepath.Join(at, "hold")).Seal
	for _, seat := range []string{"hold", "mid", "mine"} {
		if err := edit(filepath.Join(at, seat, manifestName), seal.Entropy, strings.Repeat("00", 32)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Verify(dir, nil); err == nil || !strings.Contains(err.Error(), "not the one that the entropy and place of its seal give") {
		t.Errorf("a seed with other entropy: %v", err)
	}
}

// TestSamePlaceTwice tests that a run in which one place of the fresh seeds was played twice is found: its player
// could have kept the better ones.
func TestSamePlaceTwice(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	c := sealedConfig(t, "fresh:2", "", "hold")
	r, _ := mustRun(t, c, Options{Dir: dir}), mustRun(t, c, Options{Dir: other})
	for _, at := range []string{dir, other} {
		seeds, err := startedSeeds(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, seed := range seeds {
			from := seedDir(at, seed)
			switch place := readSeal(t, filepath.Join(from, "hold")).Seal.Place; {
			case at == dir && place == 1:
				err = os.RemoveAll(from)
			case at == other && place == 0:
				err = os.CopyFS(seedDir(dir, seed), os.DirFS(from))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := Verify(dir, nil); err == nil || !strings.Contains(err.Error(), "both have place 0") {
		t.Errorf("seeds %v, and place 0 twice: %v", r.Seeds, err)
	}
}

// TestCommittedSeeds tests seeds that are drawn before a run and kept secret: the file has the hash that was
// published, another content is refused, and the seeds of a complete run with their salt give the hash again.
func TestCommittedSeeds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seeds.txt")
	hash, err := Commit(3, path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != hash || strings.Count(string(text), "\n") != 4 {
		t.Errorf("%s, and a file with the hash %x:\n%s", hash, sum, text)
	}
	if f, err := os.Stat(path); err != nil || f.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v", f.Mode(), err)
	}
	var bad *ConfigError
	if _, err := Commit(3, path); !errors.As(err, &bad) {
		t.Errorf("a file that is there is replaced: %v", err)
	}
	dir := t.TempDir()
	r := mustRun(t, sealedConfig(t, "committed:"+hash, path, "hold"), Options{Dir: dir, Jobs: 2})
	if n, err := Verify(dir, nil); err != nil || n != 3 || r.Sealed != "committed" {
		t.Errorf("%d seeds, sealed %q, %v", n, r.Sealed, err)
	}
	if m := readSeal(t, filepath.Join(seedDir(dir, r.Seeds[0]), "hold")); m.Seal.Hash != hash || !strings.HasPrefix(string(text), m.Seal.Salt+"\n") {
		t.Errorf("the seal is %+v", m.Seal)
	}

	// Another content, and a run whose seeds are not those of the file.
	if err := os.WriteFile(path, append(text, "5\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	c := NewConfig()
	c.Seeds, c.Reveal, c.Seats = "committed:"+hash, path, []Seat{{Name: "hold", Kind: "hold"}}
	if err := c.Complete(); !errors.As(err, &bad) || !strings.Contains(err.Error(), "not the one that was committed to") {
		t.Errorf("a file with another content: %v", err)
	}
	for _, seed := range r.Seeds {
		if err := edit(filepath.Join(seedDir(dir, seed), "hold", manifestName), `"salt": "`, `"salt": "00`); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Verify(dir, nil); err == nil || !strings.Contains(err.Error(), "have the hash") {
		t.Errorf("a run with another salt: %v", err)
	}
}

// TestSealedSetup tests that the setup of a sealed run has the number of its seeds, however they were sealed, and that
// of another one the seeds.
func TestSealedSetup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seeds.txt")
	hash, err := Commit(3, path)
	if err != nil {
		t.Fatal(err)
	}
	of := func(seeds, reveal string) string { return SetupHash(sealedConfig(t, seeds, reveal, "hold"), "") }
	fresh := of("fresh:3", "")
	if of("committed:"+hash, path) != fresh {
		t.Error("committed seeds have another setup than as many fresh ones")
	}
	if of("fresh:4", "") == fresh || of("1..3", "") == fresh || of("1..3", "") == of("2..4", "") {
		t.Error("another number of seeds, or other known seeds, have the same setup")
	}
}

// TestRankOfSealedRuns tests that runs on other seeds are compared by Welch's test, and those on the same seeds seed
// by seed; and that runs whose seeds were known are ranked apart.
func TestRankOfSealedRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seeds.txt")
	hash, err := Commit(3, path)
	if err != nil {
		t.Fatal(err)
	}
	run := func(seeds, reveal string, kinds ...string) string {
		dir := filepath.Join(t.TempDir(), strings.Join(kinds, "-"))
		mustRun(t, sealedConfig(t, seeds, reveal, kinds...), Options{Dir: dir, Jobs: 2})
		return dir
	}
	committed := run("committed:"+hash, path, "maker")
	for _, x := range []struct {
		dirs   []string
		sealed string
		ranks  string
		pairs  []bool
	}{
		{[]string{committed, run("committed:"+hash, path, "fair")}, "committed committed", "1 2", []bool{true}},
		{[]string{committed, run("fresh:3", "", "fair")}, "", "1 2", []bool{false}},
		{[]string{run("1..3", "", "fair"), committed, run("fresh:3", "", "hold")}, "", "1 2 1", []bool{false}},
	} {
		list, err := Rank(x.dirs)
		if err != nil {
			t.Fatal(err)
		}
		var ranks, sealed []string
		var pairs []bool
		for _, row := range list.Rows {
			ranks, sealed = append(ranks, fmt.Sprint(*row.Rank)), append(sealed, row.Sealed)
			if row.Next != nil {
				pairs = append(pairs, row.Next.Pairwise)
			}
		}
		if got := strings.Join(ranks, " "); got != x.ranks || !slices.Equal(pairs, x.pairs) || x.sealed != "" && strings.Join(sealed, " ") != x.sealed {
			t.Errorf("%v: ranks %s of %v, compared seed by seed %v, want %s and %v", x.dirs, got, sealed, pairs, x.ranks, x.pairs)
		}
		if len(list.Rows) == 3 && (list.Rows[2].Sealed != "no" || list.Rows[1].Next != nil) {
			t.Errorf("the last row is %+v, want the run with known seeds, compared with nobody", list.Rows[2])
		}
	}
	// A baseline that plays beside two agents does the same beside both: the runs are no copies.
	if list, err := Rank([]string{run("1..2", "", "hold", "mid"), run("1..2", "", "hold", "random")}); err != nil || len(list.Rows) != 4 {
		t.Errorf("two runs with a seat in common: %v", err)
	}
	// A run whose seeds were drawn again in part is no other run.
	fresh, again := run("fresh:3", "", "fair"), filepath.Join(t.TempDir(), "again")
	if err := os.CopyFS(again, os.DirFS(fresh)); err != nil {
		t.Fatal(err)
	}
	seeds, err := startedSeeds(again)
	if err == nil {
		err = os.RemoveAll(seedDir(again, seeds[0]))
	}
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, sealedConfig(t, "fresh:3", "", "fair"), Options{Dir: again})
	var bad *ConfigError
	if _, err := Rank([]string{fresh, again}); !errors.As(err, &bad) || !strings.Contains(err.Error(), "has seeds of the run") {
		t.Errorf("a run with seeds of another one is ranked beside it: %v", err)
	}
	if _, err := Rank([]string{run("1..3", "", "fair"), run("2..4", "", "hold")}); !errors.As(err, &bad) {
		t.Errorf("runs on other known seeds: %v", err)
	}
}
