package server_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/mirror"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// tinyCaps keep so few rows in memory that nearly every list is in the mirror.
func tinyCaps(o *server.Options) {
	o.Mirror, o.ReadRate, o.WriteFloor = "sqlite", 1_000_000, 1_000_000
	o.TuneEngine = func(e *engine.Options) {
		e.Caps = view.RetentionCaps{
			Tape: 2, Terminal: 3, Rejects: 1, Fills: 2, Settlements: 1, Events: 50, Rounds: 4, Actions: 2, Routine: 2, Ledger: 3, AccountRounds: 1, Deposits: 1, Forecasts: 2,
		}
	}
}

// TestCursorsOfAnotherVenue checks that no list accepts a cursor of another venue, and that each stays
// valid when its own starts again.
func TestCursorsOfAnotherVenue(t *testing.T) {
	data := t.TempDir()
	v := servertest.New(t, func(o *server.Options) { o.Data, o.WriteFloor = data, 1_000_000 })
	trade(t, v)
	cursors := map[string]string{}
	for _, list := range []string{
		"/v1/portfolio/orders", "/v1/portfolio/fills", "/v1/portfolio/settlements", "/v1/portfolio/ledger", "/v1/portfolio/rounds", "/v1/markets/1/trades",
		"/v1/forecasts", "/v1/rounds", "/v1/markets", "/v1/oracle/history", "/v1/rounds/1/history", "/v1/rounds/1/evidence",
	} {
		status, _, body, err := v.Client("alice").Call(t.Context(), "GET", list+"?limit=1", nil)
		if err != nil || status != 200 {
			t.Fatalf("the first page of %s: %d %s %v, want 200", list, status, body, err)
		}
		if c := member(string(body), "cursor"); c != "" {
			cursors[list] = c
		}
	}
	if len(cursors) < 9 {
		t.Errorf("only %v have a second page", cursors)
	}
	ask := func(v *servertest.Venue, want string) {
		t.Helper()
		for list, c := range cursors {
			_, _, body, err := v.Client("alice").Call(t.Context(), "GET", list+"?limit=1&cursor="+c, nil)
			if err != nil || !strings.Contains(string(body), want) {
				t.Errorf("the second page of %s: %s %v, want %q", list, body, err, want)
			}
		}
	}
	ask(v, `"as_of_seq"`)
	v.Close()
	ask(servertest.New(t, aSecondLater), `"bad_cursor"`)
	ask(servertest.New(t, func(o *server.Options) { o.Data = data }), `"as_of_seq"`)
}

// aSecondLater moves the clock of a venue, because the clocks of all test venues begin at the same time,
// and cursors tell venues apart by the time at which they began.
func aSecondLater(o *server.Options) {
	now := o.Now
	o.Now = func() time.Time { return now().Add(time.Second) }
}

