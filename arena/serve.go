package arena

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"duplex/lanes/gate"
	"duplex/lanes/mcp"
	"duplex/schemas"
)

// Serve opens the venue of one seed for use by hand, until ctx ends. ready gets its addresses and
// keys. Nothing is kept. Time stands still until a seat that is no baseline has called, and then
// whenever one that has called does not wait.
func Serve(ctx context.Context, c *Config, seed uint64, o Options, ready func(schemas.DevFile) error) (err error) {
	dir, err := os.MkdirTemp(o.Temp, "dx-arena-serve-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Hand = true
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o.Ready = func(s *seedRun) {
		if err := ready(s.devFile()); err != nil {
			stop(err)
		}
	}
	hand := *c
	hand.Rounds, hand.stall, hand.Solo = math.MaxInt, time.Duration(math.MaxInt64), false
	s, err := newSeedRun(&hand, draw{seed: seed, place: int(seed % maxSeeds)}, filepath.Join(dir, "bundle"), seatsOf(&hand, 0), &o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(s.work) //nolint:errcheck // a temporary folder
	err = s.run(ctx, nil)
	if ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return cause
	}
	return nil
}

// devFile returns the addresses and keys in the form of the file of dx dev.
func (s *seedRun) devFile() schemas.DevFile {
	api := s.venue.APIURL()
	f := schemas.DevFile{API: api, WS: "ws" + strings.TrimPrefix(api, "http") + "/v1/ws", MCP: api + mcp.Path, Portal: s.venue.PortalURL(), Admin: s.venue.AdminURL(), OperatorToken: s.venue.OperatorToken()}
	for _, x := range s.seats {
		f.Accounts = append(f.Accounts, schemas.DevAccount{Name: x.Name, UserID: uint32(x.user), APIKey: x.key, Secret: hex.EncodeToString(x.secret), Scopes: gate.UserScopes.Names()})
	}
	return f
}
