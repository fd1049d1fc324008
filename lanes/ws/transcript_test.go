package ws

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"duplex/core"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// TestTranscripts plays what each script says and compares all that comes back.
//
//	> {…}                            is sent
//	! place 1 buy yes 10 @ 4700      user 1 in market 1; also: cancel, tick, void, deposit
//
// Stamps and sequence numbers are written as T and S, but for the prev_seq of a first
// frame.
func TestTranscripts(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(a.Files[0].Data))
			if *update {
				a.Files = []txtar.File{a.Files[0], {Name: "transcript", Data: []byte(got)}}
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(a.Files[1].Data); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func play(t *testing.T, script string) string {
	s := newStream(t)
	r := s.dial(s.Key(1, core.ScopeRead))
	var out strings.Builder
	var placed uint64
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		fmt.Fprintln(&out, line)
		if what, ok := strings.CutPrefix(line, ">"); ok {
			r.say(strings.TrimSpace(what))
		} else {
			s.act(strings.Fields(line)[1:], &placed)
			s.eventually(func() bool { s.lane.mu.Lock(); defer s.lane.mu.Unlock(); return s.lane.at >= s.Engine.Seq() })
		}
		for _, got := range r.all() {
			fmt.Fprintln(&out, "<", varying(got))
		}
	}
	return out.String()
}

// act lets something happen at the venue.
func (s *stream) act(f []string, placed *uint64) {
	switch f[0] {
	case "place":
		*placed++
		u, _ := strconv.Atoi(f[1])
		s.place(core.UserID(u), *placed, 1, strings.Join(f[2:], " "))
	case "cancel":
		s.Do(&core.CancelAll{User: 1})
	case "tick":
		s.Tick(6_600_000_000_000)
	case "void":
		s.Do(&core.VoidMarket{Market: 1})
	case "deposit":
		s.Do(&core.Deposit{User: 1, DepositID: "again", Amount: 500})
	case "arm":
		s.Do(&core.ArmDeadman{User: 1, TimeoutMs: 60_000})
	default:
		s.T.Fatal(f)
	}
}

// all gives what came up to the answer of a last command of its own.
func (r *reader) all() (out []string) {
	r.t.Helper()
	r.say(`{"id":2147483647,"cmd":"list_subscriptions"}`)
	for {
		raw, err := r.raw()
		if err != nil {
			r.t.Fatal(err)
		}
		if strings.HasPrefix(string(raw), `{"id":2147483647,`) {
			return out
		}
		out = append(out, string(raw))
	}
}

var (
	number = regexp.MustCompile(`"((?:[a-z_]+_)?(?:ts|seq|order_id))":"([1-9][0-9]*)"`)
)

func varying(line string) string {
	return number.ReplaceAllStringFunc(line, func(m string) string {
		name, _, _ := strings.Cut(strings.Trim(m, `"`), `"`)
		switch {
		case name == "client_order_id":
			return m
		case strings.HasSuffix(name, "ts"):
			return `"` + name + `":"T"`
		default:
			return `"` + name + `":"S"`
		}
	})
}
