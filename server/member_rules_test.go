package server_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/cluster"
	"duplex/core"
	"duplex/core/feed"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/portal"
	"duplex/schemas"
	"duplex/server"
	"duplex/tools"
)

// freePeer is an address of this machine that nothing else listens on.
func freePeer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return fmt.Sprintf("127.%d.%d.%d:%s", 200+rand.N(50), rand.N(250), 1+rand.N(250), port)
}

// oneMember are the options of the only member of a cluster with etcd.
func oneMember(t *testing.T, dir string) server.Options {
	t.Helper()
	peer := freePeer(t)
	return server.Options{
		Data: dir, OperatorToken: operatorToken, MasterKey: []byte(strings.Repeat("k", 32)), DisputeWindow: 7 * time.Second,
		Cluster: &cluster.Options{Name: "a", Members: []cluster.Address{{Name: "a", Peer: peer}}, PeerListen: peer, Heartbeat: 10 * time.Millisecond, Election: 50 * time.Millisecond},
	}
}

func openAndClose(t *testing.T, o server.Options) (rules core.Rules) {
	t.Helper()
	v, err := server.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	v.Engine().Read(func(s *venue.Venue, _ *view.View) { rules = s.Rules() })
	if err := v.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return rules
}

// refusedRules checks that a start fails because of a setting.
func refusedRules(t *testing.T, o server.Options, setting string) {
	t.Helper()
	v, err := server.Open(t.Context(), o)
	if err == nil {
		v.Close(t.Context())
	}
	wrong := (*cluster.SettingError)(nil)
	if option := (*server.OptionError)(nil); !errors.As(err, &option) || !errors.As(err, &wrong) || wrong.Setting != setting {
		t.Errorf("a start with another %s: %v, want an error of this setting", setting, err)
	}
}

// TestFlagsChangeNoRulesOfACluster checks that the flags of the first start are the rules of a cluster,
// and that others are an error at a later start, not a change.
func TestFlagsChangeNoRulesOfACluster(t *testing.T) {
	dir := t.TempDir()
	o := oneMember(t, dir)
	o.Limits[core.BTC] = feed.Limit{MinSources: 2}
	if r := openAndClose(t, o); r.DisputeNs != int64(7*time.Second) || r.MinSources[core.BTC] != 2 {
		t.Fatalf("the rules of the new member: %+v, want a dispute window of 7 s and 2 sources for BTC", r)
	}
	other := o
	other.Limits[core.BTC] = feed.Limit{MinSources: 3}
	refusedRules(t, other, cluster.SettingMinSources)
	other = o
	other.DisputeWindow = 8 * time.Second
	refusedRules(t, other, cluster.SettingDispute)
	if r := openAndClose(t, o); r.DisputeNs != int64(7*time.Second) || r.MinSources[core.BTC] != 2 {
		t.Errorf("the rules after the refused starts: %+v, want a dispute window of 7 s and 2 sources for BTC", r)
	}
}

// TestFlagsChangeNoRulesOfAJournal checks that a member that begins a cluster with a journal keeps the
// rules of the journal: another flag is an error before etcd has anything.
func TestFlagsChangeNoRulesOfAJournal(t *testing.T) {
	dir := t.TempDir()
	o := oneMember(t, dir)
	single := o
	single.Cluster = nil
	openAndClose(t, single)
	if _, err := cluster.Init(dir, "a"); err != nil {
		t.Fatal(err)
	}
	other := o
	other.DisputeWindow = 8 * time.Second
	refusedRules(t, other, cluster.SettingDispute)
	other = o
	other.Limits[core.BTC] = feed.Limit{MinSources: 3}
	refusedRules(t, other, cluster.SettingMinSources)
	if _, err := os.Stat(filepath.Join(dir, "etcd")); !os.IsNotExist(err) {
		t.Error("etcd has started: ", err)
	}
	if r := openAndClose(t, o); r.DisputeNs != int64(7*time.Second) {
		t.Errorf("the rules of the journal: %+v, want its dispute window of 7 s", r)
	}
}

// TestMembersShareSettings checks that a member does not start if a setting that all members must have
// alike, or its list of the members, differs from the cluster's.
func TestMembersShareSettings(t *testing.T) {
	o := oneMember(t, t.TempDir())
	openAndClose(t, o)
	for setting, change := range map[string]func(*server.Options){
		"--oracle":       func(o *server.Options) { o.Oracle = "live" },
		"--read-rate":    func(o *server.Options) { o.ReadRate = 50 },
		"--write-floor":  func(o *server.Options) { o.WriteFloor = 30 },
		"--account-rate": func(o *server.Options) { o.AccountRate = new(int64(30)) },
		"--mirror":       func(o *server.Options) { o.Mirror = "sqlite" },
		"--cluster": func(o *server.Options) {
			o.Cluster.Members = append(slices.Clone(o.Cluster.Members), cluster.Address{Name: "b", Peer: "127.0.0.1:1"})
		},
	} {
		other, options := o, *o.Cluster
		other.Cluster = &options
		change(&other)
		refusedRules(t, other, setting)
	}
	openAndClose(t, o)
}

