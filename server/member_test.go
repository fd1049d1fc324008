package server_test

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/client"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/journal/logtest"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// memberVenue is a venue that is the only member of a log of several.
type memberVenue struct {
	*servertest.Venue
	silent atomic.Int64  // time since the last contact with a leader, ns
	ahead  atomic.Uint64 // groups of the log that are not applied
	off    atomic.Int64  // of the clock, ns
}

func openMember(t *testing.T) *memberVenue {
	t.Helper()
	m, log := &memberVenue{}, logtest.NewCluster(1, logtest.Faults{}).Open(1)
	m.Venue = servertest.Open(t, server.Options{
		Data: t.TempDir(), OperatorToken: operatorToken, Accounts: servertest.Accounts, StaleAfter: time.Minute,
		TuneEngine: func(o *engine.Options) {
			o.Node, o.OpenLog = 1, func(journal.Options) (engine.Log, error) { return log, nil }
			o.Members = func() engine.Members {
				at, head := log.Contact()
				return engine.Members{
					Voters: []uint32{1}, Up: []uint32{1}, Leader: 1, Contact: at.Add(-time.Duration(m.silent.Load())), Head: head + m.ahead.Load(),
					Clock: engine.ClockOffset{Offset: time.Duration(m.off.Load()), Measured: time.Now()},
				}
			}
		},
	})
	return m
}

// codeOf is the code of a client's error; "" for nil.
func codeOf(t *testing.T, err error) string {
	t.Helper()
	var e *client.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	if err == nil {
		return ""
	}
	return e.Code
}

// dial opens a socket with the key of alice.
func (m *memberVenue) dial(t *testing.T) (*websocket.Conn, int) {
	t.Helper()
	a, h := m.Account("alice"), http.Header{}
	secret, _ := schemas.ParseSecret(a.Secret)
	h.Set(schemas.HeaderKey, a.APIKey)
	for {
		signed := time.Now()
		ts := strconv.FormatInt(signed.UnixMilli(), 10)
		h.Set(schemas.HeaderTimestamp, ts)
		h.Set(schemas.HeaderSignature, schemas.Sign(secret, ts, "GET", "/v1/ws", nil))
		ws, resp, err := websocket.Dial(t.Context(), m.APIURL()+"/v1/ws", &websocket.DialOptions{HTTPHeader: h})
		if resp == nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusUnauthorized || time.Since(signed) < 4*time.Second { // otherwise held up until the signature was too old
			return ws, resp.StatusCode
		}
	}
}

// TestNodeBehind checks what callers see of a member in each kind of state: reads, writes, an
// unknown key, sockets, the portal, /readyz and metrics.
func TestNodeBehind(t *testing.T) {
	m := openMember(t)
	alice := m.Client("alice", client.MaxAttempts(1))
	stranger := m.ClientWithKey("nobody", m.Account("alice").Secret, client.MaxAttempts(1))
	for _, test := range []struct {
		state          engine.State
		silent         time.Duration
		ahead          uint64
		off            time.Duration
		read, write    string
		unknown        string
		socket, portal int
	}{
		{engine.Serving, 0, 0, 0, "", "", "unauthorized", 101, 200},
		{engine.Behind, 0, 2000, 0, "node_behind", "shed", "node_behind", 503, 503},
		{engine.Serving, 0, 0, 0, "", "", "unauthorized", 101, 200},
		{engine.Isolated, 2 * time.Second, 0, 0, "", "shed", "unauthorized", 101, 200},
		{engine.Isolated, 2 * time.Minute, 0, 0, "node_behind", "shed", "node_behind", 503, 503},
		{engine.Serving, 0, 0, 0, "", "", "unauthorized", 101, 200},
		{engine.ClockOff, 0, 0, time.Second, "", "shed", "unauthorized", 101, 200},
	} {
		waitState(t, m.Engine(), engine.Serving)
		open, status := m.dial(t)
		if status != 101 {
			t.Fatalf("a socket of a serving member: %d", status)
		}
		m.silent.Store(int64(test.silent))
		m.ahead.Store(test.ahead)
		m.off.Store(int64(test.off))
		waitState(t, m.Engine(), test.state)
		if test.read != "" { // the open socket is closed
			_, _, err := open.Read(t.Context())
			if websocket.CloseStatus(err) != websocket.StatusServiceRestart {
				t.Errorf("%v: the open socket ends with %v", test.state, err)
			}
		}
		open.CloseNow()
		_, err := alice.Balance(t.Context())
		if got := codeOf(t, err); got != test.read {
			t.Errorf("%v: a read gets %q, want %q", test.state, got, test.read)
		}
		_, err = alice.CancelAll(t.Context(), schemas.CancelAll{})
		if got := codeOf(t, err); got != test.write {
			t.Errorf("%v: a write gets %q, want %q", test.state, got, test.write)
		}
		_, err = stranger.Balance(t.Context())
		if got := codeOf(t, err); got != test.unknown {
			t.Errorf("%v: an unknown key gets %q, want %q", test.state, got, test.unknown)
		}
		ws, status := m.dial(t)
		if status != test.socket {
			t.Errorf("%v: a socket gets %d, want %d", test.state, status, test.socket)
		}
		if ws != nil {
			ws.CloseNow()
		}
		if status, _, _ := request(t, "GET", m.PortalURL()+"/keys", "", "Authorization", "Bearer "+m.Account("alice").AccountToken); status != test.portal {
			t.Errorf("%v: the portal answers %d, want %d", test.state, status, test.portal)
		}
		// Another member may have made a key that this one lacks.
		if _, _, body := request(t, "DELETE", m.PortalURL()+"/keys/dxk"+strings.Repeat("0", 24), "", "Authorization", "Bearer "+m.Account("alice").AccountToken); strings.Contains(body, `"shed"`) != (test.write != "") || strings.Contains(body, `"revoked":true`) != (test.write == "") {
			t.Errorf("%v: a revocation gets %s", test.state, body)
		}
		_, _, body := request(t, "GET", m.AdminURL()+"/readyz", "")
		inReasons := strings.Contains(body, `"reasons":["`+test.state.String()+`"`)
		if !strings.Contains(body, `"state":"`+test.state.String()+`"`) || inReasons != (test.state != engine.Serving) {
			t.Errorf("/readyz in state %v: %s, want this state, with a reason unless serving", test.state, body)
		}
		_, _, page := request(t, "GET", m.AdminURL()+"/metrics", "", "Authorization", "Bearer "+operatorToken)
		for s := range engine.States {
			if line := "duplex_cluster_state{state=\"" + s.String() + "\"} "; !strings.Contains(page, line+map[bool]string{true: "1", false: "0"}[s == test.state]) {
				t.Errorf("%v: metrics lack %s", test.state, line)
			}
		}
		m.silent.Store(0)
		m.ahead.Store(0)
		m.off.Store(0)
	}
	waitState(t, m.Engine(), engine.Serving)
}

