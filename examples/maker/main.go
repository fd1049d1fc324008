// Command maker quotes both sides of every live series of one feed, on an account of
// its own: what a market maker needs, and no more. README.md tells how it works.
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

// here is a client from DX_URL, DX_KEY and DX_SECRET, or of an account of the file
// that `dx dev` wrote.
func here(account string) (*client.Client, error) {
	base, key, shown := os.Getenv("DX_URL"), os.Getenv("DX_KEY"), os.Getenv("DX_SECRET")
	if base == "" {
		var dev schemas.DevFile
		b, err := os.ReadFile(cmp.Or(os.Getenv("DX_DEV_FILE"), ".dx/dev.json"))
		if err = cmp.Or(err, json.Unmarshal(b, &dev)); err != nil {
			return nil, fmt.Errorf("no DX_URL, and no venue started here: %w", err)
		}
		for _, a := range dev.Accounts {
			if a.Name == account {
				base, key, shown = dev.API, a.APIKey, a.Secret
			}
		}
	}
	secret, ok := schemas.Secret(shown)
	if !ok {
		return nil, errors.New("DX_SECRET must be 64 hex characters")
	}
	return client.New(base, key, secret, client.WaitForTokens(), client.RepeatPlacements()), nil
}
