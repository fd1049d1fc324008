package mcp

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the transcripts of docs/rules/agents.md anew")

const transcriptsPage = "../../docs/rules/agents.md"

var (
	timestamp = regexp.MustCompile(`"[0-9]{19}"`)
	key       = regexp.MustCompile(`"dxk[0-9a-f]+"`)
	seconds   = regexp.MustCompile(`("secs_to_close":)[0-9]+|[0-9]+( s to close)`)
)

// withoutTimes replaces times by those of a venue that opened its round two seconds ago, and keys by one.
func withoutTimes(text string) string {
	text = key.ReplaceAllString(text, `"dxk7631bc4fe047c2e1c5b5cf51"`)
	return seconds.ReplaceAllString(timestamp.ReplaceAllString(text, `"1795923902000000000"`), "${1}58$2")
}

// TestTranscripts makes the calls of each transcript in docs/rules/agents.md, on the venue of TestMistakes, and
// compares the results, but for what a clock or chance decides. A line `> tool arguments` is a call, and the line below its structured content.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(transcriptsPage)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var d *testVenue
	calls, answered := 0, false
	for line := range strings.SplitSeq(string(b), "\n") {
		call, isCall := strings.CutPrefix(line, "> ")
		switch {
		case line == "```transcript":
			d, _ = mistaken(t)
		case d != nil && line == "```":
			d, answered = nil, false
		case d != nil && isCall:
			tool, arguments, _ := strings.Cut(call, " ")
			out, answered = append(out, line, withoutTimes(string(d.callTool(d.alice, tool, arguments).StructuredContent))), true
			calls++
			continue
		case answered:
			if want := out[len(out)-1]; line != want && !*update {
				t.Errorf("%s has\n%s\nbut the call returns\n%s\n\tgo test ./lanes/mcp -run Transcripts -update", transcriptsPage, line, want)
			}
			answered = false
			continue
		}
		out = append(out, line)
	}
	if calls < 10 {
		t.Errorf("%d calls, want at least 10", calls)
	}
	if *update {
		if err := os.WriteFile(transcriptsPage, []byte(strings.Join(out, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
