package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"duplex/schemas"
)

// Argument and flag names are whole words: kong must not split an abbreviation such as
// TIF or ID into its letters.
func TestNamesInHelp(t *testing.T) {
	parser, err := kong.New(&commandLine{}, kong.Name("dx"), kong.Vars{"version": "test"})
	if err != nil {
		t.Fatal(err)
	}
	single := regexp.MustCompile(`(^|-)[a-z](-|$)`)
	names := 0
	for _, leaf := range parser.Model.Leaves(false) {
		for _, p := range leaf.Positional {
			if names++; single.MatchString(p.Name) {
				t.Errorf("%s: argument <%s>", leaf.Path(), p.Name)
			}
		}
		for _, f := range leaf.Flags {
			if names++; single.MatchString(f.Name) {
				t.Errorf("%s: the flag --%s has a single letter for a word", leaf.Path(), f.Name)
			}
		}
	}
	if names < 100 {
		t.Errorf("only %d names", names)
	}
}

// dx alone prints what dx --help prints.
func TestHelpWithoutACommand(t *testing.T) {
	_, want, _ := runCommand("--help")
	if code, out, errs := runCommand(); code != 0 || errs != "" || out != want || !strings.HasPrefix(out, "Usage: dx <command>") {
		t.Errorf("dx alone: exit %d %s%s, want what dx --help prints", code, out, errs)
	}
}

// dx help COMMAND prints what dx COMMAND --help prints, for each command, each command of a command, and every other name.
func TestHelpOfEveryCommand(t *testing.T) {
	parser, err := kong.New(&commandLine{}, kong.Name("dx"), kong.Vars{"version": "test"})
	if err != nil {
		t.Fatal(err)
	}
	lines := [][]string{{}, {"buy"}, {"sell"}, {"buy", "yes"}, {"help"}, {"help", "buy"}, {"--help"}}
	var add func(path []string, of *kong.Node)
	add = func(path []string, of *kong.Node) {
		for _, child := range of.Children {
			for _, name := range append([]string{child.Name}, child.Aliases...) {
				line := append(slices.Clone(path), name)
				lines = append(lines, line)
				add(line, child)
			}
		}
	}
	add(nil, parser.Model.Node)
	for _, line := range lines {
		asked := append(slices.Clone(line), "--help")
		if slices.Contains(line, "--help") {
			asked = line
		}
		want, wanted, _ := runCommand(asked...)
		code, out, errs := runCommand(append([]string{"help"}, line...)...)
		if code != 0 || want != 0 || errs != "" || out != wanted || !strings.HasPrefix(out, "Usage: dx") {
			t.Errorf("dx help %s: exit %d %.200s%.200s, want what dx %[1]s --help prints: exit %d %.200s", strings.Join(line, " "), code, out, errs, want, wanted)
		}
	}
	if len(lines) < 90 {
		t.Errorf("only %d names", len(lines))
	}
}

// dx completion prints the script itself, which the shell evaluates.
func TestCompletionPrintsTheScript(t *testing.T) {
	for shell, want := range map[string]string{"bash": "complete -o default", "zsh": "autoload -U +X bashcompinit", "fish": "function __complete_dx"} {
		code, out, errs := runCommand("completion", shell)
		if code != 0 || !strings.HasPrefix(out, want) || strings.Contains(out, "Execute") {
			t.Errorf("dx completion %s: exit %d %s%s, want the script, %q first", shell, code, out, errs, want)
		}
	}
	expectCommand(t, 2, "shell", "completion", "tcsh")
}

// Every --series has the predictor of series, and the shell gets their names.
func TestCompletionOfSeries(t *testing.T) {
	parser, err := kong.New(&commandLine{}, kong.Name("dx"), kong.Vars{"version": "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(false) {
		for _, f := range leaf.Flags {
			if f.Name == "series" && strings.Contains(f.Target.Type().String(), "SeriesFlag") && f.Tag.Get("predictor") != "series" {
				t.Errorf("%s --series has no completion", leaf.Path())
			}
		}
	}
	path := dxPath(t)
	for line, want := range map[string]string{
		"dx book --series g": "gold-60s\ngold-5m\ngold-15m\n", "dx posi": "positions\n", "dx orders --series btc-1": "btc-15m\n", "dx agent create --series wti-6": "wti-60s\n",
	} {
		cmd := exec.Command(path)
		cmd.Env = append(os.Environ(), "COMP_LINE="+line, fmt.Sprintf("COMP_POINT=%d", len(line)))
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("%s: %q, want %q, %v", line, out, want, err)
		}
	}
}

// The commands in the banner find the dev file wherever it was written.
func TestBannerNamesTheDevFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for path, want := range map[string]string{
		filepath.Join(dir, ".dx", "dev.json"): "",
		filepath.Join(dir, "my venue.json"):   " --dev-file 'my venue.json'",
		"/elsewhere/it's.json":                ` --dev-file '/elsewhere/it'\''s.json'`,
		"/elsewhere/dev.json":                 " --dev-file /elsewhere/dev.json",
	} {
		var out bytes.Buffer
		(&devCmd{DevFile: path}).printGreeting(&out, schemas.DevFile{Accounts: []schemas.DevAccount{{Name: "trader"}}}, "/p/trader.json")
		if !strings.Contains(out.String(), `"mcp","--profile","/p/trader.json","--toolset","core"]`) || strings.Contains(out.String(), `"--dev-file"`) {
			t.Errorf("the entry of a host is\n%s", &out)
		}
		for _, command := range []string{" markets", " order buy yes 10 --series btc-15m --max-cost 9"} {
			if line := os.Args[0] + command + want + "\n"; !strings.Contains(out.String(), "  "+line) && !strings.Contains(out.String(), "  go run ./cmd/dx"+command+want+"\n") {
				t.Errorf("%s: no %q in\n%s", path, line, &out)
			}
		}
	}
}
