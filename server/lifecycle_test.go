package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/feeds"
	"duplex/internal/backoff"
	"duplex/internal/logbuffer"
	"duplex/server"
	"duplex/server/servertest"
)

// logLines returns the records of a JSON log.
func logLines(t *testing.T, text string) (list []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("the log line %q is not JSON: %v", line, err)
		}
		list = append(list, r)
	}
	return list
}

// logRow is a row of the table of lines in docs/operations/README.md.
type logRow struct {
	level              string
	required, optional []string
}

// logTable returns the rows by msg.
func logTable(t *testing.T) map[string]logRow {
	t.Helper()
	b, err := os.ReadFile("../docs/operations/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## Logs\n")
	section, _, _ = strings.Cut(section, "\n## ")
	names := regexp.MustCompile("`([^`]+)`")
	all := func(text string) (list []string) {
		for _, m := range names.FindAllStringSubmatch(text, -1) {
			list = append(list, m[1])
		}
		return list
	}
	rows := map[string]logRow{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(cells[1], " `") || strings.Contains(cells[2], "`") {
			continue
		}
		required, optional, _ := strings.Cut(cells[3], ";")
		rows[all(cells[1])[0]] = logRow{strings.TrimSpace(cells[2]), all(required), all(optional)}
	}
	return rows
}

// loggedSource is a source of prices that a test scripts.
type loggedSource struct {
	name string
	feed core.Feed
	run  func(ctx context.Context, out func(core.Price, time.Time)) error
}

func (s loggedSource) Name() string    { return s.name }
func (s loggedSource) Feed() core.Feed { return s.feed }
func (s loggedSource) Run(ctx context.Context, out func(core.Price, time.Time)) error {
	return s.run(ctx, out)
}

// logFeeds logs what happens to sources and index in virtual time: one source that is cut off for a while,
// and one that never sends.
func logFeeds(t *testing.T, log *slog.Logger) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		p, err := feeds.NewPoster(func(context.Context, core.Command) error { return nil }, loggedSource{"away", core.BTC, func(ctx context.Context, out func(core.Price, time.Time)) error {
			for backoff.Sleep(ctx, 970*time.Millisecond) {
				if at := time.Since(begun); at > 20*time.Second && at < 60*time.Second {
					return errors.New("connection reset")
				}
				out(1000, time.Now())
			}
			return ctx.Err()
		}})
		if err != nil {
			t.Fatal(err)
		}
		p.Log = log
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		p.Run(ctx)
	})
}

// TestLifecycleLog checks what a live venue logs from its start to its stop: every line that
// docs/operations/README.md names, with its level and exactly its fields. A dev venue does not log its
// life at the level info.
func TestLifecycleLog(t *testing.T) {
	rows := logTable(t)
	if len(rows) < 14 {
		t.Fatalf("the table has the rows %v", slices.Sorted(maps.Keys(rows)))
	}
	for _, environment := range []string{"live", "dev"} {
		logs := &logbuffer.Buffer{}
		log := slog.New(slog.NewJSONHandler(logs, nil))
		v := servertest.OpenLive(t, t.TempDir(), func(o *server.Options) {
			o.Environment, o.Version, o.Log, o.SignUp = environment, "1.2.3", log, "open"
			o.DrainWait = time.Millisecond
		})
		v.LogOpen()
		if _, err := v.Engine().Snapshot(); err != nil {
			t.Fatal(err)
		}
		var order []string
		if environment == "live" {
			for _, body := range []string{`{"name":"ann","reason":"asked"}`, `{"name":"bob","referrer_id":99}`} { // the second is rejected
				request(t, "POST", v.AdminURL()+"/admin/users", body, "Authorization", "Bearer "+operatorToken, "Content-Type", "application/json")
			}
			if status, _, body := request(t, "POST", v.PortalURL()+"/accounts", `{"name":"carol"}`, "Content-Type", "application/json"); status != 201 {
				t.Fatal(status, body)
			}
		}
		v.Close()
		if environment == "live" {
			p := server.NewStartProgress(log, nil)
			p.Elapse()
			p.Update(engine.Progress{Phase: engine.Replaying, Done: 1, Total: 2})
			logFeeds(t, log)
			dir := t.TempDir()
			cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
			writeCertificate(t, cert, key, 1, time.Now().Add(time.Hour))
			servertest.OpenLive(t, t.TempDir(), func(o *server.Options) { o.TLS, o.Log = server.TLS{Cert: cert, Key: key}, log }).Close()
		}
		for _, r := range logLines(t, logs.String()) {
			msg := r["msg"].(string)
			row, known := rows[msg]
			if !known {
				if r["level"] == "INFO" && environment == "live" {
					t.Errorf("the table has no row of %v", r)
				}
				continue
			}
			if !slices.Contains(order, msg) {
				order = append(order, msg)
			}
			if r["level"] != row.level {
				t.Errorf("%s is %s, not %s", msg, r["level"], row.level)
			}
			for _, f := range row.required {
				if x, ok := r[f]; !ok || x == "" && f != "reason" {
					t.Errorf("%s has no %s: %v", msg, f, r)
				}
			}
			for f := range r {
				if f != "time" && f != "level" && f != "msg" && !slices.Contains(row.required, f) && !slices.Contains(row.optional, f) {
					t.Errorf("the row of %s lacks %s", msg, f)
				}
			}
		}
		if environment == "dev" {
			if len(order) > 0 {
				t.Errorf("a dev venue logs %v", order)
			}
			continue
		}
		life := strings.Join(slices.DeleteFunc(slices.Clone(order), func(msg string) bool { return !strings.Contains(msg, "venue") && !strings.Contains(msg, "written") }), ", ")
		if life != "venue starts, venue open, snapshot written, venue stops, venue drains, venue stopped, venue starting" {
			t.Errorf("the order is %s", life)
		}
		for msg := range rows {
			if !slices.Contains(order, msg) {
				t.Errorf("nothing logs %s", msg)
			}
		}
	}
}

// TestFirstDepositIsBounded checks that a deposit of more than $1 billion is rejected also if it is the first
// one, whose sum with the others is no bound.
func TestFirstDepositIsBounded(t *testing.T) {
	v := servertest.OpenLive(t, t.TempDir(), nil)
	post := func(path, body string) string {
		_, _, answer := request(t, "POST", v.AdminURL()+path, body, "Authorization", "Bearer "+operatorToken, "Content-Type", "application/json")
		return answer
	}
	post("/admin/users", `{"name":"alice"}`)
	for _, x := range []struct{ amount, want string }{
		{"18446744073709551615", `"bad_amount"`}, {"9223372036854775808", `"bad_amount"`}, {"9223372036854775807", `"bad_amount"`},
		{"10000000000001", `"bad_amount"`}, {"10000000000000", `"amount":"10000000000000"`}, {"1", `"amount":"1"`},
	} {
		if got := post("/admin/users/1/deposits", `{"deposit_id":"d`+x.amount+`","amount":"`+x.amount+`"}`); !strings.Contains(got, x.want) {
			t.Errorf("%s: %s, want %s", x.amount, got, x.want)
		}
	}
}
