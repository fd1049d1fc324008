// Command bench runs the venue and the best of its kind in turn, in one run on one
// machine, and prints what each did and the ratio of the medians. It is a module of
// its own, so that no peer becomes a dependency of the venue.
//
//	go run . -rounds 5 -duration 3s
//
// Only ratios carry over to other machines.
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
	serve := flag.String("serve", "", "be a peer: "+strings.Join(peerNames(), ", "))
	flag.IntVar(&o.rounds, "rounds", 5, "times each side runs; the median counts")
	flag.DurationVar(&o.duration, "duration", 3*time.Second, "of each")
	flag.IntVar(&o.conns, "conns", 64, "connections")
	flag.StringVar(&o.only, "only", "", "comma-separated comparisons; default all")
	flag.StringVar(&o.profile, "profile", "", "file for a CPU profile of the venue over all its work; see cmd/dx/default.pgo")
	readers := flag.Int("crowd", 0, "instead: placements without readers and among so many, a tenth of them stuck")
	flood := flag.Bool("overload", false, "instead: five times what the venue can do, then 10,000 sockets that come and go")
	flag.UintVar(&o.inFlight, "in-flight", 0, "the venue's bound on placements in hand; 0: none")
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
		err = crowd(ctx, &o, *readers, os.Stdout)
	default:
		err = compare(ctx, &o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// comparison is one piece of work done by both sides.
type comparison struct {
	Name, Peer string
	peer       work
	venue      work
	byP99      bool // the ratio is of the p99s, not of the rates
}

// work is one run of one side.
type work func(context.Context, *rig) (figures, error)

// requests is the work of a load.
func requests(of func(*rig) load) work {
	return func(ctx context.Context, r *rig) (figures, error) { return of(r).run(ctx, r.conns, r.duration) }
}

// outcome is what a comparison came to.
type outcome struct {
	Name  string  `json:"name"`
	Peer  string  `json:"peer"`
	Venue figures `json:"venue"`
	Other figures `json:"other"`
	Ratio float64 `json:"ratio"`
}

func compare(ctx context.Context, o *options, out io.Writer) error {
	r, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer r.close()
	var all []outcome
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

// run lets both sides work in turn and takes the medians.
func (r *rig) run(ctx context.Context, c comparison) (outcome, error) {
	var venue, peer []figures
	for range r.rounds {
		if err := r.pick(ctx); err != nil {
			return outcome{}, err
		}
		for _, side := range []struct {
			do   work
			into *[]figures
		}{{c.peer, &peer}, {c.venue, &venue}} {
			done := func() error { return nil }
			if r.profile != "" && side.into == &venue {
				done = r.watch(ctx)
			}
			f, err := side.do(ctx, r)
			if err = errors.Join(err, done()); err != nil {
				return outcome{}, err
			}
			*side.into = append(*side.into, f)
		}
	}
	v, p := median(venue, c.byP99), median(peer, c.byP99)
	x := outcome{Name: c.Name, Peer: c.Peer, Venue: v, Other: p, Ratio: v.PerSecond / p.PerSecond}
	if c.byP99 {
		x.Ratio = float64(v.P99) / float64(p.P99)
	}
	return x, nil
}
