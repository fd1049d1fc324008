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

// watch profiles the venue while it works. What it gives waits for the profile and
// keeps it.
func (r *rig) watch(ctx context.Context) (done func() error) {
	ended := make(chan error, 1)
	go func() { ended <- r.fetchProfile(ctx) }()
	return func() error { return <-ended }
}

func (r *rig) fetchProfile(ctx context.Context) error {
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

// writeProfiles writes the profiles of all work as one, as the compiler wants it:
// without the names of files, which are this machine's.
func (r *rig) writeProfiles() error {
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
