package server_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"duplex/feeds"
	"duplex/feeds/sim"
	"duplex/server"
	"duplex/server/cluster"
)

// TestOptionErrors tests that Open names the option that cannot work, and releases the
// listeners that it was given.
func TestOptionErrors(t *testing.T) {
	source := sim.New(1).Sources()[0]
	for want, o := range map[string]server.Options{
		"Environment":   {Environment: "test"},
		"Accounts":      {Environment: "live", Accounts: []server.Account{{Name: "a"}}},
		"MasterKey":     {MasterKey: make([]byte, 31)},
		"OldMasterKey":  {OldMasterKey: make([]byte, 32)},
		"MasterKeyLost": {MasterKeyLost: true},
		"Portal":        {Portal: "127.0.0.1:none"},
		"PublicURL":     {PublicURL: "venue.example"},
		"Admin":         {Admin: "127.0.0.1:99999"},
		"Origins":       {Origins: []string{"https://screen.example/"}},
		"Mirror":        {Mirror: "postgres://user:password@host:99999/database"},
		"FundingURL":    {FundingURL: "https://funding.example:99999", FundingSecret: make([]byte, 32)},
		"ArchiveKeep":   {Follow: &cluster.FollowerOptions{}, MasterKey: make([]byte, 32), ArchiveKeep: server.MinArchiveKeep - 1},
		"Sources":       {Sources: []feeds.Source{source, source}},
	} {
		l := listenLoopback(t)
		o.APIListener, o.Data = l, t.TempDir()
		v, err := server.Open(t.Context(), o)
		if err == nil {
			t.Errorf("%s: it starts", want)
			if err := v.Close(t.Context()); err != nil {
				t.Error(err)
			}
			continue
		}
		var option *server.OptionError
		if !errors.As(err, &option) || option.Option != want {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: the listener is open: %v", want, err)
		}
	}
}

// TestTemporaryData tests that Close, and a failed Open, remove the folder of a venue without
// Data.
func TestTemporaryData(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	v, err := server.Open(t.Context(), server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(v.Data()) != dir {
		t.Errorf("data in %s, not in %s", v.Data(), dir)
	}
	if err := v.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := server.Open(t.Context(), server.Options{MasterKey: []byte("short")}); err == nil {
		t.Error("it starts with a short master key")
	}
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Error(left, err)
	}
}
