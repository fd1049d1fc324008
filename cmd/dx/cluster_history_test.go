package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/client"
	"duplex/internal/postgrestest"
	"duplex/schemas"
)

// TestClusterHistory replaces the members one by one, after etcd and the archives have forgotten the
// beginning, until no original one is left, and starts a follower with nothing. Each new node says that it
// knows less, and then has every row that the original ones have: of each order, fill, change of cash and
// deposit that was answered (docs/rules/history.md#history-of-a-node).
func TestClusterHistory(t *testing.T) {
	skipUnlessLong(t)
	c := startCluster(t, append([]string{"--mirror", "sqlite"}, loadRates...)...)
	c.founders = true // an old list is fine for members that start again, and for one that joins
	l := c.load()
	for l.answered(12_000); !l.haveFilled(200); { // no order trades while no round does, around a quarter of an hour
		l.answered(1000)
	}
	l.stop()
	for i := range 3 { // each writes a snapshot when it stops, with which a new node begins
		c.terminate(i)
		c.start(i)
		c.waitServing(i)
	}
	c.accepted(0, "cluster", "defrag")
	for name, rows := range l.histories(c.url(0, 8080)) {
		if strings.Contains(name, "/ledger") && len(rows) <= 200 {
			t.Errorf("%s has %d rows, not more than memory keeps", name, len(rows))
		}
	}

	f := c.follow()
	f.args = []string{"--mirror", "sqlite"}
	f.start(1, 2)
	f.waitState("serving")
	l.sameHistories("a follower from nothing", f.url(8080), c.url(0, 8080))

	c.members = append(c.members, &memberProcess{removed: true}, &memberProcess{removed: true})
	for k, replaced := range []struct{ old, by int }{{0, 3}, {1, 4}, {2, 0}} {
		asked := []int{1, 2, 3}[k]
		name := memberNames[replaced.by]
		c.kill(replaced.old)
		c.accepted(asked, "cluster", "add", name+"="+c.address(replaced.by, 7000))
		if err := os.RemoveAll(c.data(replaced.by)); err != nil {
			t.Fatal(err)
		}
		c.members[replaced.by] = &memberProcess{}
		c.start(replaced.by, "--join")
		c.waitStatus(asked, name+" with every group", func(s schemas.ClusterStatus, _ error) bool {
			m := memberOf(s, name)
			return m.Number > 0 && m.Behind != nil && *m.Behind == 0
		})
		c.accepted(asked, "cluster", "remove", memberNames[replaced.old])
		c.members[replaced.old].removed = true
		c.waitServing(replaced.by)
		l.sameHistories("the member "+name, c.url(replaced.by, 8080), c.url(asked, 8080))
		c.waitStatus(asked, "the whole history on "+name, func(s schemas.ClusterStatus, err error) bool {
			m := memberOf(s, name)
			return err == nil && m.HistorySinceSeq != nil && *m.HistorySinceSeq == 0
		})
		if replaced.by == 0 {
			c.members[0].removed = false
		}
	}
	c.terminate(4)
	c.start(4)
	c.waitServing(4)
	for _, tr := range l.traders {
		at := c.as(c.url(3, 8080), schemas.NewKey{APIKey: tr.key.APIKey, Secret: tr.key.Secret})
		for id, order := range tr.orders {
			if order == 0 || id%20 != 0 { // a read from the mirror costs 5 tokens
				continue
			}
			var got schemas.OrderRead
			err := untilRead(func() error {
				return at.Do(t.Context(), "GET", "/v1/portfolio/orders/{order_id}", schemas.GetOrder{OrderID: order}, &got)
			})
			if err != nil || uint64(got.Order.ClientOrderID) != id {
				t.Errorf("order %d of account %d: %+v %v", order, tr.user, got, err)
			}
		}
	}
}