// TestListsBeyondMemory trades for three rounds on a venue that keeps few rows in memory, and reads
// every list to its end in pages of several sizes. A venue that keeps everything in memory, started
// from the same journal, shows the same rows.
func TestListsBeyondMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads every list to its end")
	}
	data := t.TempDir()
	v := servertest.New(t, tinyCaps, func(o *server.Options) { o.Data = data })
	trade(t, v)
	end := v.Engine().Seq()
	lists := []string{
		"/v1/portfolio/orders", "/v1/portfolio/orders?status=executed", "/v1/portfolio/orders?market_id=1", "/v1/portfolio/orders?status=rejected,canceled",
		"/v1/portfolio/orders?client_order_id=18446744073709551615", "/v1/portfolio/fills", "/v1/portfolio/fills?market_id=2",
		"/v1/portfolio/settlements", "/v1/portfolio/ledger", "/v1/portfolio/ledger?kind=fee,settlement", "/v1/portfolio/ledger?market_id=1", "/v1/portfolio/rounds",
		"/v1/portfolio/rounds?category=1", "/v1/deposits", "/v1/forecasts", "/v1/forecasts?market_id=2", "/v1/markets/1/trades", "/v1/rounds", "/v1/rounds?category=1",
	}
	read := func(v *servertest.Venue) map[string][]string {
		if v.Mirror() != nil {
			v.WaitForMirror()
		}
		out := map[string][]string{}
		for _, row := range readAll(t, v, "alice", "/v1/rounds", 1000) { // the oldest have left memory
			if !strings.Contains(row, `"status":"settled"`) { // its seconds go on
				continue
			}
			for _, of := range []string{"evidence", "history"} {
				target := fmt.Sprintf("/v1/rounds/%s/%s?round_number=%s", member(row, "market_id"), of, member(row, "round_number"))
				for _, size := range []int{7, 1000} {
					out[fmt.Sprintf("%s by %d", target, size)] = readAll(t, v, "alice", target, size)
				}
			}
		}
		out["/admin/audit"] = readAudit(t, v, end)
		for _, account := range []string{"alice", "bob"} {
			for _, row := range readAll(t, v, account, "/v1/portfolio/orders", 1000) {
				if strings.Contains(row, `"status":"rejected"`) { // it has no id
					continue
				}
				target := "/v1/portfolio/orders/" + member(row, "order_id")
				status, _, body, err := v.Client(account).Call(t.Context(), "GET", target, nil)
				if err != nil || status != 200 {
					t.Fatalf("GET %s: %d %s %v, want 200", target, status, body, err)
				}
				out[target] = []string{asOfSeq.ReplaceAllString(string(body), "")}
			}
			for _, list := range lists {
				for _, size := range []int{1, 3, 1000} {
					name := fmt.Sprintf("%s %s by %d", account, list, size)
					out[name] = readAll(t, v, account, list, size)
				}
			}
			checkFilters(t, v, account)
		}
		return out
	}
	got := read(v)
	v.Close()
	if err := os.RemoveAll(filepath.Join(data, "journal", "snapshots")); err != nil { // they have few rows
		t.Fatal(err)
	}
	whole := reopen(t, v, data, func(o *server.Options) { o.ReadRate = 1_000_000 })
	want, longest := read(whole), 0
	for name, rows := range want {
		if strings.Join(got[name], "\n") != strings.Join(rows, "\n") {
			t.Errorf("%s: with a mirror\n%s\nin memory\n%s", name, strings.Join(got[name], "\n"), strings.Join(rows, "\n"))
		}
		longest = max(longest, len(rows))
	}
	if longest < 40 {
		t.Errorf("the longest list has only %d rows", longest)
	}
}

// filterable are the lists that filters of time select from, with the filters of each that name a value
// of a row.
var filterable = map[string][]string{
	"/v1/portfolio/orders":      {"side", "group_id", "market_id", "status"},
	"/v1/portfolio/fills":       {"side", "round_number", "order_id"},
	"/v1/portfolio/ledger":      {"round_number", "order_id", "kind"},
	"/v1/portfolio/settlements": {"round_number"},
	"/v1/forecasts":             {"round_number", "market_id"},
	"/v1/markets/2/trades":      {},
	"/v1/deposits":              {},
	"/v1/withdrawals":           {},
}

