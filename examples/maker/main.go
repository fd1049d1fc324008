// Command maker quotes both sides of every live series of one feed, on an account of its
// own. It is a minimal market maker; README.md describes how it works.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"duplex/client"
	"duplex/schemas"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := here("maker")
	if err == nil {
		err = (&maker{Client: c}).run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "maker:", err)
		os.Exit(1)
	}
	fmt.Println("stopped: all orders are canceled, the dead-man switch is off")
}

// here returns a client for DX_URL, DX_KEY and DX_SECRET, or else for an account of the
// file that `dx dev` writes.
func here(account string) (*client.Client, error) {
	base, key, shown := os.Getenv("DX_URL"), os.Getenv("DX_KEY"), os.Getenv("DX_SECRET")
	if base == "" {
		var dev schemas.DevFile
		b, err := os.ReadFile(cmp.Or(os.Getenv("DX_DEV_FILE"), ".dx/dev.json"))
		if err = cmp.Or(err, json.Unmarshal(b, &dev)); err != nil {
			return nil, fmt.Errorf("DX_URL is not set, and there is no dev file: %w", err)
		}
		for _, a := range dev.Accounts {
			if a.Name == account {
				base, key, shown = dev.API, a.APIKey, a.Secret
			}
		}
	}
	secret, ok := schemas.ParseSecret(shown)
	if !ok {
		return nil, errors.New("DX_SECRET must be 64 hex characters")
	}
	return client.New(base, key, secret, client.WaitForTokens(), client.RepeatPlacements())
}
