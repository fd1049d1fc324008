package server_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/history"
	"duplex/core/mirror"
	"duplex/server"
	"duplex/server/servertest"
)

// withMirror opens a live venue with a mirror in its data folder.
func withMirror(o *server.Options) { o.Mirror = "sqlite" }

// TestMirrorFollowsTheVenue checks that the mirror has every command when the venue has stopped, that
// it goes on after a restart, and that its metrics are there.
func TestMirrorFollowsTheVenue(t *testing.T) {
	data := t.TempDir()
	for life := range 2 {
		v := servertest.OpenLive(t, data, withMirror)
		addUsers(t, v, 3)
		v.WaitForMirror()
		list, err := v.Mirror().Actions(t.Context(), 0, 100, history.ActionFilter{Action: "create_user"})
		if err != nil || len(list) != 3*(life+1) {
			t.Errorf("%d actions: %v", len(list), err)
		}
		eventually(t, "metrics of a mirror that has caught up", func() bool {
			body := askOperator(t, v, "GET", "/metrics", "")
			return strings.Contains(body, "duplex_mirror_lag_seq 0\n") && strings.Contains(body, `duplex_mirror_reads_total{outcome="ok",route="admin_audit"} 1`)
		})
		v.Close()
	}
	o, _, err := server.MirrorOptions(data, "sqlite")
	if err != nil {
		t.Fatal(err)
	}
	status, err := mirror.ReadStatus(t.Context(), o)
	if err != nil || status.At.Number == 0 || status.Since != 0 {
		t.Errorf("the status of the mirror: %+v %v, want a number and everything since seq 0", status, err)
	}
}

// TestMirrorNeverStopsTheVenue checks that a venue runs with a mirror whose database is damaged or
// away, and that a wrong option is named.
func TestMirrorNeverStopsTheVenue(t *testing.T) {
	data := t.TempDir()
	if err := os.MkdirAll(data+"/mirror", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mirror.SQLitePath(data), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sqlite", "postgres://dx@127.0.0.1:1/dx?connect_timeout=1"} {
		v := servertest.OpenLive(t, data, func(o *server.Options) { o.Mirror = name })
		for v.Mirror().LastError() == nil {
			time.Sleep(time.Millisecond)
		}
		if _, err := v.Venue.Submit(t.Context(), &core.CreateUser{Name: "user", TokenHash: [32]byte{1}}); err != nil {
			t.Error(err)
		}
		v.Close()
	}
	var wrong *server.OptionError
	if err := startError(t, data, func(o *server.Options) { o.Mirror = "mysql://" }); !errors.As(err, &wrong) || wrong.Option != "Mirror" {
		t.Errorf("got %v", err)
	}
	v := servertest.OpenLive(t, data, nil)
	if v.Mirror() != nil {
		t.Error("there is a mirror by default")
	}
}
