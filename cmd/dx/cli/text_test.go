package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNewKeyCommand tests that the command names the dev file that has the profile, wherever the profile is used.
func TestNewKeyCommand(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a b")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	dev, other, none := filepath.Join(folder, "dev.json"), filepath.Join(folder, "c.json"), filepath.Join(folder, "d.json")
	for _, path := range []string{dev, other} {
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		devFile, profile, want string
		ok                     bool
	}{
		{dev, "", dev, true}, {other, "bot", other, true}, {none, "bot", none, false}, {none, "", none, false},
		{none, filepath.Join(folder, "agents", "bot.json"), dev, true}, {dev, filepath.Join(folder, "c-agents", "bot.json"), other, true},
		{dev, filepath.Join(folder, "d-agents", "bot.json"), dev, true}, {other, filepath.Join(folder, "bot.json"), other, true},
	} {
		got, ok := NewKeyCommand(c.devFile, c.profile)
		if want := CommandName() + " agent key NAME --dev-file '" + c.want + "'"; got != want || ok != c.ok {
			t.Errorf("dev file %s, profile %s: %s, %t, want %s, %t", c.devFile, c.profile, got, ok, want, c.ok)
		}
	}
}