// checkFilters compares each list under each of its filters, in pages of two sizes, with the rows of the
// whole list that the filter admits. The times of the filters are those of rows, and their neighbours.
func checkFilters(t *testing.T, v *servertest.Venue, account string) {
	t.Helper()
	check := func(list, query string, whole []string, keep func(row string) bool) {
		t.Helper()
		want := slices.DeleteFunc(slices.Clone(whole), func(row string) bool { return !keep(row) })
		for _, size := range []int{2, 1000} {
			if got := readAll(t, v, account, list+"?"+query, size); !slices.Equal(got, want) {
				t.Errorf("%s: %s?%s by %d:\n%s\nwant\n%s", account, list, query, size, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	number := func(row, name string) uint64 {
		n, err := strconv.ParseUint(member(row, name), 10, 64)
		if err != nil {
			t.Fatalf("%s of %s: %v", name, row, err)
		}
		return n
	}
	for list, names := range filterable {
		whole := readAll(t, v, account, list, 1000)
		if len(whole) == 0 {
			if account == "alice" {
				t.Errorf("%s has no row", list)
			}
			continue
		}
		stamp := "ts"
		if list == "/v1/portfolio/orders" {
			stamp = "created_ts"
		}
		within := func(row string, from, to uint64) bool {
			ts := number(row, stamp)
			return ts >= from && ts < to
		}
		first, middle, last := number(whole[len(whole)-1], stamp), number(whole[len(whole)/2], stamp), number(whole[0], stamp)
		for _, span := range [][2]uint64{
			{first, last}, {first + 1, last + 1}, {middle, middle}, {middle, middle + 1}, {middle + 1, last}, {first, middle}, {last, last + 1}, {last + 1, 1<<64 - 1}, {1, first}, {0, 0},
		} {
			check(list, fmt.Sprintf("from_ts=%d&to_ts=%d", span[0], span[1]), whole, func(row string) bool { return within(row, span[0], span[1]) })
		}
		check(list, fmt.Sprint("from_ts=", middle), whole, func(row string) bool { return within(row, middle, 1<<64-1) })
		check(list, fmt.Sprint("to_ts=", middle), whole, func(row string) bool { return within(row, 0, middle) })
		for _, name := range names {
			values := map[string]bool{"": true}
			for i, row := range whole {
				if value := member(row, name); !values[value] && (i%5 == 0 || len(values) < 4) {
					values[value] = true
					is := func(row string) bool { return member(row, name) == value || name == "group_id" && value == "0" }
					check(list, name+"="+value, whole, is)
					check(list, fmt.Sprintf("%s=%s&from_ts=%d&to_ts=%d", name, value, first+1, last), whole, func(row string) bool { return is(row) && within(row, first+1, last) })
				}
			}
		}
	}
	for _, list := range []string{"/v1/rounds", "/v1/portfolio/rounds"} {
		whole := readAll(t, v, account, list, 1000)
		for _, n := range []string{"0", member(whole[0], "round_number"), member(whole[len(whole)-1], "round_number"), "18446744073709551615"} {
			check(list, "round_number="+n, whole, func(row string) bool { return member(row, "round_number") == n })
		}
	}
}

// TestDeepPagesCostTokens checks that the part of a page beyond memory takes five read tokens more, that
// without them nothing is taken, and that get_retention names what the mirror has.
func TestDeepPagesCostTokens(t *testing.T) {
	const tokens = 40 // in a full bucket
	v := servertest.New(t, tinyCaps, func(o *server.Options) { o.ReadRate = tokens / 2 })
	trade(t, v)
	v.WaitForMirror()
	v.Advance(time.Minute) // the bucket is full
	v.Clock.Freeze()
	alice := v.Client("alice")
	get := func(target, want string) (body []byte) {
		t.Helper()
		_, _, body, err := alice.Call(t.Context(), "GET", target, nil)
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s %v, want %s", target, body, err, want)
		}
		return body
	}
	const deep, memory, rows, limited = "/v1/portfolio/fills?limit=1000", "/v1/portfolio/fills?limit=1", `"fills":[`, `"rate_limited"`
	for range 6 {
		get(deep, rows)
	}
	get(deep, limited) // its request took one of the four
	for range 3 {
		get(memory, rows)
	}
	get(memory, limited)
	v.Advance(time.Minute)
	var retention schemas.Retention
	if err := json.Unmarshal(get("/v1/exchange/retention", `"history":{"since_seq":"0","as_of_seq":"`), &retention); err != nil || retention.History == nil || retention.History.AsOfSeq == 0 || retention.FillCap != 2 {
		t.Errorf("get_retention: %+v %v, want what the mirror has and a fill cap of 2", retention, err)
	}
}

// TestLiveRowsNeedNoMirror checks that the list of live orders and the history of a live round, of which
// the first second has not ended, are read in memory alone: an agent reads them while the mirror is away.
func TestLiveRowsNeedNoMirror(t *testing.T) {
	v := servertest.New(t, tinyCaps)
	trade(t, v)
	alice := v.Client("alice")
	reads := func(route string) uint64 { return mirrorReads(v, route) }
	read := func(target, want string) {
		t.Helper()
		status, _, body, err := alice.Call(t.Context(), "GET", target, nil)
		if err != nil || status != 200 || !strings.Contains(string(body), want) {
			t.Errorf("GET %s: %d %s %v, want 200 with %q", target, status, body, err, want)
		}
	}
	v.WaitForMirror()
	before := reads("orders")
	for _, status := range []string{"resting", "partially_filled", "resting,partially_filled"} {
		read("/v1/portfolio/orders?status="+status, `"orders":[`)
	}
	if got := reads("orders"); got != before {
		t.Errorf("live orders were read %d times in the mirror", got-before)
	}
	if read("/v1/portfolio/orders?status=resting,executed&limit=1000", `"executed"`); reads("orders") == before {
		t.Error("ended orders were not read in the mirror")
	}

	var market core.MarketID
	for tries := 0; market == 0 && tries < 200; tries++ { // a round of a minute opens
		v.Advance(time.Second)
		v.PostPrice(core.BTC, 6_500_000_000_000)
		v.Engine().Read(func(m *venue.Venue, w *view.View) {
			for r := range w.Rounds(0) {
				if r.Status == core.Trading && r.OpenTs/core.NsPerSec == m.Now().Ts/core.NsPerSec {
					market = r.Market
				}
			}
		})
	}
	if market == 0 {
		t.Fatal("no round is in its first second")
	}
	v.Clock.Freeze()
	before = reads("round_history")
	read(fmt.Sprintf("/v1/rounds/%d/history", market), `"rows":[]`)
	if got := reads("round_history"); got != before {
		t.Error("the history of a live round was read in the mirror")
	}
}

// TestOpenOrdersNeedNoMirror ends more orders than memory keeps and then reads the open ones, and orders by
// their ids: while the mirror is behind, when it has caught up, and with a mirror that cannot be opened.
// Each read costs one token.
func TestOpenOrdersNeedNoMirror(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of requests")
	}
	const perSecond = 100
	data := t.TempDir()
	options := func(o *server.Options) {
		o.Data, o.Mirror, o.WriteFloor, o.ReadRate = data, "sqlite", 1_000_000, perSecond
	}
	v := servertest.New(t, options)
	alice := v.Client("alice")
	lock := lockMirror(t, v, data)
	id, ids := 0, map[int]string{}
	place := func(n int) {
		t.Helper()
		for ; n > 0; n-- {
			id++
			o, err := alice.PlaceOrder(t.Context(), schemas.PlaceOrder{ClientOrderID: schemas.U64(id), MarketID: 2, Side: "buy", Outcome: "yes", Type: "limit", Tick: schemas.Ptr(schemas.Int(100)), Qty: 1, TIF: "gtc"})
			if err != nil {
				t.Fatal(err)
			}
			ids[id] = strconv.FormatUint(uint64(o.OrderID), 10)
		}
	}
	for range 2 {
		place(200)
		if _, err := alice.CancelAll(t.Context(), schemas.CancelAll{}); err != nil {
			t.Fatal(err)
		}
	}
	place(3)
	const list = "/v1/portfolio/orders?"
	live := list + "status=resting,partially_filled"
	// check reads orders that memory has more often than five more tokens for each would allow, and then
	// the first order, which memory has released.
	check := func(when string, v *servertest.Venue, released int) {
		t.Helper()
		v.Clock.Advance(time.Minute) // the bucket is full
		v.Clock.Freeze()
		alice := v.Client("alice")
		reads, tokens := mirrorReads(v, "orders"), 2*perSecond
		for tokens > 20 {
			for target, rows := range map[string]int{
				list + "status=resting": 3, live: 3, list + "client_order_id=403": 1, list + "client_order_id=201": 1, list + "client_order_id=9999": 0,
				list + "order_id=" + ids[403]: 1, list + "order_id=" + ids[201]: 1, live + "&order_id=" + ids[201]: 0, "/v1/portfolio/orders/" + ids[201]: 1,
				"/v1/portfolio/fills?order_id=" + ids[201]: 0,
			} {
				status, _, body, err := alice.Call(t.Context(), "GET", target, nil)
				if err != nil || status != 200 || strings.Count(string(body), `"created_seq"`) != rows || strings.Contains(string(body), `"cursor":"e`) {
					t.Fatalf("%s, %d tokens left: %s: %d %s %v, want %d rows", when, tokens, target, status, body, err, rows)
				}
				tokens--
			}
		}
		if got := mirrorReads(v, "orders"); got != reads {
			t.Errorf("%s: the mirror was read %d times", when, got-reads)
		}
		for _, target := range []string{list + "client_order_id=1", list + "order_id=" + ids[1]} {
			if status, _, body, err := alice.Call(t.Context(), "GET", target, nil); err != nil || status != released {
				t.Errorf("%s: %s: %d %s %v, want %d", when, target, status, body, err, released)
			}
		}
		v.Clock.Run()
	}
	check("the mirror is behind", v, 503)
	lock()
	v.WaitForMirror()
	check("the mirror has every row", v, 200)

	v = reopenWithoutMirror(t, v, data, options)
	check("the mirror cannot be opened", v, 503)
}

// TestPagesOfMemoryNeedNoMirror reads every list whose older rows memory has released while the mirror
// cannot be opened: a page is what memory has of it, and its cursor leads to the rows of the mirror.
func TestPagesOfMemoryNeedNoMirror(t *testing.T) {
	if testing.Short() {
		t.Skip("reads every list to its end")
	}
	data := t.TempDir()
	options := func(o *server.Options) {
		tinyCaps(o)
		o.Data = data
		tune := o.TuneEngine
		o.TuneEngine = func(e *engine.Options) { tune(e); e.Caps.Rounds = 2 }
	}
	v := servertest.New(t, options)
	trade(t, v)
	v.WaitForMirror()
	lists := []string{
		"/v1/portfolio/orders", "/v1/portfolio/fills", "/v1/portfolio/fills?market_id=2", "/v1/portfolio/settlements", "/v1/portfolio/ledger",
		"/v1/portfolio/rounds", "/v1/deposits", "/v1/forecasts", "/v1/forecasts?market_id=2", "/v1/markets/2/trades", "/v1/rounds", "/v1/rounds?category=1",
	}
	whole := map[string][]string{}
	for _, list := range lists {
		whole[list] = readAll(t, v, "alice", list, 1000)
	}
	v = reopenWithoutMirror(t, v, data, options)
	alice := v.Client("alice")
	for _, list := range lists {
		and := "?"
		if strings.Contains(list, "?") {
			and = "&"
		}
		for _, size := range []int{1, 1000} {
			target, rows, end := fmt.Sprintf("%s%slimit=%d", list, and, size), []string(nil), ""
			for cursor := "-"; cursor != ""; {
				status, _, body, err := alice.Call(t.Context(), "GET", strings.TrimSuffix(target+"&cursor="+cursor, "&cursor=-"), nil)
				if err != nil || status != 200 {
					end = fmt.Sprint(status, " ", member(string(body), "code"), err)
					break
				}
				page := rowsOf(t, body)
				if len(page) == 0 {
					t.Errorf("%s: a page without a row: %s", target, body)
				}
				rows, cursor = append(rows, page...), member(string(body), "cursor")
			}
			if end != "503 history_behind<nil>" || len(rows) == 0 || len(rows) >= len(whole[list]) || !slices.Equal(rows, whole[list][:len(rows)]) {
				t.Errorf("%s: ended with %q after\n%s\nwant the first of\n%s", target, end, strings.Join(rows, "\n"), strings.Join(whole[list], "\n"))
			}
		}
	}
}

// mirrorReads returns how often a route has read the mirror, successful or not.
func mirrorReads(v *servertest.Venue, route string) (n uint64) {
	for _, r := range v.Mirror().Stats().Reads {
		if r.Route == route {
			n += r.Count
		}
	}
	return n
}

// lockMirror keeps the mirror of a venue from writing until the function that it returns is called.
func lockMirror(t *testing.T, v *servertest.Venue, data string) (unlock func()) {
	t.Helper()
	v.WaitForMirror()
	db, err := sql.Open("sqlite", "file:"+mirror.SQLitePath(data)+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	lock, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if _, err := lock.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

// reopenWithoutMirror starts a venue again after its mirror's database was overwritten.
func reopenWithoutMirror(t *testing.T, v *servertest.Venue, data string, change func(*server.Options)) *servertest.Venue {
	t.Helper()
	v.Close()
	path := mirror.SQLitePath(data)
	for _, end := range []string{"-wal", "-shm"} {
		_ = os.Remove(path + end)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("garbage "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	return reopen(t, v, data, change)
}

// reopen starts a venue again, with other options.
func reopen(t *testing.T, v *servertest.Venue, data string, change func(*server.Options)) *servertest.Venue {
	t.Helper()
	v.Close()
	o := server.Options{Data: data, Environment: "dev", Accounts: servertest.Accounts, DisputeWindow: time.Duration(core.DefaultRules().DisputeNs), Now: v.Clock.Time}
	change(&o)
	next := servertest.Open(t, o)
	next.Clock = v.Clock
	return next
}

// TestPricesBeyondMemory reads the price history across the end of memory, which keeps 86,400 ticks of a
// feed, in steps of several lengths. The rows are those of the ticks. A step that begins within the range
// is whole.
func TestPricesBeyondMemory(t *testing.T) {
	const memory, ticks = 86_400, 86_400 + 3_000
	data, clock := t.TempDir(), lanetest.NewClock()
	begin := clock.Now()/core.NsPerSec - ticks
	price := func(second int64) schemas.U64 { return schemas.U64(6_500_000_000_000 + second*second%1009) }
	now := begin * core.NsPerSec
	log, err := journal.Open(filepath.Join(data, "journal"), journal.Options{Now: func() int64 { return now }, Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	proposals := uint64(0)
	propose := func(cmds ...core.Command) {
		t.Helper()
		proposals++
		g := journal.Group{Proposal: proposals}
		for _, c := range cmds {
			if g.Body, err = journal.AppendCommand(g.Body, c); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Propose(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	propose(&core.ActivateRules{Revision: core.RevisionNewest, Environment: core.EnvironmentDev})
	for from := begin; from < begin+ticks; from += 60 {
		now = (from + 59) * core.NsPerSec
		var minute []core.Command
		for second := from; second < from+60; second++ {
			minute = append(minute, &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: second, Price: core.Price(price(second)), Count: 3}})
		}
		propose(minute...)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	v := servertest.Open(t, server.Options{
		Data: data, Environment: "dev", Mirror: "sqlite", Accounts: servertest.Accounts, ReadRate: 1_000_000, Now: clock.Time, MasterKey: make([]byte, 32),
	})
	v.Clock = clock
	v.WaitForMirror()
	for _, c := range []struct{ step, from, to int64 }{
		{1, begin + ticks - memory - 500, begin + ticks - memory + 500}, {60, begin, begin + ticks}, {7, begin + ticks - memory - 700, begin + ticks - memory + 700}, {3600, begin, begin + ticks},
	} {
		var want []schemas.PriceRow
		for second := min(begin+ticks, (c.to+c.step-1)/c.step*c.step) - 1; second >= c.from/c.step*c.step && second >= begin; second-- {
			start, x := schemas.U64(second/c.step*c.step*core.NsPerSec), price(second)
			if len(want) == 0 || want[len(want)-1].Ts != start {
				want = append(want, schemas.PriceRow{Ts: start, Close: x, Low: x, Sources: 3})
			}
			row := &want[len(want)-1]
			row.Open, row.High, row.Low = x, max(row.High, x), min(row.Low, x)
		}
		for _, size := range []int{17, 1000} {
			target := fmt.Sprintf("/v1/oracle/history?feed=0&step_secs=%d&from_ts=%d&to_ts=%d", c.step, c.from*core.NsPerSec, c.to*core.NsPerSec)
			got := readAll(t, v, "alice", target, size)
			for i, text := range got {
				var row schemas.PriceRow
				if err := json.Unmarshal([]byte(text), &row); err != nil || i >= len(want) || row != want[i] {
					t.Fatalf("%s by %d: row %d is %s %v", target, size, i, text, err)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s by %d: %d rows, want %d", target, size, len(got), len(want))
			}
		}
	}
}

// trade lets alice and bob trade in three rounds of a minute that end one after the other.
func trade(t *testing.T, v *servertest.Venue) {
	alice, bob := v.Client("alice"), v.Client("bob")
	id := uint64(1) << 63
	place := func(c *client.Client, market int, outcome string, tick, qty int) {
		t.Helper()
		id++
		_, err := c.PlaceOrder(t.Context(), schemas.PlaceOrder{ClientOrderID: schemas.U64(id), MarketID: schemas.Int(market), Side: "buy", Outcome: outcome, Type: "limit", Tick: schemas.Ptr(schemas.Int(tick)), Qty: schemas.Int(qty), TIF: "gtc"})
		if err != nil && tick != 7777 {
			t.Fatal(err)
		}
	}
	sell := func(c *client.Client, market, tick, group int) {
		t.Helper()
		id++
		_, err := c.PlaceOrder(t.Context(), schemas.PlaceOrder{ClientOrderID: schemas.U64(id), MarketID: schemas.Int(market), Side: "sell", Outcome: "yes", Type: "limit", Tick: schemas.Ptr(schemas.Int(tick)), Qty: 1, TIF: "gtc", GroupID: schemas.Int(group)})
		if err != nil {
			t.Fatal(err)
		}
	}
	withdrawals := 0
	for i := range 4 {
		v.Submit(&core.Deposit{User: core.UserID(1 + i%2), DepositID: fmt.Sprint("more", i), Amount: core.Pips(1000 + i), Audit: core.Audit{Who: "operator"}})
	}
	for range 3 {
		market := 0
		v.WaitUntil(func(m *venue.Venue, _ *view.View) bool {
			for slot := core.MarketID(1); slot < 20 && market == 0; slot++ {
				if s, ok := m.Market(slot); ok && s.Status == core.Trading && s.Category == 1 {
					market = int(slot)
				}
			}
			return market != 0
		})
		forecast := func(c *client.Client, market, p int) {
			t.Helper()
			m, err := c.Market(t.Context(), market)
			if err == nil {
				_, err = c.SubmitForecast(t.Context(), schemas.SubmitForecast{MarketID: schemas.Int(market), Generation: schemas.Int(m.Generation), P: schemas.Int(p)})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			forecast(alice, market, 4000+i)
			forecast(alice, 2, 5000+i)
			forecast(bob, 2, 10_000*(i%2))
			place(alice, market, "yes", 5000, 2+i)
			place(bob, market, "no", 5000, 1+i)
			place(bob, 2, "no", 4000, 3)
			place(alice, 2, "yes", 6000, 2)
			place(alice, 2, "yes", 7777, 1) // off the grid
		}
		withdrawals++
		v.Submit(&core.RequestWithdrawal{User: 1, ClientID: fmt.Sprint("w", withdrawals), Amount: 100, Destination: "bank"})
		place(bob, 2, "yes", 3000, 1)
		sell(alice, 2, 3000, 7)
		if _, err := alice.CancelAll(t.Context(), schemas.CancelAll{}); err != nil {
			t.Fatal(err)
		}
		for range 70 {
			v.Advance(time.Second)
			v.PostPrice(core.BTC, core.Price(6_500_000_000_000+v.Clock.Now()%7))
		}
	}
	id = 1<<64 - 2
	place(bob, 2, "yes", 100, 1)
}

// asOfSeq matches the member of an answer that depends on when it is read.
var asOfSeq = regexp.MustCompile(`,"as_of_seq":"\d+"`)

// readAudit reads the recorded actions to their end, without those behind a seq: the next start of a dev
// venue repeats its deposits.
func readAudit(t *testing.T, v *servertest.Venue, end uint64) (rows []string) {
	t.Helper()
	for cursor := ""; ; {
		var page struct {
			Actions []json.RawMessage
			Cursor  string
		}
		if err := json.Unmarshal([]byte(askOperator(t, v, "GET", "/admin/audit?limit=3&cursor="+cursor, "")), &page); err != nil {
			t.Fatal(err)
		}
		for _, a := range page.Actions {
			if seq, err := strconv.ParseUint(member(string(a), "seq"), 10, 64); err != nil || seq <= end {
				rows = append(rows, string(a))
			}
		}
		if cursor = page.Cursor; cursor == "" {
			return rows
		}
	}
}

// clockRunning matches the one member of a row that depends on when it is read.
var clockRunning = regexp.MustCompile(`,"secs_to_close":\d+`)

// readAll reads a list to its end and returns its rows as JSON.
func readAll(t *testing.T, v *servertest.Venue, account, list string, size int) (rows []string) {
	t.Helper()
	c := v.Client(account)
	path, query, _ := strings.Cut(list, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	q.Set("limit", fmt.Sprint(size))
	for {
		status, _, body, err := c.Call(t.Context(), "GET", path+"?"+q.Encode(), nil)
		if err != nil || status != 200 {
			t.Fatalf("a page of %s: %d %s %v, want 200", list, status, body, err)
		}
		page := rowsOf(t, body)
		cursor := member(string(body), "cursor")
		if rows = append(rows, page...); len(page) > size || len(page) == 0 && cursor != "" {
			t.Fatalf("%s: a page of %d rows", path, len(page))
		}
		if cursor == "" {
			return rows
		}
		q.Set("cursor", cursor)
	}
}

// rowsOf returns the rows of a page as JSON.
func rowsOf(t *testing.T, body []byte) (rows []string) {
	t.Helper()
	var page map[string]json.RawMessage
	if err := json.Unmarshal(body, &page); err != nil {
		t.Fatal(err)
	}
	for name, value := range page {
		switch name {
		case "rows", "ticks", "orders", "fills", "settlements", "ledger", "rounds", "deposits", "withdrawals", "trades", "forecasts":
			var list []json.RawMessage
			if err := json.Unmarshal(value, &list); err != nil {
				t.Fatal(err)
			}
			for _, x := range list {
				rows = append(rows, clockRunning.ReplaceAllString(string(x), ""))
			}
		}
	}
	return rows
}
