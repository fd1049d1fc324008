package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"duplex/core"
)

// Without prices no series opens, and every command that names a series reports that.
func TestNoLiveMarket(t *testing.T) {
	p := start(t, t.TempDir(), "--oracle", "manual", "--no-maker")
	p.devFile()
	const why = "btc-15m has no live market now: "
	for _, args := range []string{"order buy yes 10 --series btc-15m --max-cost 9", "order buy yes 10 @55 --preview --series BTC-15m", "cancel --all --series btc-15m", "book --series btc-15m"} {
		code, out, errs := runCommand(strings.Fields(args)...)
		if code != 1 || out != "" || !strings.Contains(errs, why) || !strings.Contains(errs, "price") {
			t.Errorf("dx %s: exit %d %s%s, want 1 and that there is no live market because of the prices", args, code, out, errs)
		}
	}
	code, out, errs := runCommand("markets")
	if code != 0 || !strings.HasPrefix(out, "No market trades now. Each series shows when its next round opens.\n\nSERIES ") || strings.Count(out, "\n") != 3+core.SeriesCount {
		t.Errorf("markets: %d %s%s", code, out, errs)
	}
	if code, out, errs := runCommand("markets", "--json"); code != 0 || !strings.HasPrefix(out, `{"markets":[],`) {
		t.Errorf("markets --json: %d %s%s", code, out, errs)
	}
	if code, out, errs := runCommand("watch", "user", "--series", "btc-15m", "--count", "1"); code != 0 || !strings.Contains(errs, why) || !strings.Contains(out, "account: ") {
		t.Errorf("watch: %d %s%s", code, out, errs)
	}
}

// An order by series carries the generation that the lookup found, so that it cannot
// reach a later round of the slot.
func TestSeriesOrderCarriesGeneration(t *testing.T) {
	var lookup, order string
	venue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /v1/rounds":
			lookup = r.URL.RawQuery
			fmt.Fprint(w, `{"rounds":[{"market_id":17,"generation":5,"category":3,"status":"trading"}],"cursor":"","as_of_seq":"1"}`)
		default:
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			order = string(body)
			fmt.Fprint(w, `{}`)
		}
	}))
	defer venue.Close()
	t.Setenv("DX_URL", venue.URL)
	t.Setenv("DX_KEY", "dxk000000000000000000000000")
	t.Setenv("DX_SECRET", strings.Repeat("0", 64))
	for _, more := range []string{"", " --preview"} {
		code, out, errs := runCommand(strings.Fields("order buy yes 1 @50 --series btc-15m" + more)...)
		if code != 0 || lookup != "category=3&limit=1" || !strings.Contains(order, `"market_id":17,`) || !strings.Contains(order, `"generation":5`) {
			t.Errorf("%d %s%s; asked for rounds?%s and sent %s", code, out, errs, lookup, order)
		}
	}
	if code, _, errs := runCommand("order", "buy", "yes", "1", "@50", "--market-id", "3"); code != 0 || strings.Contains(order, "generation") {
		t.Errorf("--market-id: %d %s; sent %s", code, errs, order)
	}
}
