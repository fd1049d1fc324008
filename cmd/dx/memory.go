package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// The collector runs when the heap has grown by so much beyond what is live: four times
// of it, which is little beside what requests leave behind, but no more than heapGrowth,
// for a venue with thousands of full histories has gigabytes live; and a quarter at
// least, so that it is not always running.
const (
	mostPercent  = 400
	leastPercent = 25
	heapGrowth   = 1 << 30
	paceEvery    = time.Second
)

// percentFor is the GOGC of a heap with so many bytes live.
func percentFor(live uint64) int {
	return int(min(mostPercent, max(leastPercent, heapGrowth*100/max(live, 1))))
}

// paceCollector keeps the collector's percentage fit for what is live. GOGC in the
// environment wins.
var paceCollector = sync.OnceFunc(func() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(mostPercent)
	go func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		set := mostPercent
		for range time.Tick(paceEvery) {
			metrics.Read(live)
			want := percentFor(live[0].Value.Uint64())
			if diff := want - set; diff*10 > set || -diff*10 > set { // each change stops the world for a moment
				set = want
				debug.SetGCPercent(want)
			}
		}
	}()
})