// TestPortsBetweenNodesDiffer checks that a node does not start if one of its ports is that of another
// listener.
func TestPortsBetweenNodesDiffer(t *testing.T) {
	for _, test := range []struct {
		peer, follow string
		good         bool
	}{
		{":7000", ":7001", true},
		{":7000", ":7000", false},
		{"127.0.0.1:8080", ":7001", false},
		{":7000", "127.0.0.1:8081", false},
		{":8082", ":7001", false},
		{"127.0.0.2:8082", ":7001", true},
		{"[::]:8082", ":7001", false},
		{"", ":7001", true},
		{"", ":7002", false}, // the peer address of the member
	} {
		o := server.Options{
			API: ":8080", Portal: "127.0.0.1:8081", Admin: "127.0.0.1:8082", MasterKey: make([]byte, 32),
			Cluster: &cluster.Options{Name: "b", Members: []cluster.Address{{Name: "a", Peer: "127.0.0.1:7002"}, {Name: "b", Peer: "127.0.0.1:7002"}}, PeerListen: test.peer, FollowListen: test.follow},
		}
		err := server.CheckPorts(&o)
		if wrong := (*server.OptionError)(nil); (err == nil) != test.good || err != nil && (!errors.As(err, &wrong) || wrong.Option != "Cluster") {
			t.Errorf("ports %+v: %v, want an error of Cluster unless good", test, err)
		}
	}
	if server.CheckPorts(&server.Options{API: ":7001", Follow: &cluster.FollowerOptions{Listen: "127.0.0.1:7001"}}) == nil {
		t.Error("a follower's port may be that of the API")
	}
}

// TestSignUpOfACluster checks that a cluster whose record has no --account-rate, as every record from before
// the default has, starts with and without a sign-up, and that the sign-up brings the default.
func TestSignUpOfACluster(t *testing.T) {
	o := oneMember(t, t.TempDir())
	for _, x := range []struct {
		signUp portal.SignUp
		want   int64
	}{{portal.SignUpOff, 0}, {portal.SignUpOpen, tools.DefaultAccountRate}, {portal.SignUpOff, 0}} {
		o.SignUp = x.signUp
		v, err := server.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if recorded, err := cluster.RecordedSettings(o.Data); err != nil || recorded["--account-rate"] != "0" {
			t.Errorf("the record is %v, %v", recorded, err)
		}
		if got := v.Gate().Venue.Config.SharedRate(20); got != x.want {
			t.Errorf("sign-up %s: the rate of an account is %d", x.signUp, got)
		}
		if err := v.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	o.SignUp, o.AccountRate = portal.SignUpOpen, new(int64(0))
	v, err := server.Open(t.Context(), o)
	if option := (*server.OptionError)(nil); !errors.As(err, &option) || option.Option != "AccountRate" {
		t.Errorf("an account rate of 0 with the sign-up open: %v, want an error of AccountRate", err)
		v.Close(t.Context())
	}
}

// TestUnfundedOnAMember checks that a member sequences a placement of an account that holds no money as far as it
// knows, because another one may have taken a deposit, and that a single machine does not
// (docs/rules/orders.md#accounts-without-money).
func TestUnfundedOnAMember(t *testing.T) {
	for name, o := range map[string]server.Options{"member": oneMember(t, t.TempDir()), "single machine": {}} {
		v, err := server.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Engine().Submit(t.Context(), &core.CreateUser{Name: "unfunded"}); err != nil {
			t.Fatal(err)
		}
		rows := func() (n int) {
			v.Engine().Read(func(_ *venue.Venue, w *view.View) {
				for range w.Orders(1, 0) {
					n++
				}
			})
			return n
		}
		place := &schemas.PlaceOrder{ClientOrderID: 1, MarketID: 1, Side: "buy", Outcome: "yes", Tick: new(schemas.Int(5000)), Qty: 10}
		if _, err := tools.PlaceOrder.Do(t.Context(), v.Gate().Venue, tools.Caller{User: 1}, place); !errors.Is(err, core.UnknownMarket) {
			t.Errorf("%s: an order without money: %v, want unknown_market", name, err)
		}
		if got, want := rows(), map[string]int{"member": 1}[name]; got != want {
			t.Errorf("%s: %d rows, want %d", name, got, want)
		}
		if err := v.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
