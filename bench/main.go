// Command bench compares the venue with the fastest programs of each kind. It runs both sides
// in turn on one machine and prints their results and the ratio of the medians. It is a
// separate module, so that no peer becomes a dependency of the venue.
//
//	go run . -rounds 5 -duration 3s
//
// Only the ratios are comparable between machines.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"
)

type options struct {
	rounds   int
	duration time.Duration
	conns    int
	only     string
	profile  string
	inFlight uint
	json     bool
}

func main() {
	var o options
	serve := flag.String("serve", "", "run as a peer: "+strings.Join(peerNames(), ", "))
	flag.IntVar(&o.rounds, "rounds", 5, "runs of each side; the median counts")
	flag.DurationVar(&o.duration, "duration", 3*time.Second, "duration of each run")
	flag.IntVar(&o.conns, "conns", 64, "number of connections")
	flag.StringVar(&o.only, "only", "", "comma-separated names of comparisons; all by default")
	flag.StringVar(&o.profile, "profile", "", "file for a CPU profile of the venue over all comparisons; see cmd/dx/release.pgo")
	readers := flag.Int("crowd", 0, "instead, measure placements without readers and with this many, a tenth of them stuck")
	flood := flag.Bool("overload", false, "instead, offer five times the venue's capacity, then open and close 10,000 WebSockets")
	flag.UintVar(&o.inFlight, "in-flight", 0, "the venue's bound on placements in flight; 0 for none")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *serve != "":
		err = servePeer(ctx, *serve)
	case *flood:
		err = overload(ctx, &o, max(*readers, 10_000), os.Stdout)
	case *readers > 0:
		err = slowReaders(ctx, &o, *readers, os.Stdout)
	default:
		err = compare(ctx, &o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// comparison is a measurement of both sides.
type comparison struct {
	Name, Peer string
	peer       measurement
	venue      measurement
	compareP99 bool // compare the p99 latencies instead of the rates
}

// measurement is one run of one side.
type measurement func(context.Context, *harness) (result, error)

// loopMeasurement returns a measurement that runs a request loop.
func loopMeasurement(newLoop func(*harness) requestLoop) measurement {
	return func(ctx context.Context, r *harness) (result, error) { return newLoop(r).run(ctx, r.conns, r.duration) }
}

// comparisonResult holds the median results of a comparison.
type comparisonResult struct {
	Name  string  `json:"name"`
	Peer  string  `json:"peer"`
	Venue result  `json:"venue"`
	Other result  `json:"other"`
	Ratio float64 `json:"ratio"`
}

func compare(ctx context.Context, o *options, out io.Writer) error {
	r, err := newHarness(ctx, o)
	if err != nil {
		return err
	}
	defer r.close()
	var all []comparisonResult
	for _, c := range comparisons {
		if o.only != "" && !strings.Contains(","+o.only+",", ","+c.Name+",") {
			continue
		}
		x, err := r.run(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		all = append(all, x)
	}
	if o.profile != "" {
		if err := r.writeProfiles(); err != nil {
			return err
		}
	}
	if o.json {
		return json.NewEncoder(out).Encode(all)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WORK\tVENUE/S\tP50\tP99\tCPU\tPEER\tPEER/S\tP50\tP99\tCPU\tRATIO")
	for _, x := range all {
		fmt.Fprintf(w, "%s\t%.0f\t%v\t%v\t%v\t%s\t%.0f\t%v\t%v\t%v\t%.2f\n", x.Name, x.Venue.PerSecond, x.Venue.P50, x.Venue.P99, x.Venue.CPU.Round(10*time.Nanosecond), x.Peer, x.Other.PerSecond, x.Other.P50, x.Other.P99, x.Other.CPU.Round(10*time.Nanosecond), x.Ratio)
	}
	return w.Flush()
}

// run measures both sides in turn and returns the medians.
func (r *harness) run(ctx context.Context, c comparison) (comparisonResult, error) {
	var venue, peer []result
	for range r.rounds {
		if err := r.waitForMarket(ctx); err != nil {
			return comparisonResult{}, err
		}
		for _, side := range []struct {
			do   measurement
			into *[]result
		}{{c.peer, &peer}, {c.venue, &venue}} {
			done := func() error { return nil }
			if r.profile != "" && side.into == &venue {
				done = r.profileVenue(ctx)
			}
			f, err := side.do(ctx, r)
			if err = errors.Join(err, done()); err != nil {
				return comparisonResult{}, err
			}
			*side.into = append(*side.into, f)
		}
	}
	v, p := medianResult(venue, c.compareP99), medianResult(peer, c.compareP99)
	x := comparisonResult{Name: c.Name, Peer: c.Peer, Venue: v, Other: p, Ratio: v.PerSecond / p.PerSecond}
	if c.compareP99 {
		x.Ratio = float64(v.P99) / float64(p.P99)
	}
	return x, nil
}
