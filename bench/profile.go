package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
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
	url := fmt.Sprintf("%s/debug/pprof/profile?seconds=%.0f", r.dev.Admin, max(1, math.Floor(r.duration.Seconds())))
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+r.dev.OperatorToken)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("profile: %s", resp.Status)
	}
	p, err := profile.Parse(resp.Body)
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