// TestClusterSharedDatabase gives three members one PostgreSQL database under load. The one that writes is
// killed, then the next one stands still; another one writes within 15 s, and all have all rows
// (docs/rules/history.md#one-database-for-several-nodes).
func TestClusterSharedDatabase(t *testing.T) {
	skipUnlessLong(t)
	var server postgrestest.Server
	t.Cleanup(server.Stop)
	c := startCluster(t, append([]string{"--mirror", server.New(t)}, loadRates...)...)
	r := c.underLoad()
	r.l.answered(3000)
	writer := func(but int) (is int) {
		t.Helper()
		began := time.Now()
		if !within(3*time.Minute, func() bool {
			for i := range c.members {
				if i != but && c.metricOf(i, "duplex_mirror_writer") == 1 {
					is = i
					return true
				}
			}
			return false
		}) {
			t.Fatal("no other member writes the database")
		}
		t.Logf("%s writes after %v", memberNames[is], time.Since(began))
		return is
	}
	current := func(*faultRun) []int { return []int{writer(-1)} }
	another := func(r *faultRun) { writer(r.hit[0]) }
	r.run(1,
		fault{kind: "kill -9 of the writer", hits: current, begin: killHit, lasts: another, answers: 500, end: startHit},
		fault{kind: "writer paused", hits: current, begin: pauseHit, lasts: another, answers: 500, end: resumeHit},
	)
	r.l.stop()
	for i := 1; i < 3; i++ {
		r.l.sameHistories("the member "+memberNames[i], c.url(i, 8080), c.url(0, 8080))
	}
	for i := range 3 {
		if c.metricOf(i, "duplex_mirror_stopped") != 0 {
			t.Errorf("the mirror of %s has stopped", memberNames[i])
		}
	}
	r.finish()
}

// listsOfAnAccount are the lists that the mirror continues, and the names of their rows.
var listsOfAnAccount = map[string]string{
	"/v1/portfolio/orders": "orders", "/v1/portfolio/fills": "fills", "/v1/portfolio/ledger": "ledger", "/v1/portfolio/settlements": "settlements",
	"/v1/portfolio/rounds": "rounds", "/v1/deposits": "deposits",
}

// haveFilled reports whether each trader has so many fills.
func (l *workload) haveFilled(n schemas.U64) bool {
	return !slices.ContainsFunc(l.traders, func(t *loadTrader) bool {
		var fills schemas.FillList
		err := t.clients[0].Do(l.c.Context(), "GET", "/v1/portfolio/fills", schemas.ListFills{Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(1))}}, &fills)
		return err != nil || len(fills.Fills) == 0 || fills.Fills[0].N < n
	})
}

// histories reads all lists of all traders to their ends, by trader and path.
func (l *workload) histories(base string) map[string][]string {
	l.c.Helper()
	out := map[string][]string{}
	for _, t := range l.traders {
		at := l.c.as(base, schemas.NewKey{APIKey: t.key.APIKey, Secret: t.key.Secret})
		for path, name := range listsOfAnAccount {
			rows, err := readToTheEnd(l.c.Context(), at, path, name)
			if err != nil {
				l.c.Fatalf("%s on %s: %v", path, base, err)
			}
			out[fmt.Sprint(t.user, path)] = rows
		}
	}
	return out
}

// untilRead reads again while the node says that it lacks something, or that too much was read.
func untilRead(read func() error) error {
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := read()
		failed := (*client.Error)(nil)
		if !errors.As(err, &failed) || failed.Code != "history_behind" && failed.Code != "rate_limited" || time.Now().After(end) {
			return err
		}
	}
}

// readToTheEnd reads a list in pages.
func readToTheEnd(ctx context.Context, at *client.Client, path, name string) (rows []string, err error) {
	cursor := ""
	for {
		var page map[string]json.RawMessage
		err := untilRead(func() error {
			return at.Do(ctx, "GET", path, schemas.Page{Limit: schemas.Ptr(schemas.Int(1000)), Cursor: cursor}, &page)
		})
		if err != nil {
			return rows, err
		}
		var list []json.RawMessage
		if err := errors.Join(json.Unmarshal(page[name], &list), json.Unmarshal(page["cursor"], &cursor)); err != nil {
			return rows, fmt.Errorf("%v: %w", page, err)
		}
		for _, row := range list {
			rows = append(rows, string(row))
		}
		if cursor == "" {
			return rows, nil
		}
	}
}

// sameHistories compares all lists of a node with those of a member that has everything. A round may end
// between two reads, which are repeated then.
func (l *workload) sameHistories(node, base, whole string) {
	l.c.Helper()
	var got, want map[string][]string
	if within(3*time.Minute, func() bool {
		got, want = l.histories(base), l.histories(whole)
		return maps.EqualFunc(got, want, slices.Equal[[]string])
	}) {
		return
	}
	for name := range got {
		if !slices.Equal(got[name], want[name]) {
			l.c.Errorf("%s: %s has %d rows, a member that has everything has %d; or others", node, name, len(got[name]), len(want[name]))
		}
	}
}

// metricOf returns a metric of a member, -1 if the member does not tell.
func (c *clusterTrial) metricOf(i int, name string) float64 {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", c.url(i, 8082)+"/metrics", nil)
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+clusterOperator)
	resp, err := c.http.Do(r)
	if err != nil {
		return -1
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				return n
			}
		}
	}
	return -1
}
