package server

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// The garbage collector runs when the heap has grown by maxGCPercent of the live heap, but
// at most by maxHeapGrowth, because a venue with thousands of full histories has a live
// heap of gigabytes. The percentage is at least minGCPercent, so that the collector does
// not run all the time.
const (
	maxGCPercent   = 400
	minGCPercent   = 25
	maxHeapGrowth  = 1 << 30
	gcTuneInterval = time.Second
)

// TuneRuntime sets the garbage collector and GOMAXPROCS of this process for a venue. It
// affects the whole process, so Open does not call it: a program calls it whose main
// purpose is to serve a venue. The variables GOGC and GOMAXPROCS of the environment take
// precedence. Only the first call has an effect.
func TuneRuntime() {
	tuneCollector()
	raiseGOMAXPROCS()
}

// gcPercentFor returns the value of GOGC for a live heap of so many bytes.
func gcPercentFor(live uint64) int {
	return int(min(maxGCPercent, max(minGCPercent, maxHeapGrowth*100/max(live, 1))))
}

// tuneCollector adapts GOGC to the live heap, for as long as the process runs.
var tuneCollector = sync.OnceFunc(func() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(maxGCPercent)
	go func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		set := maxGCPercent
		for range time.Tick(gcTuneInterval) {
			metrics.Read(live)
			want := gcPercentFor(live[0].Value.Uint64())
			if diff := want - set; diff*10 > set || -diff*10 > set { // each change stops the world briefly
				set = want
				debug.SetGCPercent(want)
			}
		}
	}()
})

// raiseGOMAXPROCS gives the runtime one processor more than there are, because the sync of
// the journal blocks one without using it. From then on the runtime no longer follows
// changes of a container's CPU limit.
var raiseGOMAXPROCS = sync.OnceFunc(func() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
})
