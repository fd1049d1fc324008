package server_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/journal/logtest"
	"duplex/server"
	"duplex/server/cluster"
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
			t.Errorf("%s: %v", name, err)
		}
	}
}
