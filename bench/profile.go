package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/google/pprof/profile"
)

// profileVenue starts a CPU profile of the venue. The returned function waits for the profile
// and stores it.
func (r *harness) profileVenue(ctx context.Context) (done func() error) {
	ended := make(chan error, 1)
	go func() { ended <- r.fetchProfile(ctx) }()
	return func() error { return <-ended }
}

func (r *harness) fetchProfile(ctx context.Context) error {
	b, err := r.admin(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%.0f", max(1, math.Floor(r.duration.Seconds()))))
	if err != nil {
		return err
	}
	p, err := profile.ParseData(b)
	r.profiles = append(r.profiles, p)
	return err
}

// writeProfiles merges the profiles into one file for the compiler. It removes file names,
// which depend on the machine.
func (r *harness) writeProfiles() error {
	p, err := profile.Merge(r.profiles)
	if err != nil {
		return err
	}
	for _, m := range p.Mapping {
		m.File = ""
	}
	for _, f := range p.Function {
		f.Filename = ""
	}
	out, err := os.Create(r.profile)
	if err != nil {
		return err
	}
	return errors.Join(p.Compact().Write(out), out.Close())
}
