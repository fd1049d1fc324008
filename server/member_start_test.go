package server_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"duplex/cluster"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/journal/logtest"
	"duplex/server"
)

// TestFailedStartWithoutMajorityEnds checks that a start which fails because no command is delivered
// ends, although the commands stay undelivered.
func TestFailedStartWithoutMajorityEnds(t *testing.T) {
	defer server.ShortenStart(100 * time.Millisecond)()
	log := logtest.NewCluster(1, logtest.Faults{Lost: 1000}).Open(1)
	ended := make(chan error, 1)
	go func() {
		_, err := server.Open(context.Background(), server.Options{
			Data: t.TempDir(), OperatorToken: operatorToken,
			TuneEngine: func(o *engine.Options) {
				o.Node, o.OpenLog = 1, func(journal.Options) (engine.Log, error) { return log, nil }
				o.Members = func() engine.Members {
					at, head := log.Contact()
					return engine.Members{Voters: []uint32{1, 2, 3}, Up: []uint32{1}, Leader: 1, Contact: at, Head: head, Clock: engine.ClockOffset{Measured: time.Now()}}
				}
			},
		})
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the venue is open")
		}
	case <-time.After(time.Minute):
		t.Fatal("the start does not end")
	}
}

// TestDamagedIdentityIsFinal checks that a node whose file CLUSTER is damaged stops as damaged, so that
// no supervisor starts it again.
func TestDamagedIdentityIsFinal(t *testing.T) {
	members := []cluster.Address{{Name: "a", Peer: "127.0.0.1:7000"}}
	for name, o := range map[string]server.Options{
		"single machine": {},
		"member":         {Cluster: &cluster.Options{Name: "a", Members: members}},
		"follower":       {Follow: &cluster.FollowerOptions{Name: "f", From: []string{"127.0.0.1:1"}}},
	} {
		o.Data, o.OperatorToken, o.MasterKey = t.TempDir(), operatorToken, make([]byte, 32)
		if err := os.WriteFile(filepath.Join(o.Data, "CLUSTER"), []byte("{}\ncrc32c 00000000\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := server.Open(t.Context(), o)
		if !errors.Is(err, engine.ErrDamaged) {
			t.Errorf("the damaged identity of a %s: %v, want ErrDamaged", name, err)
		}
	}
}

// TestWaitingMemberIsJoining checks that a member which waits for the others at its start answers as one that is
// joining. The operator's listener names that state. The other listeners answer with shed and node_behind, after which
// a client asks another member.
func TestWaitingMemberIsJoining(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	peers := []string{freePeer(t), freePeer(t), freePeer(t)}
	o := server.Options{
		Data: t.TempDir(), OperatorToken: operatorToken, MasterKey: make([]byte, 32), Oracle: "manual", Environment: "live",
		APIListener: listenLoopback(t), PortalListener: listenLoopback(t), AdminListener: listenLoopback(t), Log: slog.New(slog.DiscardHandler),
		Cluster: &cluster.Options{Name: "a", Members: []cluster.Address{{Name: "a", Peer: peers[0]}, {Name: "b", Peer: peers[1]}, {Name: "c", Peer: peers[2]}}, PeerListen: peers[0], FollowListen: "127.0.0.1:0"},
	}
	ended := make(chan error, 1)
	go func() {
		_, err := server.Open(ctx, o)
		ended <- err
	}()
	for _, x := range []struct {
		listener     net.Listener
		method, path string
		header       []string
		want         string
	}{
		{o.AdminListener, "POST", "/admin/users/1/deposits", []string{"Authorization", "Bearer " + operatorToken}, `"code":"shed","num":null,"origin":"gateway","message":"shed","details":{"reason":"joining"}`},
		{o.AdminListener, "GET", "/admin/cluster", nil, `"code":"unauthorized"`},
		{o.APIListener, "GET", "/v1/exchange/status", nil, `"code":"node_behind","num":null,"origin":"gateway","message":"node_behind","details":null`},
		{o.APIListener, "POST", "/v1/portfolio/orders", nil, `"code":"shed","num":null,"origin":"gateway","message":"shed","details":null`},
		{o.APIListener, "POST", "/v1/mcp", nil, `"message":"shed"`},
		{o.PortalListener, "POST", "/keys", nil, `"code":"shed"`},
	} {
		_, _, body := request(t, x.method, "http://"+x.listener.Addr().String()+x.path, "", x.header...)
		if !strings.Contains(body, x.want) {
			t.Errorf("%s %s: %s, want %s", x.method, x.path, body, x.want)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
