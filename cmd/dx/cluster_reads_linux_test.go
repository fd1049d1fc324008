package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/client"
	"duplex/schemas"
)

// TestClusterReads measures the reads that a second of processor time serves, on a single machine, on
// each member of a cluster and on a follower, in alternation. Two processors cannot show the reads of
// several machines side by side, but what each needs for one read shows what they serve together.
//
//	go test ./cmd/dx -run ClusterReads -memberload 5 -v -timeout 60m
func TestClusterReads(t *testing.T) {
	if *memberLoad == 0 {
		t.Skip("a measurement, and no check: go test ./cmd/dx -run ClusterReads -memberload 5 -v -timeout 60m")
	}
	c := startCluster(t)
	f := c.follow()
	f.start(0, 1, 2)
	f.waitState("serving")
	c.members = append(c.members, &memberProcess{})
	c.startSingle(3)
	for _, admin := range []string{c.url(0, 8082), c.url(3, 8082)} {
		c.keepPrices(admin)
	}
	keys, singleKeys := c.readKeys(c.url(0, 8082)), c.readKeys(c.url(3, 8082))
	nodes := []struct {
		name, api string
		pid       int
		keys      []schemas.NewKey
	}{
		{"single machine", c.url(3, 8080), c.members[3].cmd.Process.Pid, singleKeys},
		{"member a", c.url(0, 8080), c.members[0].cmd.Process.Pid, keys},
		{"member b", c.url(1, 8080), c.members[1].cmd.Process.Pid, keys},
		{"member c", c.url(2, 8080), c.members[2].cmd.Process.Pid, keys},
		{"follower", f.url(8080), f.process.cmd.Process.Pid, keys},
	}
	results := make([][]float64, len(nodes))
	for range *memberLoad {
		for i, n := range nodes {
			results[i] = append(results[i], c.reads(n.api, n.pid, n.keys))
		}
	}
	for i, n := range nodes {
		var ratios []float64 // of the pairs
		for k, r := range results[i] {
			ratios = append(ratios, r/results[0][k])
		}
		slices.Sort(results[i])
		slices.Sort(ratios)
		t.Logf("%-15s %7.0f reads per second of processor time (%.2f; %.2f to %.2f)", n.name, results[i][len(ratios)/2], ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
	}
}

// readKeys creates as many keys as keep reads below the rate of each.
func (c *clusterTrial) readKeys(admin string) (keys []schemas.NewKey) {
	c.Helper()
	for u := range 20 {
		var user schemas.NewUser
		if status, err := adminAt(c.Context(), admin, "POST", "/admin/users", map[string]any{"name": fmt.Sprint("reader ", u)}, &user); err != nil || status != 201 {
			c.Fatal(status, err)
		}
		for range 20 {
			var k schemas.NewKey
			if status, err := adminAt(c.Context(), admin, "POST", fmt.Sprintf("/admin/users/%d/keys", user.UserID), map[string]any{"scopes": []string{"read"}}, &k); err != nil || status != 201 {
				c.Fatal(status, err)
			}
			keys = append(keys, k)
		}
	}
	return keys
}

// reads reads balances and order books of a node over 32 connections for loadTime, and returns how many
// a second of its process' processor time served.
func (c *clusterTrial) reads(api string, pid int, keys []schemas.NewKey) float64 {
	c.Helper()
	const readers = 32
	ctx, cancel := context.WithTimeout(c.Context(), loadTime)
	defer cancel()
	var done atomic.Int64
	var all sync.WaitGroup
	before := c.processorTime(pid)
	for i := range readers {
		var own []*client.Client
		for k := i; k < len(keys); k += readers {
			own = append(own, c.as(api, keys[k], client.MaxAttempts(1)))
		}
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				var err error
				if at := own[n%len(own)]; n%2 == 0 {
					_, err = at.Orderbook(ctx, schemas.GetOrderbook{MarketID: 1})
				} else {
					_, err = at.Balance(ctx)
				}
				if err == nil {
					done.Add(1)
				} else if ctx.Err() == nil {
					c.Errorf("%s: %v", api, err)
					return
				}
			}
		})
	}
	all.Wait()
	return float64(done.Load()) / (c.processorTime(pid) - before).Seconds()
}

// processorTime is what a process has used.
func (c *clusterTrial) processorTime(pid int) time.Duration {
	c.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		c.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name may have spaces
	fields, ticks := strings.Fields(after), int64(0)
	for _, f := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			c.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
