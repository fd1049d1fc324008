package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/feeds/replay"
	"duplex/internal/logbuffer"
)

// kraken is a venue on this machine that sends a price ten times a second.
func kraken(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for now := range tick.C {
			frame := fmt.Sprintf(`{"channel":"ticker","type":"update","data":[{"symbol":"BTC/USD","bid":65000.10,"ask":65000.20,"last":1,"timestamp":%q}]}`, now.UTC().Format(time.RFC3339Nano))
			if c.Write(r.Context(), websocket.MessageText, []byte(frame)) != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

// until is a writer that calls stop when its content contains a text.
type until struct {
	logbuffer.Buffer
	text string
	stop context.CancelFunc
}

func (u *until) Write(b []byte) (int, error) {
	n, err := u.Buffer.Write(b)
	if strings.Contains(u.String(), u.text) {
		u.stop()
	}
	return n, err
}

func TestFeedsWatch(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	out := &until{text: "price=65000.1500 age=0.", stop: stop}
	w := feedsWatchCmd{sourceFlags: sourceFlags{Sources: []string{"kraken"}, SourceURL: map[string]string{"kraken": kraken(t)}}, Every: 50 * time.Millisecond}
	if err := w.Run(ctx, out); err != nil || !strings.Contains(out.String(), "state=fresh reconnects=0 messages=") {
		t.Errorf("dx feeds watch: %v\n%s\nwant a fresh source", err, out)
	}
}

func TestFeedsTable(t *testing.T) {
	sources, err := (&sourceFlags{Sources: []string{"kraken", "gemini"}, SourceURL: map[string]string{"kraken": kraken(t), "gemini": "ws" + strings.TrimPrefix(nobody, "http")}}).openSources()
	if err != nil {
		t.Fatal(err)
	}
	p, stop, err := runSources(t.Context(), sources)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	table := ""
	err = repeatUntil(t.Context(), 50*time.Millisecond, 3*time.Minute, func() error {
		if table = sourceTable(p); strings.Contains(table, "index") && strings.Contains(table, "refused") {
			return io.EOF
		}
		return nil
	})
	if err != io.EOF || !strings.Contains(table, "LAST ERROR") || !strings.Contains(table, "65000.1500") || !strings.Contains(table, "1 sources") {
		t.Errorf("the table of the sources: %v\n%s\nwant the index of one source and the last error of the other", err, table)
	}
}

func TestFeedsRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tape.csv")
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	go func() {
		_ = repeatUntil(ctx, 50*time.Millisecond, 0, func() error {
			if b, err := os.ReadFile(path); err == nil && bytes.Count(b, []byte("\n")) > 3 {
				stop()
			}
			return nil
		})
	}()
	var out bytes.Buffer
	r := feedsRecordCmd{sourceFlags: sourceFlags{Sources: []string{"kraken"}, SourceURL: map[string]string{"kraken": kraken(t)}}, Out: path}
	if err := r.Run(ctx, &out); err != nil || !strings.Contains(out.String(), " prices in ") {
		t.Fatalf("dx feeds record: %v %s, want the number of prices", err, &out)
	}
	if _, err := replay.Open(path, 1); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), ",BTC,kraken,65000.15000000\n") || strings.Count(string(b), "\n") < 4 {
		t.Errorf("the recording: %v\n%s\nwant four lines or more, among them BTC by kraken at 65000.15", err, b)
	}
	if err := r.Run(t.Context(), &out); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("it wrote over a file: %v", err)
	}
}

// tapeOf returns the path of a recording with one price, twice a second for a minute.
func tapeOf(t *testing.T, price string) string {
	t.Helper()
	var b strings.Builder
	for i := range 120 {
		fmt.Fprintf(&b, "%d,BTC,tape,%s\n", time.Unix(1_700_000_000, 0).Add(time.Duration(i)*time.Second/2).UnixNano(), price)
	}
	return textFile(t, "tape.csv", b.String())
}

func TestDevPlaysAFile(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--no-maker", "--oracle", "replay:"+tapeOf(t, "1234.5"))
	defer p.stop()
	var got struct{ Price string }
	err := repeatUntil(t.Context(), 100*time.Millisecond, 3*time.Minute, func() error {
		if status, err := p.call(p.account("reader"), "GET", "/v1/oracle/price?feed=0", "", &got); err == nil && status == 200 && got.Price == "123450000000" {
			return io.EOF
		}
		return nil
	})
	if err != io.EOF {
		t.Errorf("%v, price %q", err, got.Price)
	}
}

