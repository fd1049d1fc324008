package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
)

// watch profiles the venue while it works. What it gives waits for the profile and
// writes it to the file.
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
	f, err := os.Create(r.profile)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(f, resp.Body)
	return err
}