// TestMemberMetrics checks that a member has every metric of a member, and a single machine none.
func TestMemberMetrics(t *testing.T) {
	m := openMember(t)
	waitState(t, m.Engine(), engine.Serving)
	m.Submit(&core.CreateUser{Name: "x"})
	var page string
	eventually(t, "member that has applied every group", func() bool {
		_, _, page = request(t, "GET", m.AdminURL()+"/metrics", "", "Authorization", "Bearer "+operatorToken)
		return strings.Contains(page, "duplex_cluster_behind_groups 0\n")
	})
	for _, name := range []string{
		"state", "members", "is_leader", "leader_changes_total", "number", "behind_groups", "propose_seconds", "proposals_again_total", "repeats_dropped_total",
		"foreign_commands_total", "stamp_ahead_seconds_max", "attested_seq", "attest_total",
	} {
		if !strings.Contains(page, "# TYPE duplex_cluster_"+name+" ") {
			t.Errorf("no duplex_cluster_%s", name)
		}
	}
	for _, line := range []string{"duplex_cluster_is_leader 1\n", `duplex_cluster_members{role="voter"} 1`} {
		if !strings.Contains(page, line) {
			t.Errorf("no %q", line)
		}
	}
	single := servertest.OpenLive(t, t.TempDir(), nil)
	_, _, page = request(t, "GET", single.AdminURL()+"/metrics", "", "Authorization", "Bearer "+operatorToken)
	if strings.Contains(page, "duplex_cluster_") {
		t.Error("a single machine has metrics of a member")
	}
}

// TestStatesAreDocumented checks the names of the states, which metrics and /readyz have.
func TestStatesAreDocumented(t *testing.T) {
	var names []string
	for s := range engine.States {
		names = append(names, s.String())
	}
	want := []string{"serving", "disk_full", "clock_off", "suspect", "behind", "isolated", "joining", "draining", "damaged", "diverged"}
	if !slices.Equal(names, want) {
		t.Errorf("the states are %v, want %v", names, want)
	}
}

// TestMembersShareFourEyes checks that the limit of two-person approval is a setting that the members
// compare: no operator gets around it at a member without one.
func TestMembersShareFourEyes(t *testing.T) {
	limits := map[string]*core.Pips{"off": nil, "0 pips": new(core.Pips(0)), "10000000 pips": new(core.Pips(10_000_000))}
	for want, limit := range limits {
		if got := server.ClusterSettings(server.Options{FourEyes: limit})["--four-eyes"]; got != want {
			t.Errorf("the setting is %q, want %q", got, want)
		}
	}
}