// dx serve uses its sources and shows them on the admin listener, without the key of Pyth.
func TestServeHearsItsSources(t *testing.T) {
	t.Parallel()
	path := dxPath(t)
	config := textFile(t, "dx.toml", fmt.Sprintf("sources = ['kraken']\npyth_key = 'sesame'\n[source_url]\nkraken = '%s'\npyth = 'https://127.0.0.1:1'\n", kraken(t)))
	cmd := exec.Command(path, "serve", "--config", config, "--data", t.TempDir(), "--api", "127.0.0.1:0", "--portal", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--operator-token", strings.Repeat("op", 16))
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // fails if the process has ended
	lines := bufio.NewScanner(logs)
	admin, all := "", ""
	for admin == "" && lines.Scan() {
		var l struct{ Msg, Admin string }
		if err := json.Unmarshal(lines.Bytes(), &l); err == nil && l.Msg == "venue open" {
			admin = l.Admin
		}
		all += lines.Text()
	}
	if admin == "" {
		t.Fatal(all)
	}
	page := ""
	err = repeatUntil(t.Context(), 100*time.Millisecond, 3*time.Minute, func() error {
		_, ready := ask(t, "GET", admin+"/readyz")
		_, metrics := ask(t, "GET", admin+"/metrics", "Authorization", "Bearer "+strings.Repeat("op", 16))
		page = ready + metrics
		if strings.Contains(page, `duplex_oracle_source_fresh{feed="BTC",source="kraken"} 1`) && strings.Contains(page, `"ready":true`) {
			return io.EOF
		}
		return nil
	})
	for _, want := range []string{
		`"oracle":"live"`,
		`duplex_oracle_source_price{feed="BTC",source="kraken"} 65000.15`,
		`duplex_oracle_source_dropped_total{feed="BTC",reason="out_of_order",source="kraken"} 0`,
		`duplex_oracle_source_reconnects_total{feed="BTC",source="kraken"} 0`,
		`duplex_oracle_source_messages_total{feed="gold",source="pyth"} 0`,
		`duplex_oracle_source_fresh{feed="gold",source="pyth"} 0`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if err != io.EOF {
		t.Errorf("dx serve has no price from its sources: %v\n%s", err, page)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(logs) // reads until the process has ended
	for lines.Scan() {
		all += lines.Text()
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if strings.Contains(all+string(rest)+page, "sesame") {
		t.Error("the key shows")
	}
}

func TestFeedsRefuse(t *testing.T) {
	config := textFile(t, "dx.toml", "sources = ['kraken', 'mtgox']")
	data := " --data " + t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"feeds watch --sources mtgox", "--sources: there is no venue"},
		{"feeds watch --config " + config, `--sources: there is no venue "mtgox"`},
		{"feeds watch --source-url kraken=nowhere", "--source-url"},
		{"feeds watch --every 0s", "--every"},
		{"feeds record --sources kraken", "--out"},
		{"feeds record --sources pyth --out x.csv", "--pyth-key"},
		{"serve --oracle sim" + data, "--oracle: must be live, manual or replay:FILE"},
		{"serve --oracle replay:/nothing/here" + data, "--oracle"},
		{"serve --sources kraken,kraken" + data, "--sources: kraken is named twice"},
		{"serve --pyth-key k --pyth-wti wti" + data, "--pyth-wti"},
		{"dev --oracle live" + data, "--oracle: must be sim, manual or replay:FILE"},
		{"dev --oracle replay:" + config + data, "--oracle: replay: "},
		{"serve --holidays /nothing/here" + data, "--holidays"},
		{"serve --holidays " + config + data, "--holidays: " + config + ", line 1: "},
		{"config check --holidays " + config, "--holidays: " + config + ", line 1: "},
		{"dev --holidays " + config + data, "--holidays: goes with --sessions"},
		{"dev --sessions --holidays " + config + data, "--holidays: " + config + ", line 1: "},
		{"serve --min-sources BTC=5" + data, "--min-sources: BTC has 4 sources"},
		{"serve --min-sources gold=1" + data, "--min-sources: gold has 0 sources"},
		{"serve --oracle manual --min-sources BTC=33" + data, "--min-sources: BTC: must be 1 to 32"},
		{"serve --oracle manual --min-sources BTC=0" + data, "--min-sources: BTC: must be 1 to 32"},
		{"serve --min-sources silver=1" + data, `--min-sources: there is no feed "silver"`},
		{"serve --min-sources BTC=x" + data, "--min-sources"},
		{"serve --min-sources 2" + data, "--min-sources"},
		{"serve --feed-jump BTC=101" + data, "--feed-jump: BTC: must be 0 to 100 percent"},
		{"serve --feed-jump silver=5" + data, `--feed-jump: there is no feed "silver"`},
		{"config check --feed-jump BTC=101", "--feed-jump: BTC: must be 0 to 100 percent"},
		{"dev --min-sources gold=2" + data, "--min-sources: gold has 1 sources"},
		{"dev --replay-speed 0 --oracle replay:" + config + data, "--replay-speed"},
	} {
		expectCommand(t, 2, c.want, strings.Fields(c.args)...)
	}
}
