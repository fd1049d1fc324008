//go:build linux

package engine

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"duplex/core"
	"duplex/core/journal"
)

// BenchmarkStall measures how long accounts can hold up all others by their client_order_ids
// alone. Ten accounts have used the given number of random ids each, and continue, while
// checkpoints and snapshots follow each other without a pause. ms-apply is the longest time to
// apply a group, with its wait for the lock; ms-cpu the longest processor time of that, which
// does not depend on the load of the machine; ms-answer the longest time to an answer, with
// the log's sync; B/id the memory of an id.
//
//	go test ./core/engine -run xxx -bench Stall -benchtime 20s
func BenchmarkStall(b *testing.B) {
	for _, ids := range []int{20_000, 1_000_000} {
		b.Run(fmt.Sprintf("ids=%d", ids), func(b *testing.B) { stall(b, ids) })
	}
}

func stall(b *testing.B, ids int) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as dx has it
	const accounts, callers = 10, 8
	dir, l := b.TempDir(), &timedLog{}
	e, err := Open(Options{Dir: dir, CheckpointEvery: 1, OpenLog: func(o journal.Options) (_ Log, err error) {
		l.Log, err = journal.Open(dir, o)
		return l, err
	}})
	if err != nil {
		b.Fatal(err)
	}
	defer kill(b, e)
	ctx := context.Background()
	for range accounts {
		if _, err := e.Submit(ctx, &core.CreateUser{}); err != nil {
			b.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	before := heapBytes()
	e.mu.Lock() // the log is bypassed: the benchmark is about memory
	ev := &core.Events{}
	for i := range accounts * ids {
		st := e.replica.Venue.Now()
		st.Seq, st.Ts = st.Seq+1, st.Ts+1
		ev.Reset()
		e.replica.Venue.Apply(st, &core.PlaceOrder{User: core.UserID(1 + i%accounts), ClientID: r.Uint64(), Market: 1}, ev)
	}
	e.mu.Unlock()
	perID := float64(heapBytes()-before) / float64(accounts*ids)
	stop := make(chan struct{})
	var all sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	submit := func(r *rand.Rand) {
		c := &core.PlaceOrder{User: core.UserID(1 + r.IntN(accounts)), ClientID: r.Uint64(), Market: 1}
		begun := time.Now()
		if _, err := e.Submit(ctx, c); err != nil {
			b.Error(err)
		}
		mu.Lock()
		took = append(took, time.Since(begun))
		mu.Unlock()
	}
	for i := range callers {
		all.Go(func() {
			for r := rand.New(rand.NewPCG(3, uint64(i))); !isClosed(stop); {
				submit(r)
			}
		})
	}
	all.Go(func() {
		for !isClosed(stop) {
			if _, err := e.Snapshot(); err != nil {
				b.Error(err)
			}
		}
	})
	e.stats.ApplyMaxNs.Store(0)
	l.longest.Store(0)
	snapshots := e.stats.Snapshots.Load()
	for b.Loop() {
		submit(r)
	}
	close(stop)
	all.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(e.stats.ApplyMaxNs.Load())/1e6, "ms-apply")
	b.ReportMetric(float64(l.longest.Load())/1e6, "ms-cpu")
	b.ReportMetric(float64(took[len(took)-1])/1e6, "ms-answer")
	b.ReportMetric(float64(took[len(took)*999/1000])/1e6, "ms-answer-p99.9")
	b.ReportMetric(float64(e.stats.Snapshots.Load()-snapshots), "snapshots")
	b.ReportMetric(perID, "B/id")
}

// timedLog records the longest processor time that the applier took for a group.
type timedLog struct {
	Log
	longest atomic.Int64
}

func (l *timedLog) Deliver(ctx context.Context, from uint64) iter.Seq2[journal.Group, error] {
	return func(yield func(journal.Group, error) bool) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for g, err := range l.Log.Deliver(ctx, from) {
			begun := threadTime()
			more := yield(g, err)
			storeMax(&l.longest, threadTime()-begun)
			if !more {
				return
			}
		}
	}
}

// threadTime is the processor time of this thread, in ns.
func threadTime() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}
