package main

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/mirror"
	"duplex/feeds"
	"duplex/server"
)

// serveCmd is `dx serve`.
type serveCmd struct{ serveSettings }

// serveSettings are the flags of dx serve. Each is also a variable DX_… and a line of
// dx.toml.
type serveSettings struct {
	API           string        `help:"Address of REST, the agent lane and events." default:":8080"`
	Portal        string        `help:"Address of the portal." default:":8081"`
	Admin         string        `help:"Address of the operator; keep it on loopback." default:"127.0.0.1:8082"`
	Data          string        `help:"Where the venue is kept." default:"dx-data" type:"path"`
	MasterKey     string        `type:"secret" help:"64 hex characters that seal the key secrets; default: a file made in the data directory."`
	MasterKeyOld  string        `type:"secret" help:"The master key before, while secrets are sealed anew under the one of --master-key."`
	MasterKeyLost bool          `help:"Start with a new --master-key although the one before is lost: every API key is revoked."`
	OperatorToken string        `type:"token" help:"The shared operator's token, which adds the first named operator; default: a file made in the data directory."`
	OperatorsLost bool          `help:"Revoke every operator with the role admin, so that the shared token is an admin again."`
	Dispute       time.Duration `help:"How long a proposed price stands before it settles." default:"5s"`
	Oracle        string        `help:"How prices come: live (the sources), manual (POST /admin/oracle/ticks) or replay:FILE." default:"live"`
	ReplaySpeed   int           `help:"How many times as fast a file is played." default:"1"`
	WriteFloor    int64         `help:"Write tokens a second of a new account." default:"20"`
	AccountRate   *int64        `help:"Write tokens a second of all keys of an account together, at least 20; 0: no such bound, which needs --signup off. Default: 100 with --signup token or open, or the account's own write rate if that is more; else none." placeholder:"N"`
	AccountKeys   *int          `help:"Live keys of an account, beyond which it creates no more; 0: no cap. Default: 50 with --signup token or open, else none." placeholder:"N"`
	InFlight      uint          `help:"Requests that place orders in hand at once; more are refused with shed. 0: no bound but the queue." default:"0"`
	ReplayGuard   bool          `help:"Take each signed write once: the same bytes again within the window are refused."`
	fourEyesFlags
	accessFlags
	oauthFlags
	tlsFlags
	mirror.Flags
	archiveFlags
	clusterFlags
	fundingFlags
	sourceFlags
	limitFlags
	sessionFlags
}

func (s *serveCmd) Run(ctx context.Context, out io.Writer, log *slog.Logger, logged venueLog) error {
	o, err := s.options()
	if err != nil {
		return err
	}
	o.Log = log
	return runVenue(ctx, o, logged, func(v *server.Venue) error {
		v.LogOpen()
		return v.Wait(ctx)
	})
}

// options returns the options of the venue. Without an error, the venue can start with them, as far as that can
// be known without a listener, the data directory or the network.
func (s *serveSettings) options() (o server.Options, err error) {
	o = server.Options{
		API: s.API, Portal: s.Portal, Admin: s.Admin, Data: s.Data, Environment: "live", DisputeWindow: s.Dispute, WriteFloor: s.WriteFloor, AccountRate: s.AccountRate, AccountKeys: s.AccountKeys,
		OperatorToken: s.OperatorToken, OperatorsLost: s.OperatorsLost, FourEyes: s.approvalLimit(), MasterKeyLost: s.MasterKeyLost, ReplayGuard: s.ReplayGuard, InFlight: int(s.InFlight),
	}
	if err := s.checkDispute(); err != nil {
		return o, err
	}
	s.accessFlags.to(&o)
	o.OAuth = s.OAuth
	o.TLS = s.tlsFlags.options()
	if err := s.Flags.To(&o); err != nil {
		return o, err
	}
	if err := s.archiveFlags.check(s.Data, s.Node != ""); err != nil {
		return o, err
	}
	s.archiveFlags.to(&o)
	if err := s.fundingFlags.to(&o); err != nil {
		return o, err
	}
	if err := s.clusterFlags.to(&o); err != nil {
		return o, err
	}
	if o.Oracle, o.Sources, err = s.priceSources(); err != nil {
		return o, err
	}
	if o.Limits, err = s.limits(o.Sources); err != nil {
		return o, err
	}
	if o.MasterKey, o.OldMasterKey, err = s.masterKeys(); err != nil {
		return o, err
	}
	if o.Calendar, err = s.calendar(); err != nil {
		return o, err
	}
	return o, asFlagError(o.Check())
}

func (s *serveSettings) checkDispute() error {
	if s.Dispute < 0 || s.Dispute > 24*time.Hour {
		return cli.BadFlag("dispute", errors.New("must be 0s to 24h"))
	}
	return nil
}

// masterKeys returns the master keys that are given from outside; nil for those that are
// not.
func (s *serveSettings) masterKeys() (current, old []byte, err error) {
	if s.MasterKey == "" {
		switch {
		case s.MasterKeyOld != "":
			err = cli.BadFlag("master-key-old", errors.New("goes with --master-key; dx keys rotate-master replaces the venue's own file"))
		case s.MasterKeyLost:
			err = cli.BadFlag("master-key-lost", errors.New("goes with --master-key, which has the new one"))
		}
		return nil, nil, err
	}
	if current, err = parseMasterKey("master-key", s.MasterKey); err == nil && s.MasterKeyOld != "" {
		old, err = parseMasterKey("master-key-old", s.MasterKeyOld)
	}
	return current, old, err
}

func parseMasterKey(flag, text string) ([]byte, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 32 {
		return nil, cli.BadFlag(flag, errors.New("64 hex characters are wanted"))
	}
	return b, nil
}

// priceSources returns the kind of the prices and their sources.
func (s *serveSettings) priceSources() (kind string, sources []feeds.Source, err error) {
	kind, sources, err = parseOracle(s.Oracle, s.ReplaySpeed, "live", "manual")
	if kind == "live" {
		sources, err = s.openSources()
	}
	return kind, sources, err
}
