package bridge

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"duplex/client"
)

// examine returns one line for each check.
func examine(t *testing.T, c *client.Client) (lines []string) {
	for _, f := range Doctor(t.Context(), c) {
		lines = append(lines, fmt.Sprintf("%v %s: %s", f.OK, f.Check, f.Detail))
		if f.OK != (f.Fix == "") {
			t.Errorf("%s: what to do is %q", f.Check, f.Fix)
		}
	}
	return lines
}

func like(t *testing.T, got []string, want ...string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("%q\nnot\n%q", got, want)
		}
	}
}

func TestDoctor(t *testing.T) {
	d := open(t)
	d.AdvanceClock(time.Duration(time.Now().UnixNano() - d.Now())) // the venue's clock is ours
	healthy := []string{"true reach", "true clock: within", "true key: has the scopes read, trade", "true revision 2026-07-28", "true revision 2025-11-25", "true revision 2025-06-18", "true tools:"}
	like(t, examine(t, d.client()), healthy...)
	like(t, examine(t, client.Must(client.New(d.url, d.key.ID, make([]byte, 32), client.WithHTTPClient(NewHTTPClient())))), "true reach", "true clock", "false key: unauthorized")
	d.AdvanceClock(time.Hour)
	healthy[1] = "false clock: "
	start := time.Now()
	lines := examine(t, d.client())
	like(t, lines, healthy...)
	text, _, found := strings.Cut(strings.TrimPrefix(lines[1], healthy[1]), " behind the venue's")
	behind, err := time.ParseDuration(text) // Date has whole seconds, and the answer takes a while
	if off := (time.Hour - behind).Abs(); !found || err != nil || off > time.Second+time.Since(start) {
		t.Errorf("the clock check says %q, %v, want that the clock is an hour behind", lines[1], err)
	}
	d.put(func(w http.ResponseWriter, r *http.Request, body string, venue http.Handler) {
		if strings.Contains(body, `"2025-06-18"`) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`)
			return
		}
		if strings.Contains(body, "tools/list") {
			dropConnection(w)
			return
		}
		venue.ServeHTTP(w, r)
	})
	healthy[5], healthy[6] = `false revision 2025-06-18: the venue says {"protocolVersion":"2025-11-25"}`, "false tools: "
	like(t, examine(t, d.client()), healthy...)
}

// TestDoctorNamesAForeignHost tests a host name that REST accepts and the agent lane rejects.
func TestDoctorNamesAForeignHost(t *testing.T) {
	d := open(t)
	d.AdvanceClock(time.Duration(time.Now().UnixNano() - d.Now()))
	d.put(func(w http.ResponseWriter, r *http.Request, _ string, venue http.Handler) {
		r.Host = "venue.example"
		venue.ServeHTTP(w, r)
	})
	const refused = ": the agent lane does not allow the host of DX_URL (forbidden_origin)"
	like(t, examine(t, d.client()), "true reach", "true clock", "true key", "false revision 2026-07-28"+refused, "false revision 2025-11-25"+refused, "false revision 2025-06-18"+refused, "false tools"+refused)
	d.Gate.Hosts = []string{"venue.example"}
	like(t, examine(t, d.client()), "true reach", "true clock", "true key", "true revision", "true revision", "true revision", "true tools")
}

func TestDoctorFindsNoVenue(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	c := client.Must(client.New(s.URL, "k", make([]byte, 32), client.WithHTTPClient(NewHTTPClient())))
	like(t, examine(t, c), "false reach: status 404 from a server that is not a venue")
	s.Close()
	like(t, examine(t, c), "false reach: Get")
}
