package server_test

import (
	"cmp"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"duplex/cluster"
	"duplex/feeds"
	"duplex/feeds/sim"
	"duplex/lanes/portal"
	"duplex/server"
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
		"AccountKeys":   {AccountKeys: new(-1)},
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
			t.Errorf("a bad %s: %v, want an OptionError that names it", want, err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: the listener is open: %v", want, err)
		}
	}
}

// TestAccountRateOption tests the bound of all keys of an account together that each setting is, for a write
// rate of 20, 100 and 400, and that a follower shows the same limits of a key
// (docs/rules/limits.md#account-rate).
func TestAccountRateOption(t *testing.T) {
	for _, x := range []struct {
		signUp portal.SignUp
		rate   *int64
		want   [3]int64 // 0: no bound; nil error
		bad    bool
	}{
		{signUp: portal.SignUpOff},
		{signUp: portal.SignUpOff, rate: new(int64(0))},
		{signUp: portal.SignUpOff, rate: new(int64(30)), want: [3]int64{30, 30, 30}},
		{signUp: portal.SignUpOff, rate: new(int64(19)), bad: true},
		{signUp: portal.SignUpOff, rate: new(int64(-1)), bad: true},
		{signUp: portal.SignUpOpen, want: [3]int64{100, 100, 400}},
		{signUp: portal.SignUpOpen, rate: new(int64(0)), bad: true},
		{signUp: portal.SignUpToken, rate: new(int64(0)), bad: true},
		{signUp: portal.SignUpOpen, rate: new(int64(30)), want: [3]int64{30, 30, 30}},
	} {
		o := server.Options{SignUp: x.signUp, AccountRate: x.rate}
		if x.signUp == portal.SignUpToken {
			o.SignUpToken = "token"
		}
		v, err := server.Open(t.Context(), o)
		if option := (*server.OptionError)(nil); x.bad {
			if !errors.As(err, &option) || option.Option != "AccountRate" {
				t.Errorf("Open with %+v: %v, want an error of AccountRate", x, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		follower, err := o.Adopted()
		if err != nil {
			t.Fatal(err)
		}
		limit := func(o *server.Options, write int64) int64 { return min(write, cmp.Or(o.SharedRate(write), write)) }
		for i, write := range []int64{20, 100, 400} {
			if got := v.Gate().Venue.Config.SharedRate(write); got != x.want[i] {
				t.Errorf("%+v: the rate of an account with a write rate of %d is %d", x, write, got)
			}
			if got, want := limit(&follower, write), limit(&o, write); got != want {
				t.Errorf("%+v: a follower shows a limit of %d, want %d", x, got, want)
			}
		}
		if err := v.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestAccountKeysOption tests the number of live keys of an account that each setting is.
func TestAccountKeysOption(t *testing.T) {
	for _, x := range []struct {
		signUp portal.SignUp
		keys   *int
		want   int
	}{
		{portal.SignUpOff, nil, 0}, {portal.SignUpOff, new(7), 7}, {portal.SignUpToken, nil, 50}, {portal.SignUpOpen, nil, 50}, {portal.SignUpOpen, new(0), 0}, {portal.SignUpOpen, new(7), 7},
	} {
		o := server.Options{SignUp: x.signUp, AccountKeys: x.keys}
		if got := o.KeysOfAnAccount(); got != x.want {
			t.Errorf("%+v: %d keys", x, got)
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

// TestOpeningCommands tests that they are refused for options on which more than they depends. That they are
// those of Open, package arena tests.
func TestOpeningCommands(t *testing.T) {
	for want, o := range map[string]server.Options{"Virtual": {}, "Environment": {Environment: "test"}} {
		_, err := server.OpeningCommands(o)
		if option, ok := errors.AsType[*server.OptionError](err); !ok || option.Option != want {
			t.Errorf("%v, want an error of %s", err, want)
		}
	}
}
