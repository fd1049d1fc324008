package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/core/journal"
)

// refusedStart starts a member that must not start, and returns why.
func (r *trial) refusedStart(o Options) error {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Minute)
	defer cancel()
	c, err := Open(ctx, o)
	if err == nil {
		c.Close()
		r.Fatal("the member starts")
	}
	if ctx.Err() != nil {
		r.Fatal("the member waits: ", err)
	}
	return err
}

// waitingStart starts the third member, which says that it has no data, and returns why it ends.
func (r *trial) waitingStart(o Options) <-chan error {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Minute)
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		c, err := Open(ctx, o)
		if err == nil {
			err = errors.Join(errors.New("it has started"), c.Close())
		}
		ended <- err
	}()
	await(r, "the member says that it has no data", func() bool {
		resp, err := http.Get("http://" + o.Members[2].Peer + formingPath)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
	return ended
}

// refusal is a start of the third member that must fail.
type refusal struct {
	name   string
	change func(o *Options) // of its options or its data; nil: none
	want   func(err error) bool
}

// forgotten is the damage of a member that has lost etcd's data, by what it has itself.
func forgotten(err error) bool {
	damage := (*journal.Damage)(nil)
	return errors.As(err, &damage) && errors.Is(err, errForgotten)
}

// dataLost is the refusal of a member that the others know to have taken part.
func dataLost(err error) bool {
	wrong := (*OptionError)(nil)
	return errors.As(err, &wrong) && wrong.Option == "data"
}

// differs is the refusal of a member over a setting.
func differs(text string) func(error) bool {
	return func(err error) bool {
		wrong := (*SettingError)(nil)
		return errors.As(err, &wrong) && strings.Contains(err.Error(), text)
	}
}

// refuse checks that the third member does not start, and that its etcd does not either if it has no data.
func (r *trial) refuse(when string, list ...refusal) {
	r.Helper()
	_, err := os.Stat(r.options[2].etcdMember())
	empty := errors.Is(err, os.ErrNotExist)
	for _, x := range list {
		o := r.options[2]
		o.Members = slices.Clone(o.Members)
		if x.change != nil {
			x.change(&o)
		}
		if err := r.refusedStart(o); !x.want(err) {
			r.Errorf("%s, a start %s: %v", when, x.name, err)
		}
		if empty {
			r.noEtcd(when + ", a start " + x.name)
		}
	}
}

// etcdMember is the folder of etcd's data.
func (o *Options) etcdMember() string { return filepath.Join(o.Dir, "etcd", "member") }

// noEtcd checks that the third member's etcd has written nothing.
func (r *trial) noEtcd(when string) {
	r.Helper()
	if found, err := filepath.Glob(filepath.Join(r.options[2].etcdMember(), "*", "*")); err != nil || len(found) != 0 {
		r.Fatalf("%s: etcd has started: %v %v", when, found, err)
	}
}

// remove removes a file or folder of the third member.
func (r *trial) remove(name string) {
	r.Helper()
	if err := os.RemoveAll(filepath.Join(r.options[2].Dir, name)); err != nil {
		r.Fatal(err)
	}
}

// TestRefusedStarts checks which starts of a member fail. Without data, one with another master key or another list
// than the majority does not start etcd, beside members that form the cluster and beside members that run; one with
// the old key too does. With data, one whose settings differ does not join. A member that has lost etcd's data does
// not vote: after a restart of all it could elect one that lacks what it had confirmed.
func TestRefusedStarts(t *testing.T) {
	t.Parallel()
	r := prepareTrial(t, 3)
	for i := range r.options {
		r.options[i].Election = 500 * time.Millisecond // who leads is of no interest here
	}
	third := &r.options[2]
	third.Dir = filepath.Join(r.dir, strings.Repeat("long", 30), "c") // too long for a socket
	another := []byte("another")
	otherKey := func(o *Options) { o.MasterKeys = [][]byte{another} }
	otherEnvironment := func(o *Options) { o.Settings = map[string]string{"environment": "live"} }
	join := func(o *Options) { o.Join = true }

	wrong := *third
	otherKey(&wrong)
	ended := r.waitingStart(wrong)
	r.startFirst(2)
	if err := <-ended; !differs("the master key")(err) {
		t.Errorf("with another master key, while the others form the cluster: %v", err)
	}
	r.noEtcd("while the others form the cluster")
	r.refuse("beside members that run",
		refusal{"with another master key", otherKey, differs("the master key")},
		refusal{"with another master key and --join", func(o *Options) { otherKey(o); join(o) }, differs("the master key")},
		refusal{"with another list", func(o *Options) { o.Members[1].Peer = newHost() + ":7000" }, differs("")},
	)
	third.MasterKeys = [][]byte{another, masterKey}
	r.startAll()
	r.stop(2)
	third.MasterKeys = [][]byte{masterKey}
	r.refuse("with its data",
		refusal{"in another environment", otherEnvironment, differs("environment is live")},
		refusal{"with another master key", otherKey, differs("the master key")},
		refusal{"with another name", func(o *Options) { o.Name = "b" }, differs("--node")},
	)
	other := slices.Clone(third.Members)
	other[0].Peer = "127.0.0.1:1"
	if _, err := r.clusters[0].config.Load().checkMembers(other); err == nil {
		t.Error("another address of a member is accepted")
	}
	r.closeAll()
	r.refuse("with its data, while nobody else runs", refusal{"in another environment", otherEnvironment, differs("environment is live")}) // it does not wait for the others

	r.startFirst(2)
	r.remove("etcd")
	r.refuse("without etcd's data",
		refusal{"as before", nil, forgotten},
		refusal{"with --join", join, forgotten},
		refusal{"with an empty WAL", func(o *Options) { os.MkdirAll(filepath.Join(o.etcdMember(), "wal"), 0o700) }, forgotten},
	)
	for _, x := range []refusal{{"as before", nil, dataLost}, {"with --join", join, dataLost}} {
		r.remove("")
		r.refuse("without its folder", x)
	}
	// Whom it reaches nobody tells it that it has taken part. The others come back later, and form a majority.
	r.closeAll()
	r.remove("")
	ended = r.waitingStart(*third)
	r.noEtcd("without its folder, while nobody else runs")
	r.startFirst(2)
	if err := <-ended; !dataLost(err) {
		t.Errorf("without its folder, when the others come back: %v", err)
	}
}

// TestOptions checks which options are refused, and that the error names them.
func TestOptions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Options)
		option string // "": accepted
	}{
		"as given":                  {func(*Options) {}, ""},
		"a node that is no member":  {func(o *Options) { o.Name = "z" }, "node"},
		"no master key":             {func(o *Options) { o.MasterKeys = nil }, "master-key"},
		"a certificate without key": {func(o *Options) { o.Cert = "a.crt" }, "cluster-cert"},
		"1 ms and 5 ms":             {func(o *Options) { o.Heartbeat, o.Election = time.Millisecond, 5*time.Millisecond }, ""},
		"4.9 heartbeats":            {func(o *Options) { o.Heartbeat, o.Election = 50*time.Millisecond, 245*time.Millisecond }, "election"},
		"an election of a minute":   {func(o *Options) { o.Election = time.Minute }, "election"},
		"a heartbeat below 1 ms":    {func(o *Options) { o.Heartbeat = 999 * time.Microsecond }, "heartbeat"},
		"a negative heartbeat":      {func(o *Options) { o.Heartbeat = -time.Second }, "heartbeat"},
	} {
		o := prepareTrial(t, 3).options[0]
		test.change(&o)
		err, got := o.complete(), ""
		if wrong := (*OptionError)(nil); errors.As(err, &wrong) {
			got = wrong.Option
		}
		if got != test.option || (err == nil) != (test.option == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlaintextStaysOnLoopback checks that without certificates no port is reached from other
// machines, which would be members without a key.
func TestPlaintextStaysOnLoopback(t *testing.T) {
	t.Parallel()
	loopback := []Address{{"a", "127.1.2.3:7000"}, {"b", "localhost:7000"}, {"c", "[::1]:7000"}}
	for _, test := range []struct {
		node, peer, follow, advertise string
		wantPeer, wantFollow          string // "": refused
	}{
		{"a", ":7000", ":7001", "", "127.1.2.3:7000", "127.1.2.3:7001"},
		{"b", ":7000", ":7001", "", "localhost:7000", "localhost:7001"},
		{"c", ":9000", ":9001", "", "[::1]:9000", "[::1]:9001"},
		{"a", "", "", "", "127.1.2.3:7000", ""},
		{"a", "127.0.0.1:7000", "127.0.0.1:7001", "127.0.0.1:7001", "127.0.0.1:7000", "127.0.0.1:7001"},
		{"a", "0.0.0.0:7000", ":7001", "", "", ""},
		{"a", "[::]:7000", ":7001", "", "", ""},
		{"a", "10.0.0.1:7000", ":7001", "", "", ""},
		{"a", ":7000", "0.0.0.0:7001", "", "", ""},
		{"a", ":7000", ":7001", "10.0.0.1:7001", "", ""},
	} {
		o := Options{Name: test.node, Members: loopback, PeerListen: test.peer, FollowListen: test.follow, FollowAdvertise: test.advertise, MasterKeys: [][]byte{masterKey}}
		err := o.complete()
		wrong := (*OptionError)(nil)
		if refused := errors.As(err, &wrong) && wrong.Option == "cluster-cert"; refused != (test.wantPeer == "") {
			t.Errorf("%+v: %v", test, err)
			continue
		}
		if test.wantPeer != "" && (o.PeerListen != test.wantPeer || o.FollowListen != test.wantFollow) {
			t.Errorf("%+v: listens on %s and %s", test, o.PeerListen, o.FollowListen)
		}
		o.Cert, o.Key, o.CA = "c", "k", "a"
		o.PeerListen, o.FollowListen, o.FollowAdvertise = test.peer, test.follow, test.advertise
		if err := o.complete(); err != nil {
			t.Errorf("%+v with certificates: %v", test, err)
		}
	}
}

// TestFollowPortWhileAMemberStarts checks that the follow port of a member that waits for a majority
// answers that it starts, to whatever is asked.
func TestFollowPortWhileAMemberStarts(t *testing.T) {
	t.Parallel()
	r := prepareTrial(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Open(ctx, r.options[0])
		ended <- err
	}()
	defer func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	base := "http://" + r.options[0].FollowListen
	await(t, "the follow port answers", func() bool {
		resp, err := http.Get(base + "/v1/status")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
	for range 20 {
		for _, path := range []string{"GET /v1/status", "GET /v1/clock", "GET /v1/log?from=1", "GET /v1/snapshot", "POST /v1/defrag"} {
			method, path, _ := strings.Cut(path, " ")
			req, err := http.NewRequestWithContext(t.Context(), method, base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("%s: %s", path, resp.Status)
			}
		}
	}
}

// TestFormingSize checks how many members may form a cluster.
func TestFormingSize(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 7; n++ {
		r := prepareTrial(t, n)
		c := &Cluster{opt: r.options[0]}
		for what, id := range map[string]*identity{"new": nil, "with a journal": {Name: "a", Node: 1, Forming: true}} {
			c.identity = id
			if err := c.checkIdentity(); errors.Is(err, ErrSize) == slices.Contains([]int{1, 3, 5}, n) {
				t.Errorf("%d members, %s: %v", n, what, err)
			}
		}
		c.identity, c.opt.Join = nil, true
		if err := c.checkIdentity(); err != nil {
			t.Errorf("%d members, one that joins: %v", n, err)
		}
	}
}

// TestForgedNodes checks that whoever has no certificate, one of another authority, or that of a
// follower, gets nothing from the ports of a member beyond what a follower may read, and that a member
// takes nothing from a server that has no member's certificate.
func TestForgedNodes(t *testing.T) {
	t.Parallel()
	r := prepareTrial(t, 1)
	certs, other := filepath.Join(r.dir, "certs"), filepath.Join(r.dir, "other")
	host := strings.TrimSuffix(r.options[0].Members[0].Peer, ":7000")
	for _, dir := range []string{certs, other} {
		if _, err := WriteCerts(dir, []CertHost{{"a", host}, {"b", host}}, []CertHost{{"f", host}}, CertOptions{Valid: time.Hour, Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	both := filepath.Join(r.dir, "both.crt")
	if err := writeBundle(both, certs, other); err != nil {
		t.Fatal(err)
	}
	with := func(dir, name, ca string) *Options {
		o := &Options{Cert: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key"), CA: ca, Log: slog.New(slog.DiscardHandler)}
		if err := o.readCerts(nil, roleMember, roleFollower); err != nil {
			t.Fatal(err)
		}
		return o
	}
	own := with(certs, "a", filepath.Join(certs, "ca.crt"))
	r.options[0].Cert, r.options[0].Key, r.options[0].CA = own.Cert, own.Key, own.CA
	r.startAll()
	defer r.open(0).Close()
	peer, follow := r.options[0].Members[0].Peer, r.options[0].FollowListen
	socket := filepath.Join(r.options[0].Dir, "etcd", "client.sock")
	if info, err := os.Stat(socket); len(socket) <= socketPathMax && (err != nil || info.Mode() != os.ModeSocket|0o600) {
		t.Errorf("etcd's client listener: %v %v", info, err)
	}
	if info, err := os.Stat(r.options[0].peerPair()); err != nil || info.Mode() != 0o600 {
		t.Errorf("the pair that etcd reads: %v %v", info, err)
	}
	client := func(o *Options) *http.Client {
		c := o.httpClient(roleMember)
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
	dialing := func(change func(*tls.Config)) *http.Client {
		config := with(certs, "b", both).clientTLS(host, roleMember)
		change(config)
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
	without := dialing(func(c *tls.Config) { c.Certificates = nil })
	older := dialing(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 })
	plain := &http.Client{}
	t.Cleanup(plain.CloseIdleConnections)
	paths := []string{
		peer + " GET /members", peer + " POST /raft", peer + " GET /raft/probing", peer + " GET /version", peer + " POST /members/promote/1", peer + " POST /downgrade/enabled",
		follow + " GET /v1/status", follow + " GET /v1/clock", follow + " GET /v1/log?from=1", follow + " GET /v1/snapshot", follow + " POST /v1/defrag",
	}
	send := func(c *http.Client, scheme, path string) (status int, err error) {
		address, rest, _ := strings.Cut(path, " ")
		method, path, _ := strings.Cut(rest, " ")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, method, scheme+"://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if ctx.Err() != nil {
			t.Fatalf("%s: no answer", path)
		}
		if err != nil {
			return 0, err
		}
		resp.Body.Close()
		return resp.StatusCode, nil
	}
	for _, path := range paths {
		for name, c := range map[string]*http.Client{"no certificate": without, "the certificate of another authority": client(with(other, "b", both)), "TLS 1.2": older} {
			if status, err := send(c, "https", path); err == nil {
				t.Errorf("%s with %s: %d", path, name, status)
			}
		}
		if status, err := send(plain, "http", path); err == nil && status != http.StatusBadRequest {
			t.Errorf("%s without TLS: %d", path, status)
		}
		status, err := send(client(with(certs, "f", both)), "https", path)
		switch {
		case strings.HasPrefix(path, peer):
			if err == nil {
				t.Errorf("%s as a follower: %d", path, status)
			}
		case strings.Contains(path, "POST"):
			if err != nil || status != http.StatusForbidden {
				t.Errorf("%s as a follower: %d %v", path, status, err)
			}
		case err != nil || status >= 400 && status != http.StatusNotFound:
			t.Errorf("%s as a follower: %d %v", path, status, err)
		}
		await(t, path+" as a member", func() bool { // etcd ends a connection that was held up for 5 s
			status, err = send(client(with(certs, "b", both)), "https", path)
			return err == nil
		})
		if status == http.StatusForbidden {
			t.Errorf("%s as a member: %d", path, status)
		}
	}

	// The other way round: a member asks a server of one of these certificates.
	server := func(o *Options) string {
		address := newHost() + ":7001"
		p, l, err := newFollowPort(t.Context(), &source{}, address, o)
		if err != nil {
			t.Fatal(err)
		}
		go p.serve(l)
		t.Cleanup(func() { p.server.Close() })
		return address
	}
	for name, test := range map[string]struct {
		o    *Options
		good bool
	}{
		"a member":                      {with(certs, "b", both), true},
		"a follower":                    {with(certs, "f", both), false},
		"a member of another authority": {with(other, "b", both), false},
	} {
		host := server(test.o)
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: own.clientTLS("localhost", roleMember)}} // the certificates are of another host
		t.Cleanup(c.CloseIdleConnections)
		resp, err := c.Get("https://" + host + "/v1/clock")
		if err == nil {
			err = errors.Join(json.NewDecoder(resp.Body).Decode(&struct{}{}), resp.Body.Close())
		}
		if (err == nil) != test.good {
			t.Errorf("a member reads from %s: %v", name, err)
		}
	}
}
