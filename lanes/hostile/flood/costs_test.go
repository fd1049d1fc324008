//go:build unix

package flood

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"duplex/lanes/portal"
	"duplex/server"
	"duplex/server/servertest"
)

// TestLongCosts measures what somebody without a key can cost a venue, for the table of
// docs/security.md#costs. The attacker has a process of its own, so that the processor time of this one is
// the venue's. The test fails where a bound of docs/rules/limits.md does not hold; figures of this machine are
// only logged.
func TestLongCosts(t *testing.T) {
	if os.Getenv("DX_LONG") == "" {
		t.Skip(".ci/full flood runs it")
	}
	const connections, requests = 16_384, 20_000
	for _, withTLS := range []bool{false, true} {
		f := newFloodedVenue(t, withTLS, 0)
		places := int(f.metric(t, `duplex_connection_places{listener="api"}`))
		for from, most := range map[string]int{"127.0.0.1": 256, manyAddresses: places} {
			for _, kind := range []string{"half a head", halfABody} {
				t.Run(fmt.Sprintf("%s each, TLS %v, from %s", kind, withTLS, from), func(t *testing.T) {
					c := f.cost(t, floodOrder{Kind: kind, Base: f.APIURL(), From: from, Connections: connections})
					if c.connections > most {
						t.Errorf("%d connections were open, not at most %d", c.connections, most)
					}
					t.Logf("at most %d connections open, %d MB more memory, %v of a processor a connection", c.connections, c.memory>>20, c.processor/connections)
				})
			}
		}
		for _, o := range []floodOrder{
			{Kind: "one unsigned request", Base: f.APIURL(), Connections: connections},
			{Kind: requestsWithout, Base: f.APIURL() + "/v1/portfolio/balance", Connections: requests},
			{Kind: requestsWithWrong, Base: f.APIURL() + "/v1/portfolio/balance", Connections: requests},
			{Kind: requestsWithout, Base: f.PortalURL() + "/", Connections: requests},
		} {
			t.Run(fmt.Sprintf("%s, TLS %v, %s", o.Kind, withTLS, strings.TrimLeft(o.Base, "htps:/")), func(t *testing.T) {
				o.From = "127.0.0.1"
				c := f.cost(t, o)
				t.Logf("%v of a processor each, %d MB more memory", c.processor/time.Duration(o.Connections), c.memory>>20)
			})
		}
	}
}

// cost is what an attack took of this process at most.
type cost struct {
	connections int // of the API
	memory      int // bytes more than before
	processor   time.Duration
}

// cost runs an attack and measures it until its end.
func (f *floodedVenue) cost(t *testing.T, o floodOrder) (c cost) {
	t.Helper()
	debug.FreeOSMemory()
	before, began := residentMemory(t), processorTime(t)
	o.Passes = 1
	ended := f.attackFromAProcess(t, o)
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			c.memory = max(c.memory, residentMemory(t)-before)
			c.connections = max(c.connections, int(f.metric(t, `duplex_connections{listener="api"}`)))
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			c.processor = processorTime(t) - began
			return c
		}
	}
}

// processorTime returns the processor time that this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// metric returns the value of a metric of the venue.
func (f *floodedVenue) metric(t *testing.T, name string) float64 {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.AdminURL()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+f.OperatorToken())
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// TestCostOfSignUps opens as many accounts from one address as the venue lets it, in an hour and a half, and
// checks how much of the journal each takes (docs/security.md#costs).
func TestCostOfSignUps(t *testing.T) {
	f := &floodedVenue{Venue: servertest.New(t, func(o *server.Options) { o.SignUp = portal.SignUpOpen })}
	signUp := func(n int) (opened bool) {
		t.Helper()
		body := fmt.Sprintf(`{"name":"%064d"}`, n) // the longest name
		resp, err := http.Post(f.PortalURL()+"/accounts", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode == http.StatusCreated
	}

	const minutes, mostBytes = 90, 250
	before, opened := f.metric(t, "duplex_journal_bytes_total"), 0
	for minute := range minutes {
		for n := 0; signUp(100*minute + n); n++ {
			opened++
		}
		f.Advance(time.Minute)
	}
	each := int(f.metric(t, "duplex_journal_bytes_total")-before) / opened
	if most := 5 + minutes - 1; opened != most || each > mostBytes {
		t.Errorf("%d accounts, not %d; %d bytes each, not at most %d", opened, most, each, mostBytes)
	}
	t.Logf("%d accounts in %d minutes, %d bytes each", opened, minutes, each)
}
