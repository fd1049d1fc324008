package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"duplex/cmd/dx/load"
	"duplex/schemas"
)

var memberLoad = flag.Int("memberload", 0, "pairs of TestClusterThroughput; 0: it is left out")

// loadTime is how long each run of TestClusterThroughput places orders.
const loadTime = 5 * time.Second

// TestClusterThroughput measures a single machine and a cluster of three members, all real processes
// on this machine, in alternation. `dx bench` processes with 64 connections in total place orders over
// REST, on the single machine, spread over the members, or all on one of them.
//
//	go test ./cmd/dx -run ClusterThroughput -memberload 5 -v -timeout 60m
func TestClusterThroughput(t *testing.T) {
	if *memberLoad == 0 {
		t.Skip("a measurement, and no check: go test ./cmd/dx -run ClusterThroughput -memberload 5 -v -timeout 60m")
	}
	c := startCluster(t, loadRates...)
	c.members = append(c.members, &memberProcess{})
	c.startSingle(3, loadRates...)
	for _, address := range []string{c.url(0, 8082), c.url(3, 8082)} {
		c.keepPrices(address)
	}
	members := []string{c.url(0, 8080), c.url(1, 8080), c.url(2, 8080)}
	admins := []string{c.url(0, 8082), c.url(1, 8082), c.url(2, 8082)}
	kinds := []struct {
		name        string
		urls, admin []string
		batch       int
	}{
		{"single machine", []string{c.url(3, 8080)}, []string{c.url(3, 8082)}, 1},
		{"spread over three members", members, admins, 1},
		{"one member", members[:1], admins[:1], 1},
		{"single machine, batches of 20", []string{c.url(3, 8080)}, []string{c.url(3, 8082)}, 20},
		{"spread, batches of 20", members, admins, 20},
		{"one member, batches of 20", members[:1], admins[:1], 20},
	}
	results := map[string][]load.PlacementReport{}
	for range *memberLoad {
		for _, k := range kinds {
			results[k.name] = append(results[k.name], c.bench(k.urls, k.admin, k.batch))
		}
	}
	median := func(name string, of func(load.PlacementReport) float64) float64 {
		var list []float64
		for _, r := range results[name] {
			list = append(list, of(r))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	for _, k := range kinds {
		base := kinds[0].name
		if k.batch > 1 {
			base = kinds[3].name
		}
		rate := func(r load.PlacementReport) float64 { return r.PerSecond }
		p50, p99 := func(r load.PlacementReport) float64 { return float64(r.P50) / 1e3 }, func(r load.PlacementReport) float64 { return float64(r.P99) / 1e3 }
		t.Logf("%-30s %8.0f orders/s (%.2f)  p50 %6.2f ms (%.1f)  p99 %6.2f ms (%.1f)", k.name, median(k.name, rate), median(k.name, rate)/median(base, rate),
			median(k.name, p50), median(k.name, p50)/median(base, p50), median(k.name, p99), median(k.name, p99)/median(base, p99))
	}
}

// keepPrices posts a price of BTC each second until the test ends, so that rounds trade, and returns
// once a round that lasts longer than a minute does.
func (c *clusterTrial) keepPrices(admin string) {
	c.Helper()
	post := func() {
		_, err := adminAt(c.Context(), admin, "POST", "/admin/oracle/ticks", map[string]any{"feed": 0, "source": "test", "price": "6500000000000"}, nil)
		if err != nil && c.Context().Err() == nil {
			c.Log(err)
		}
	}
	go func() {
		for c.Context().Err() == nil {
			post()
			select {
			case <-c.Context().Done():
			case <-time.After(time.Second):
			}
		}
	}()
	trading := func(m schemas.AdminMarket) bool { return m.Series != "BTC 60s" && m.Status == "trading" }
	if !within(16*time.Minute, func() bool {
		var l schemas.AdminMarkets
		_, err := adminAt(c.Context(), admin, "GET", "/admin/markets", nil, &l)
		return err == nil && slices.ContainsFunc(l.Markets, trading)
	}) {
		c.Fatal("no round of BTC trades")
	}
}

// bench runs `dx bench` on each address at the same time, with 64 connections in total, and returns
// the sum of the rates, and the latencies of the slowest.
func (c *clusterTrial) bench(urls, admins []string, batch int) (sum load.PlacementReport) {
	c.Helper()
	path := dxPath(c)
	var runs sync.WaitGroup
	var mu sync.Mutex
	for i, url := range urls {
		runs.Go(func() {
			conns := (64 + len(urls) - 1 - i) / len(urls)
			cmd := exec.Command(path, "bench", "--url", url, "--admin", admins[i], "--conns", fmt.Sprint(conns), "--batch", fmt.Sprint(batch), "--duration", loadTime.String(), "--no-frames", "--json")
			cmd.Env = append(os.Environ(), "DX_OPERATOR_TOKEN="+clusterOperator)
			out, err := cmd.Output()
			var r load.PlacementReport
			if err == nil {
				err = json.Unmarshal(out, &r)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				c.Errorf("dx bench on %s: %v %s", url, err, out)
				return
			}
			sum.PerSecond += r.PerSecond
			sum.P50, sum.P99 = max(sum.P50, r.P50), max(sum.P99, r.P99)
			sum.Failed += r.Failed
		})
	}
	runs.Wait()
	if c.Failed() {
		c.FailNow()
	}
	return sum
}
