package ws

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"duplex/core"
	"duplex/schemas"
	"duplex/tools"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// TestTranscripts plays what each script says and compares all that comes back.
//
//	> {…}                            is sent
//	! place 1 buy yes 10 @ 4700      user 1 in market 1; also: cancel, tick, void, deposit, arm
//	! snapshots                      the time of the next orderbook_snapshots has come
//	! drain, refill                  of the key's read tokens; no others come
//	! fill                           up to one less than the most subscriptions
//	@ trade                          another shakes hands, with a key of this scope
//
// Stamps, sequence numbers and waits are written as T, S and MS, but for the prev_seq of a first
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

// What there is to say stands in some transcript: every channel, command, action,
// answer, kind of message and wscode. Only 8 cannot be met: a handshake wants the
// scope.
func TestTranscriptsAreWhole(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	var all strings.Builder
	for _, name := range files {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(a.Files[1].Data)
	}
	var want []string
	for _, c := range schemas.WSChannels {
		want = append(want, `"type":"subscribed","msg":{"channel":"`+c+`"`)
	}
	for typ := range heads {
		want = append(want, `< {"type":"`+typ+`"`)
	}
	for _, c := range []string{"subscribe", "unsubscribe", "update_subscription", "list_subscriptions"} {
		want = append(want, `"cmd":"`+c+`"`)
	}
	for _, a := range []string{"get_snapshot", "add_markets", "delete_markets"} {
		want = append(want, `"action":"`+a+`"`)
	}
	for _, f := range schemas.WSFaults {
		if f.Code != 8 {
			want = append(want, fmt.Sprintf(`"type":"error","msg":{"code":%d,"name":"%s"`, f.Code, f.Name))
		}
	}
	want = append(want, `"type":"unsubscribed"`, `"type":"ok"`, `"resumed":true`, `"resumed":false`, `"retry_after_ms":`, `< 403 `)
	for _, w := range want {
		if !strings.Contains(all.String(), w) {
			t.Errorf("no transcript has %s", w)
		}
	}
}

func play(t *testing.T, script string) string {
	s := newStreamWith(t, bounds{every: time.Hour, queue: defaultBounds.queue, thin: defaultBounds.thin, room: defaultBounds.room})
	var still atomic.Int64 // the time of the token buckets since drain
	s.Venue.Terms.Now = func() int64 { return cmp.Or(still.Load(), s.Now()) }
	r := s.dial(s.Key(1, core.ScopeRead))
	var out strings.Builder
	var placed uint64
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		fmt.Fprintln(&out, line)
		what := strings.TrimSpace(line[1:])
		switch {
		case line[0] == '>':
			r.say(what)
		case line[0] == '@':
			scope, _ := core.ScopeOf(what)
			status, body := s.refused(s.handshake(s.Key(1, scope)))
			fmt.Fprintln(&out, "<", status, body)
		case what == "drain":
			still.Store(s.Now())
			s.drain()
		case what == "refill":
			still.Add(int64(time.Second))
		default:
			s.act(strings.Fields(what), &placed)
			s.published()
		}
		for _, got := range r.all() {
			fmt.Fprintln(&out, "<", varying(got))
		}
	}
	return out.String()
}

// drain takes all read tokens of the keys that are connected.
func (s *stream) drain() {
	s.lane.each(func(c *conn) {
		for s.Gate.Pay(c.call, tools.Read, 1) == nil {
		}
	})
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
	case "snapshots":
		for range phases {
			s.lane.snapshots(time.Now().Add(2 * time.Hour))
		}
	case "fill":
		s.fill()
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
	number = regexp.MustCompile(`"((?:[a-z_]+_)?(?:ts|seq|order_id|after_ms))":"([1-9][0-9]*)"`)
)

func varying(line string) string {
	return number.ReplaceAllStringFunc(line, func(m string) string {
		name, _, _ := strings.Cut(strings.Trim(m, `"`), `"`)
		switch {
		case name == "client_order_id":
			return m
		case strings.HasSuffix(name, "ms"):
			return `"` + name + `":"MS"`
		case strings.HasSuffix(name, "ts"):
			return `"` + name + `":"T"`
		default:
			return `"` + name + `":"S"`
		}
	})
}
