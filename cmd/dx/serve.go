package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/feeds"
)

// serveCmd is `dx serve`.
type serveCmd struct{ serveSettings }

// serveSettings are its flags; each is also DX_… and a line of dx.toml.
type serveSettings struct {
	API           string        `help:"Address of REST, the agent lane and events." default:":8080"`
	Portal        string        `help:"Address of the portal." default:":8081"`
	Admin         string        `help:"Address of the operator; keep it on loopback." default:"127.0.0.1:8082"`
	Data          string        `help:"Where the venue is kept." default:"dx-data" type:"path"`
	MasterKey     string        `help:"64 hex characters that seal the key secrets; default: a file made in the data directory."`
	MasterKeyOld  string        `help:"The master key before, while secrets are sealed anew under the one of --master-key."`
	MasterKeyLost bool          `help:"Start with a new --master-key although the one before is lost: every API key is revoked."`
	OperatorToken string        `help:"Bearer of the operator; default: a file made in the data directory."`
	Dispute       time.Duration `help:"How long a proposed price stands before it settles." default:"5s"`
	Oracle        string        `help:"How prices come: live (the sources), manual (POST /admin/oracle/ticks) or replay:FILE." default:"live"`
	ReplaySpeed   int           `help:"How many times as fast a file is played." default:"1"`
	WriteFloor    int64         `help:"Write tokens a second of a new account." default:"20"`
	InFlight      uint          `help:"Requests that place orders in hand at once; more are refused with shed. 0: no bound but the queue." default:"0"`
	ReplayGuard   bool          `help:"Take each signed write once: the same bytes again within the window are refused."`
	accessFlags
	sourceFlags
	limitFlags
	sessionFlags
}

func (s *serveCmd) Run(ctx context.Context, out io.Writer, log *slog.Logger) (err error) {
	if err := s.checkDispute(); err != nil {
		return err
	}
	p := serverOptions{listeners: listeners{s.API, s.Portal, s.Admin}, dir: s.Data, environment: "live", disputeWindowNs: int64(s.Dispute), writeFloor: s.WriteFloor, log: log, operatorToken: s.OperatorToken}
	if p.oracle, p.sources, err = s.priceSources(); err != nil {
		return err
	}
	if p.limits, err = s.limits(p.sources); err != nil {
		return err
	}
	if p.masterKey, err = loadMasterKey(s.MasterKey, s.Data); err != nil {
		return err
	}
	if p.ownsMasterKey = s.MasterKey == ""; s.MasterKeyOld != "" {
		if p.ownsMasterKey {
			return cli.BadFlag("master-key-old", errors.New("goes with --master-key; dx keys rotate-master replaces the venue's own file"))
		}
		if p.oldMasterKey, err = loadMasterKey(s.MasterKeyOld, s.Data); err != nil {
			return err
		}
	}
	if p.masterKeyLost = s.MasterKeyLost; p.masterKeyLost && p.ownsMasterKey {
		return cli.BadFlag("master-key-lost", errors.New("goes with --master-key, which has the new one"))
	}
	if p.operatorToken == "" {
		if p.operatorToken, err = loadOrCreateSecret(filepath.Join(s.Data, "operator.token")); err != nil {
			return err
		}
	}
	if p.calendar, err = s.calendar(); err != nil {
		return err
	}
	h, err := openServer(ctx, p)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	s.to(h.gate)
	h.gate.ReplayGuard, h.gate.InFlight = s.ReplayGuard, int(s.InFlight)
	if err = h.listen(); err == nil {
		log.Info("open", "api", h.api, "portal", h.portal, "admin", h.admin, "data", s.Data)
		err = h.wait(ctx)
	}
	if closed := h.close(); err == nil {
		err = closed
	}
	return err
}

// priceSources says where prices come from, and prepares their sources.
func (s *serveSettings) priceSources() (kind string, sources []feeds.Source, err error) {
	kind, sources, err = parseOracle(s.Oracle, s.ReplaySpeed, "live", "manual")
	if kind == "live" {
		sources, err = s.openSources()
	}
	return kind, sources, err
}
