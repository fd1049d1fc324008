package server_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/logbuffer"
	"duplex/lanes/portal"
	"duplex/server"
	"duplex/server/servertest"
)

// TestSettingsThatWeaken checks that a start with other settings is logged and audited, also after a crash, and that one
// with the same settings is not.
func TestSettingsThatWeaken(t *testing.T) {
	dir := t.TempDir()
	limit := core.Pips(1_000_000)
	strict := func(o *server.Options) {
		o.FourEyes, o.ReplayGuard, o.SignUp = &limit, true, portal.SignUpOff
		o.AccountKeys = new(7)
	}
	lax := func(o *server.Options) {
		strict(o)
		o.FourEyes, o.ReplayGuard, o.SignUp, o.AccountKeys, o.AccountRate = nil, false, portal.SignUpOpen, new(0), new(int64(40))
	}
	start := func(set func(*server.Options)) (v *servertest.Venue, lines string) {
		t.Helper()
		logs := &logbuffer.Buffer{}
		v = servertest.OpenLive(t, dir, func(o *server.Options) {
			set(o)
			o.Log = slog.New(slog.NewTextHandler(logs, nil))
		})
		v.LogOpen()
		return v, logs.String()
	}
	rows := func(v *servertest.Venue) (out []string) {
		v.Venue.Engine().Read(func(_ *venue.Venue, w *view.View) {
			for a := range w.Actions(0) {
				if a.Name == "setting" {
					out = append(out, fmt.Sprint(a.Who, " ", a.Detail["setting"], " ", a.Detail["before"], " ", a.Detail["after"]))
				}
			}
		})
		slices.Sort(out)
		return out
	}
	v, lines := start(strict)
	if got := rows(v); len(got) != 0 || strings.Contains(lines, "differs") {
		t.Errorf("at the first start: %v %s", got, lines)
	}
	if want := `four_eyes="1000000 pips"`; !strings.Contains(lines, want) {
		t.Errorf("the line of the opening lacks %s: %s", want, lines)
	}
	v.Close()
	v, _ = start(strict)
	if got := rows(v); len(got) != 0 {
		t.Errorf("the same again: %v", got)
	}
	v.Close()
	want := []string{"dx account_keys 7 0", "dx account_rate 0 40", "dx four_eyes 1000000 pips off", "dx replay_guard true false", "dx signup off open"}
	for range 2 {
		v, lines = start(lax)
		if got := rows(v); !slices.Equal(got, want) {
			t.Errorf("after a start with lax settings: %q, want %q", got, want)
		}
		v.Close()
	}
	if strings.Contains(lines, "differs") {
		t.Error(lines)
	}
}
