package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// readPage reads one page of a list. It repeats a page for which the mirror is behind, and counts that
// in behind.
func readPage(t *testing.T, c *client.Client, target string, behind *atomic.Int64) (rows []json.RawMessage, cursor string, asOf uint64) {
	for {
		status, _, body, err := c.Call(context.Background(), "GET", target, nil)
		if err != nil {
			t.Error(err)
			return nil, "", 0
		}
		if status == 503 && strings.Contains(string(body), `"history_behind"`) {
			behind.Add(1)
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if status == 401 || status == 429 {
			continue // the clock moved on past the window of the signature while the request was on its way, once or often
		}
		if status != 200 {
			t.Errorf("GET %s: %d %s, want 200", target, status, body)
			return nil, "", 0
		}
		var page map[string]json.RawMessage
		if err := json.Unmarshal(body, &page); err != nil {
			t.Error(err)
		}
		for name, value := range page {
			switch name {
			case "cursor":
				err = json.Unmarshal(value, &cursor)
			case "as_of_seq":
				asOf, err = strconv.ParseUint(strings.Trim(string(value), `"`), 10, 64)
			default:
				err = json.Unmarshal(value, &rows)
			}
			if err != nil {
				t.Error(err)
			}
		}
		return rows, cursor, asOf
	}
}

// listRead is a list that was read to its end while the venue traded.
type listRead struct {
	account, list string
	size          int
	rows          []string
	asOf          uint64 // of the first page
}

// loadedLists are the lists that are read under load. position names the member whose value falls from
// row to row. A row does not change once it has a member of ended, if there is one.
var loadedLists = []struct {
	list, position string
	ended          []string
}{
	{"/v1/portfolio/orders", "created_seq", []string{`"status":"executed"`, `"status":"canceled"`, `"status":"rejected"`}},
	{"/v1/portfolio/orders?market_id=2", "created_seq", []string{`"status":"executed"`, `"status":"canceled"`, `"status":"rejected"`}},
	{"/v1/portfolio/orders?status=rejected", "created_seq", nil},
	{"/v1/portfolio/fills", "n", nil},
	{"/v1/portfolio/fills?market_id=2", "n", nil},
	{"/v1/portfolio/settlements", "seq", nil},
	{"/v1/portfolio/ledger", "n", nil},
	{"/v1/portfolio/ledger?kind=fee,settlement", "n", nil},
	{"/v1/portfolio/rounds", "round_number", []string{`"status":"settled"`, `"status":"void"`}},
	{"/v1/deposits", "seq", nil},
	{"/v1/forecasts", "n", []string{`"winner":"yes"`, `"winner":"no"`}},
	{"/v1/forecasts?market_id=2", "n", []string{`"winner":"yes"`, `"winner":"no"`}},
	{"/v1/markets/2/trades", "seq", nil},
	{"/v1/rounds", "round_number", []string{`"status":"settled"`, `"status":"void"`}},
}

// TestListsUnderLoad reads every list to its end, again and again, while the venue trades and rounds
// end, so that rows leave memory in the middle of a list. No row is skipped and none is there twice:
// each list equals that of a venue that keeps all rows in memory, from its first row on.
func TestListsUnderLoad(t *testing.T) {
	data := t.TempDir()
	v := servertest.New(t, tinyCaps, func(o *server.Options) { o.Data = data })
	clients := map[string]*client.Client{"alice": v.Client("alice"), "bob": v.Client("bob")}
	var stop atomic.Bool
	var behind, orders, forecasts, lists atomic.Int64 // lists that were read to their end
	// The venue goes on only so far ahead of the readers, or a slow machine would never read a list to
	// its end.
	ahead := func(n, free, each int64) bool { return n > free+each*lists.Load() }
	var wg sync.WaitGroup
	for name, c := range clients {
		outcome := map[string]string{"alice": "yes", "bob": "no"}[name]
		wg.Go(func() {
			for id := uint64(1); !stop.Load(); id++ {
				if ahead(int64(id), 200, 5) {
					id--
					time.Sleep(2 * time.Millisecond)
					continue
				}
				tick := []int{5000, 4900, 5100, 5000, 7777}[id%5] // the last is off the grid
				_, err := c.PlaceOrder(context.Background(), schemas.PlaceOrder{ClientOrderID: schemas.U64(id), MarketID: schemas.Int(1 + id%3), Side: "buy", Outcome: outcome, Type: "limit", Tick: schemas.Ptr(schemas.Int(tick)), Qty: schemas.Int(1 + id%3), TIF: "gtc"})
				if err == nil {
					orders.Add(1)
				}
				if id%4 == 0 { // of a round that may have ended
					if m, err := c.Market(context.Background(), int(1+id%3)); err == nil {
						if _, err := c.SubmitForecast(context.Background(), schemas.SubmitForecast{MarketID: schemas.Int(m.MarketID), Generation: schemas.Int(m.Generation), P: schemas.Int(id % 10_001)}); err == nil {
							forecasts.Add(1)
						}
					}
				}
				if id%40 == 0 {
					_, err := c.CancelAll(context.Background(), schemas.CancelAll{})
					// As in readPage, and a busy disk holds a command up for longer than its caller waits.
					if refused, ok := errors.AsType[*client.Error](err); err != nil && !(ok && slices.Contains([]string{"unauthorized", "rate_limited", "sequencing_timeout", "shed"}, refused.Code)) {
						t.Error(err)
					}
				}
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	const readers, least = 3, 9 // lists that each reader reads, at least
	var mu sync.Mutex
	var reads []listRead
	var done, beyond atomic.Int64 // beyond: lists of fills that were longer than memory
	for i := range readers {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		wg.Go(func() {
			for n := 0; !stop.Load(); n++ {
				l := loadedLists[(n*readers+i)%len(loadedLists)]
				x := listRead{account: []string{"alice", "bob"}[n/4%2], list: l.list, size: []int{2, 7, 40}[r.IntN(3)]}
				path, query, _ := strings.Cut(l.list, "?")
				q, err := url.ParseQuery(query)
				if err != nil {
					t.Error(err)
				}
				q.Set("limit", fmt.Sprint(x.size))
				for page := 0; ; page++ {
					rows, cursor, asOf := readPage(t, clients[x.account], path+"?"+q.Encode(), &behind)
					if page == 0 {
						x.asOf = asOf
					}
					for _, row := range rows {
						x.rows = append(x.rows, clockRunning.ReplaceAllString(string(row), ""))
					}
					if len(rows) > x.size || cursor != "" && len(rows) == 0 {
						t.Errorf("%s: a page of %d rows", l.list, len(rows))
					}
					if cursor == "" {
						break
					}
					q.Set("cursor", cursor)
				}
				if x.list == "/v1/portfolio/fills" && len(x.rows) > 2 {
					beyond.Add(1)
				}
				mu.Lock()
				reads = append(reads, x)
				mu.Unlock()
				lists.Add(1)
				if n+1 == least {
					done.Add(1)
				}
			}
		})
	}
	for i := 0; done.Load() < readers || beyond.Load() == 0 || orders.Load() < 300 || forecasts.Load() < 20; { // rounds of a minute end meanwhile
		if time.Sleep(5 * time.Millisecond); ahead(int64(i), 500, 20) {
			continue
		}
		i++
		v.Submit(&core.Deposit{User: core.UserID(1 + i%2), DepositID: fmt.Sprint("more", i), Amount: core.Pips(1000 + i), Audit: core.Audit{Who: "operator"}})
		v.Advance(time.Second)
		v.PostPrice(core.BTC, core.Price(6_500_000_000_000+v.Clock.Now()%7))
	}
	stop.Store(true)
	wg.Wait()
	v.Close()
	if err := os.RemoveAll(filepath.Join(data, "journal", "snapshots")); err != nil { // they have few rows
		t.Fatal(err)
	}
	const n = 1 << 30
	everything := view.RetentionCaps{Tape: n, Terminal: n, Rejects: n, Fills: n, Settlements: n, Events: n, Rounds: n, Actions: n, Routine: n, Ledger: n, AccountRounds: n, Deposits: n, Forecasts: n}
	whole := reopen(t, v, data, func(o *server.Options) {
		o.ReadRate, o.TuneEngine = 1_000_000, func(e *engine.Options) { e.Caps = everything }
	})
	all := map[string][]string{}
	for _, x := range reads {
		name := x.account + " " + x.list
		if all[name] == nil {
			all[name] = readAll(t, whole, x.account, x.list, 1000)
		}
		firstFills := map[string]string{}
		if x.list == "/v1/portfolio/rounds" {
			fills := x.account + " /v1/portfolio/fills"
			if all[fills] == nil {
				all[fills] = readAll(t, whole, x.account, "/v1/portfolio/fills", 1000)
			}
			for _, f := range all[fills] { // newest first
				firstFills[member(f, "round_number")] = member(f, "seq")
			}
		}
		if err := x.compare(all[name], firstFills); err != nil {
			t.Errorf("%s by %d: %v", name, x.size, err)
		}
	}
	t.Logf("%d lists, %d orders, %d forecasts, %d pages for which the mirror was behind", len(reads), orders.Load(), forecasts.Load(), behind.Load())
}

// member returns the text of a member of a row without its quotes.
func member(row, name string) string {
	_, rest, _ := strings.Cut(row, `"`+name+`":`)
	end := strings.IndexAny(rest, ",}")
	return strings.Trim(rest[:max(0, end)], `"`)
}

// compare compares a list with all rows, newest first. firstFills has the seq of the first fill of
// each round: a row of a round that is not older than the first page may be missing.
func (x *listRead) compare(all []string, firstFills map[string]string) error {
	i := slices.IndexFunc(loadedLists, func(l struct {
		list, position string
		ended          []string
	}) bool {
		return l.list == x.list
	})
	l := loadedLists[i]
	at := func(row string) uint64 {
		n, err := strconv.ParseUint(member(row, l.position), 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	if len(x.rows) == 0 {
		if len(all) > 0 && x.asOf > at(all[len(all)-1]) && l.position == "created_seq" {
			return fmt.Errorf("no row, of %d", len(all))
		}
		return nil
	}
	newest := at(x.rows[0])
	all = all[slices.IndexFunc(all, func(row string) bool { return at(row) <= newest }):]
	for _, row := range x.rows {
		for len(all) > 0 && at(all[0]) > at(row) {
			first, err := strconv.ParseUint(firstFills[member(all[0], "round_number")], 10, 64)
			if err != nil || first <= x.asOf {
				return fmt.Errorf("the row %s is missing before %s", all[0], row)
			}
			all = all[1:]
		}
		if len(all) == 0 || at(all[0]) != at(row) {
			return fmt.Errorf("the row %s is there twice, or is none", row)
		}
		final := len(l.ended) == 0 || slices.ContainsFunc(l.ended, func(s string) bool { return strings.Contains(row, s) })
		if final && all[0] != row {
			return fmt.Errorf("the row is %s, and was %s", all[0], row)
		}
		all = all[1:]
	}
	if len(all) > 0 && len(firstFills) == 0 {
		return fmt.Errorf("%d rows are missing at the end", len(all))
	}
	return nil
}

// TestForcedLag keeps the mirror from writing while rows leave memory. A page has the rows of memory, and
// one without such a row is history_behind; when the mirror has caught up, the same cursors go on.
// A cursor goes on, too, that was issued before its rows left memory, or by a venue without a mirror.
func TestForcedLag(t *testing.T) {
	data := t.TempDir()
	v := servertest.New(t, tinyCaps, func(o *server.Options) { o.Data = data })
	trade(t, v)
	alice := v.Client("alice")
	v.WaitForMirror()
	const list = "/v1/portfolio/fills?limit=1"
	var none atomic.Int64
	before, issued, _ := readPage(t, alice, list, &none) // the first of two rows in memory

	unlock := lockMirror(t, v, data)
	id := uint64(1) << 40
	for range 3 {
		for name, outcome := range map[string]string{"alice": "yes", "bob": "no"} {
			id++
			if _, err := v.Client(name).PlaceOrder(t.Context(), schemas.PlaceOrder{ClientOrderID: schemas.U64(id), MarketID: 3, Side: "buy", Outcome: outcome, Type: "limit", Tick: schemas.Ptr(schemas.Int(5000)), Qty: 1, TIF: "gtc"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	newest, next, _ := readPage(t, alice, list, &none)
	if none.Load() != 0 || len(newest) != 1 || next == "" {
		t.Fatalf("a page of memory: %d rows, cursor %q, %d times behind", len(newest), next, none.Load())
	}
	memory, beyond, _ := readPage(t, alice, "/v1/portfolio/fills?limit=3", &none)
	if none.Load() != 0 || len(memory) != 2 || beyond == "" {
		t.Fatalf("a page that memory does not fill: %d rows, cursor %q, %d times behind", len(memory), beyond, none.Load())
	}
	second, last, _ := readPage(t, alice, list+"&cursor="+next, &none)
	if none.Load() != 0 || len(second) != 1 || last == "" {
		t.Fatalf("the second row of memory: %d rows, cursor %q, %d times behind", len(second), last, none.Load())
	}
	for _, target := range []string{"/v1/portfolio/fills?limit=3&cursor=" + beyond, list + "&cursor=" + last} {
		status, _, body, err := alice.Call(t.Context(), "GET", target, nil)
		var answer struct {
			Error struct {
				Code    string
				Details struct {
					RetryAfterMs int64 `json:"retry_after_ms,string"`
				}
			}
		}
		if err == nil {
			err = json.Unmarshal(body, &answer)
		}
		if err != nil || status != 503 || answer.Error.Code != "history_behind" || answer.Error.Details.RetryAfterMs < 1 {
			t.Errorf("%s while the mirror is behind: %d %s %v", target, status, body, err)
		}
	}
	unlock()
	v.WaitForMirror()
	rest := func(v *servertest.Venue, cursor string) (rows []string) {
		t.Helper()
		for cursor != "" {
			var page []json.RawMessage
			page, cursor, _ = readPage(t, v.Client("alice"), list+"&cursor="+cursor, &none)
			for _, row := range page {
				rows = append(rows, string(row))
			}
		}
		return rows
	}
	all := readAll(t, v, "alice", "/v1/portfolio/fills", 1000)
	for name, got := range map[string][]string{
		"issued while the mirror was behind": append([]string{string(newest[0])}, rest(v, next)...),
		"behind the rows of memory":          append([]string{string(memory[0]), string(memory[1])}, rest(v, beyond)...),
		"issued before":                      append(slices.Clone(all[:3]), append([]string{string(before[0])}, rest(v, issued)...)...),
	} {
		if strings.Join(got, "\n") != strings.Join(all, "\n") {
			t.Errorf("a cursor %s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(all, "\n"))
		}
	}

	// Without a mirror the list ends where memory ends; its cursors are the same.
	v = reopen(t, v, data, func(o *server.Options) { tinyCaps(o); o.Mirror = "" })
	_, without, _ := readPage(t, v.Client("alice"), "/v1/portfolio/fills?limit=1", &none)
	if got := rest(v, next); len(got) != 1 {
		t.Errorf("without a mirror %d rows follow the first, want the other one of memory", len(got))
	}
	if without == "" {
		t.Fatal("the first of two rows has no cursor")
	}
	v = reopen(t, v, data, tinyCaps)
	v.WaitForMirror()
	rows, cursor, _ := readPage(t, v.Client("alice"), "/v1/portfolio/fills?limit=1&cursor="+without, &none)
	if len(rows) != 1 || string(rows[0]) != all[1] || cursor == "" {
		t.Errorf("a cursor of a venue without a mirror: %s, cursor %q", rows, cursor)
	}
	if got := rest(v, next); strings.Join(got, "\n") != strings.Join(all[1:], "\n") {
		t.Errorf("a cursor of before two restarts: %d rows, want %d", len(got), len(all)-1)
	}
}
