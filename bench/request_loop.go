package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"duplex/internal/rawhttp"
)

// requestLoop is a closed loop of requests on many connections: each connection sends its next
// request when the previous one is answered.
type requestLoop struct {
	addr string
	pid  int                       // process id of the server
	next func(conn, n int) request // returns the n-th request of a connection
}

type request struct {
	bytes []byte
	want  int  // expected status
	free  bool // not counted; it only cancels orders
}

// result is the result of one run.
type result struct {
	PerSecond float64       `json:"per_second"`
	P50       time.Duration `json:"p50_ns"`
	P99       time.Duration `json:"p99_ns"`
	CPU       time.Duration `json:"cpu_ns"` // CPU time of the server per request
}

func medianResult(all []result, byP99 bool) result {
	all = slices.SortedFunc(slices.Values(all), func(a, b result) int {
		if byP99 {
			return cmp.Compare(a.P99, b.P99)
		}
		return cmp.Compare(a.PerSecond, b.PerSecond)
	})
	return all[len(all)/2]
}

func (l requestLoop) run(ctx context.Context, conns int, d time.Duration) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	before, err := cpuTime(l.pid)
	if err != nil {
		return result{}, err
	}
	all, took, err := onConns(conns, func(i int) ([]time.Duration, error) { return l.runConn(ctx, i) })
	if err != nil {
		return result{}, err
	}
	after, err := cpuTime(l.pid)
	return result{PerSecond: float64(len(all)) / took.Seconds(), P50: quantile(all, .5), P99: quantile(all, .99), CPU: (after - before) / time.Duration(len(all))}, err
}

// onConns calls do for n connections concurrently. It returns the latencies of all of them, sorted,
// and the time until the last call returned. It is an error if there are none.
func onConns(n int, do func(i int) ([]time.Duration, error)) (all []time.Duration, took time.Duration, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n {
		wg.Go(func() {
			t, e := do(i)
			mu.Lock()
			defer mu.Unlock()
			all, err = append(all, t...), errors.Join(err, e)
		})
	}
	wg.Wait()
	took = time.Since(start)
	if err != nil || len(all) == 0 {
		return nil, took, errors.Join(err, fmt.Errorf("%d requests answered", len(all)))
	}
	slices.Sort(all)
	return all, took, nil
}

// quantile returns the latency at q, from 0 to 1, of sorted ones.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1))].Round(10 * time.Microsecond)
}

// toolErrorMarker occurs in a tool's error, which has status 200.
var toolErrorMarker = []byte(`"isError":true`)

// cpuTime returns the CPU time of a process, which Linux counts in 1/100 s.
func cpuTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: %q", pid, b)
	}
	user, err := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err, err2)
}

func (l requestLoop) runConn(ctx context.Context, i int) (latencies []time.Duration, err error) {
	c, err := rawhttp.Dial(rawhttp.Signer{Host: l.addr})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for n := 0; ctx.Err() == nil; n++ {
		q := l.next(i, n)
		start := time.Now()
		status, b, err := c.RoundTrip(q.bytes)
		if err != nil {
			return latencies, err
		}
		if status != q.want || bytes.Contains(b, toolErrorMarker) {
			return latencies, fmt.Errorf("answered %d: %s", status, b)
		}
		if !q.free {
			latencies = append(latencies, time.Since(start))
		}
	}
	return latencies, nil
}
