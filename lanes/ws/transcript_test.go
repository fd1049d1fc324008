package ws

import (
	"cmp"
	"context"
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

// TestTranscripts runs the scripts in testdata and compares every message received:
//
//	> {…}                            sends the message
//	! place 1 buy yes 10 @ 4700      places an order of user 1 in market 1
//	! cancel, tick, void, deposit, arm
//	! snapshots                      sends the orderbook_snapshot messages that are due
//	! drain, refill                  empties or fills the key's read bucket and stops its clock
//	! groups                         bounds as many groups of account 1 as an account may have
//	! stop                           the venue takes no commands any more
//	! fill                           adds subscriptions up to one less than the limit
//	@ trade                          sends a handshake with a key of this scope
//
// The transcripts contain T, S and MS in place of stamps, sequence numbers and waits, except
// for a prev_seq of 0.
func TestTranscripts(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(a.Files[0].Data))
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

// TestTranscriptsAreWhole checks that the transcripts cover every channel, command, action,
// answer, message type and wscode, but the one of a follower.
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
	for typ := range frameHeads {
		want = append(want, `< {"type":"`+typ+`"`)
	}
	for _, c := range []string{"subscribe", "unsubscribe", "update_subscription", "list_subscriptions", cancelOnDisconnect} {
		want = append(want, `"cmd":"`+c+`"`)
	}
	for _, a := range []string{"get_snapshot", "add_markets", "delete_markets"} {
		want = append(want, `"action":"`+a+`"`)
	}
	for _, f := range schemas.WSErrorTable {
		if f.Name != "read_only_node" {
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

// runScript runs a script and returns its transcript.
func runScript(t *testing.T, script string) string {
	s := newTestLaneWith(t, limits{snapshotInterval: time.Hour, maxQueueBytes: defaultLimits.maxQueueBytes, conflateBytes: defaultLimits.conflateBytes, socketBufferBytes: defaultLimits.socketBufferBytes})
	s.FreezeClock()                     // messages have the seconds to the close of a round
	s.Venue.Config.ResponseBudget = 500 // ms; one command waits for a seq that never comes
	var frozen atomic.Int64             // the token buckets' clock after drain; 0 before
	s.Venue.Config.Now = func() int64 { return cmp.Or(frozen.Load(), s.Now()) }
	scopes := core.ScopeRead
	if strings.Contains(script, "group_id") {
		scopes |= core.ScopeTrade
	}
	r := s.dial(s.NewKey(1, scopes))
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
			r.send(what)
		case line[0] == '@':
			scope, _ := core.ScopeOf(what)
			status, body := s.sendHandshake(s.handshake(s.NewKey(1, scope)))
			fmt.Fprintln(&out, "<", status, body)
		case what == "drain":
			frozen.Store(s.Now())
			s.drain()
		case what == "refill":
			frozen.Add(int64(time.Second))
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

// drain takes all read tokens of the connected keys.
func (s *testLane) drain() {
	s.lane.each(func(c *conn) {
		for s.Gate.Charge(c.call, tools.Read, 1) == nil {
		}
	})
}

// fill adds subscriptions to every connection up to one less than the limit.
func (s *testLane) fill() {
	s.lane.each(func(c *conn) {
		for len(c.subs) < maxSubscriptions-1 {
			c.lastSid++
			x := newSub(c, c.lastSid, trades, marketBit(0))
			c.subs = append(c.subs, x)
			s.lane.topics.change(x, x.markets, with)
		}
	})
}

// act runs one `!` line of a script.
func (s *testLane) act(f []string, placed *uint64) {
	switch f[0] {
	case "place":
		*placed++
		u, _ := strconv.Atoi(f[1])
		s.place(core.UserID(u), *placed, 1, strings.Join(f[2:], " "))
	case "cancel":
		s.Submit(&core.CancelAll{User: 1})
	case "tick":
		s.PostIndex(6_600_000_000_000)
	case "void":
		s.Submit(&core.VoidMarket{Market: 1})
	case "deposit":
		s.Submit(&core.Deposit{User: 1, DepositID: "again", Amount: 500})
	case "snapshots":
		for range snapshotSlices {
			s.lane.sendDueSnapshots(time.Now().Add(2 * time.Hour))
		}
	case "fill":
		s.fill()
	case "groups":
		for id := range uint32(core.GroupsMax) {
			s.Submit(&core.SetGroup{User: 1, Group: 1000 + id, FillLimit: 1, WindowMs: 1000})
		}
	case "stop":
		_ = s.Engine.Close(context.Background())
	case "arm":
		s.Submit(&core.ArmDeadman{User: 1, TimeoutMs: 60_000})
	default:
		s.T.Fatal(f)
	}
}

// all returns every message received up to the answer of a command that it sends last.
func (r *testReader) all() (out []string) {
	r.t.Helper()
	r.send(`{"id":2147483647,"cmd":"list_subscriptions"}`)
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

var number = regexp.MustCompile(`"(?:[a-z_]+_)?(?:(?:ts|seq|order_id)":"[1-9][0-9]*|after_ms":"(?:[1-9][0-9]{0,2}|1000))"`)

// varying replaces stamps, sequence numbers and waits of up to 1 s, which differ from run to run.
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
