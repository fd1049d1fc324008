package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// load is a closed loop of requests over many connections: each sends the next when
// the last is answered.
type load struct {
	addr string
	pid  int                       // of the server
	next func(conn, n int) request // the n-th request of a connection
}

type request struct {
	bytes []byte
	want  int  // status
	free  bool // not counted: it makes room
}

// figures are what one run did.
type figures struct {
	PerSecond float64       `json:"per_second"`
	P50       time.Duration `json:"p50_ns"`
	P99       time.Duration `json:"p99_ns"`
	CPU       time.Duration `json:"cpu_ns"` // of the server, a request
}

func median(all []figures, byP99 bool) figures {
	all = slices.SortedFunc(slices.Values(all), func(a, b figures) int {
		if byP99 {
			return cmp.Compare(a.P99, b.P99)
		}
		return cmp.Compare(a.PerSecond, b.PerSecond)
	})
	return all[len(all)/2]
}

func (l load) run(ctx context.Context, conns int, d time.Duration) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var took []time.Duration
	var broke error
	spent, err := cpu(l.pid)
	if err != nil {
		return figures{}, err
	}
	begun := time.Now()
	for i := range conns {
		wg.Go(func() {
			t, err := l.loop(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			took, broke = append(took, t...), errors.Join(broke, err)
		})
	}
	wg.Wait()
	elapsed := time.Since(begun)
	after, err := cpu(l.pid)
	if broke = errors.Join(broke, err); broke != nil || len(took) == 0 {
		return figures{}, errors.Join(broke, fmt.Errorf("%d requests were answered", len(took)))
	}
	slices.Sort(took)
	at := func(q float64) time.Duration {
		return took[int(q*float64(len(took)-1))].Round(10 * time.Microsecond)
	}
	return figures{PerSecond: float64(len(took)) / elapsed.Seconds(), P50: at(.5), P99: at(.99), CPU: (after - spent) / time.Duration(len(took))}, nil
}

// refused is how the agent lane says so at status 200.
var refused = []byte(`"isError":true`)

// cpu is the processor time a process has had, as Linux counts it: in 1/100 s.
func cpu(pid int) (time.Duration, error) {
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

func (l load) loop(ctx context.Context, i int) (took []time.Duration, err error) {
	c, err := net.Dial("tcp", l.addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	r := bufio.NewReaderSize(c, 16<<10)
	var body []byte
	for n := 0; ctx.Err() == nil; n++ {
		q := l.next(i, n)
		begun := time.Now()
		if _, err := c.Write(q.bytes); err != nil {
			return took, err
		}
		status, b, err := answer(r, body)
		if err != nil {
			return took, err
		}
		if body = b; status != q.want || bytes.Contains(b, refused) {
			return took, fmt.Errorf("answered %d: %s", status, b)
		}
		if !q.free {
			took = append(took, time.Since(begun))
		}
	}
	return took, nil
}

// answer reads one response into b.
func answer(r *bufio.Reader, b []byte) (status int, body []byte, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, b, err
	}
	if len(line) < 12 {
		return 0, b, fmt.Errorf("no status in %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, b, err
	}
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, b, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if name, value, _ := strings.Cut(string(line), ":"); strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return 0, b, err
			}
		}
	}
	if length < 0 {
		return 0, b, errors.New("an answer without a length")
	}
	body = slices.Grow(b[:0], length)[:length]
	_, err = io.ReadFull(r, body)
	return status, body, err
}
