package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"duplex/cmd/dx/cli"
)

// TestPrintedCommandsWork runs every command that dx dev prints, and every command that these print, in
// the folder of dx dev: with the default dev file, with one elsewhere, and with a path that has a blank.
func TestPrintedCommandsWork(t *testing.T) {
	skipProcess(t)
	elsewhere := filepath.Join(t.TempDir(), "b.json")
	for _, c := range []struct {
		name, devFile string // "": the default
		flag          string
		agent         string // the profile of the agent of dx dev
	}{
		{"default", "", "", ".dx/agents/agent.json"},
		{"elsewhere", elsewhere, " --dev-file " + elsewhere, filepath.Join(filepath.Dir(elsewhere), "b-agents", "agent.json")},
		{"blank", "my venue/c d.json", " --dev-file 'my venue/c d.json'", "my venue/c d-agents/agent.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := printedShell{t: t, dx: dxPath(t), folder: t.TempDir(), home: t.TempDir(), ran: map[string]bool{}}
			args := []string{"dev", "--ports", "0", "--quiet-market"}
			if c.devFile != "" {
				args = append(args, "--dev-file", c.devFile)
			}
			dev := exec.Command(s.dx, args...)
			dev.Dir, dev.Env = s.folder, s.env()
			_, out := startPiped(t, dev)
			var greeting strings.Builder
			for out.Scan() && out.Text() != "Stop with Ctrl-C." {
				greeting.WriteString(out.Text() + "\n")
			}
			profile := c.agent
			if !filepath.IsAbs(profile) {
				profile = filepath.Join(s.folder, profile)
			}
			if _, err := cli.ReadProfile(profile); err != nil {
				t.Errorf("the profile of the agent: %v", err)
			}
			s.runPrinted(greeting.String(), 4)
			s.runPrinted(s.run(s.name()+" agent create bot --fund 50"+c.flag), 4)
			s.runPrinted(s.run(s.name()+" agent create of-maker --fund 50 --as maker"+c.flag), 4)
			failed := s.fails(s.name() + " agent show nobody" + c.flag)
			list, _, ok := strings.Cut(failed[strings.Index(failed, s.name()):], " shows your agents")
			if !ok {
				t.Fatalf("dx agent show nobody: %s, want the command that lists agents", failed)
			}
			s.run(list)
			s.replaceKey(c.flag)
			if older := s.run(s.name() + " agent activity bot --limit 1" + c.flag); strings.Contains(older, "Older: ") {
				_, older, _ = strings.Cut(older, "Older: ")
				s.run(strings.TrimSpace(older))
			}
		})
	}
}

// printedShell runs printed commands in a shell without variables of dx.
type printedShell struct {
	t                *testing.T
	dx, folder, home string
	ran              map[string]bool
}

func (s *printedShell) env() []string {
	return []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
}

func (s *printedShell) name() string { return cli.ShellWord(s.dx) }

func (s *printedShell) sh(line string) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	sh := exec.CommandContext(ctx, "sh", "-c", line)
	sh.Dir, sh.Env = s.folder, s.env()
	out, err := sh.CombinedOutput()
	return string(out), err
}

// run returns the output of a command that must succeed. It repeats one that finds no quotes, or no price
// yet of a venue that has just started.
func (s *printedShell) run(line string) (out string) {
	s.t.Helper()
	var err error
	within(time.Minute, func() bool {
		out, err = s.sh(line)
		return err == nil || !noTrade.MatchString(out) && !strings.Contains(out, "no live market")
	})
	if err != nil {
		s.t.Errorf("%s: %v\n%s", line, err, out)
	}
	return out
}

func (s *printedShell) fails(line string) string {
	s.t.Helper()
	out, err := s.sh(line)
	if err == nil {
		s.t.Errorf("%s succeeds:\n%s", line, out)
	}
	return out
}

// runPrinted runs the commands in a text, and those that they print. The text must have want commands.
func (s *printedShell) runPrinted(text string, want int) {
	s.t.Helper()
	n := 0
	for line := range strings.Lines(text) {
		at := strings.Index(line, "  "+s.name()+" ")
		if at < 0 {
			continue
		}
		n++
		if line = strings.TrimSpace(line[at:]); !s.ran[line] {
			s.ran[line] = true
			out := s.run(line)
			if strings.Contains(line, " mcp install ") && !strings.Contains(out, "needs no change") {
				s.runPrinted(out, 1)
			}
		}
	}
	if n != want {
		s.t.Errorf("%d commands, want %d, in\n%s", n, want, text)
	}
}

// replaceKey revokes the key of the agent bot and runs the commands that the errors of the bridge and of other commands
// name then.
func (s *printedShell) replaceKey(flag string) {
	s.t.Helper()
	var p struct {
		UserID int    `json:"user_id"`
		Key    string `json:"api_key"`
	}
	if err := json.Unmarshal([]byte(s.run("cat "+cli.ShellWord(s.profileOf("bot", flag)))), &p); err != nil {
		s.t.Fatal(err)
	}
	s.run(fmt.Sprintf("%s admin revoke-key %d %s%s", s.name(), p.UserID, p.Key, flag))
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_account","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	var answer struct{ Error struct{ Message string } }
	out := s.run("echo " + cli.ShellWord(call) + " | " + s.name() + " mcp --profile bot" + flag + " 2>/dev/null")
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	_, commands, _ := strings.Cut(answer.Error.Message, "; ")
	newKey, rest, ok := strings.Cut(commands, " makes another one of an agent, and ")
	doctor, last := strings.CutSuffix(rest, " finds out more")
	failed := s.fails(s.name() + " balance --profile bot" + flag)
	if !ok || !last || !strings.HasSuffix(failed, "dx: another key of an agent: "+newKey+"\n") {
		s.t.Fatalf("the commands in %s and in %s", out, failed)
	}
	s.fails(doctor)
	s.run(strings.Replace(newKey, "NAME", "bot", 1))
	s.run(doctor)
}

// profileOf returns the path of a profile, which is beside the dev file of a flag --dev-file.
func (s *printedShell) profileOf(name, flag string) string {
	switch file := strings.Trim(strings.TrimPrefix(flag, " --dev-file "), "'"); file {
	case "":
		return ".dx/agents/" + name + ".json"
	default:
		return strings.TrimSuffix(file, ".json") + "-agents/" + name + ".json"
	}
}
