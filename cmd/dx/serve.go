package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"duplex/feeds"
	"duplex/feeds/session"
)

// serveCmd is `dx serve` (contract operator).
type serveCmd struct{ serveSettings }

// serveSettings are its flags; each is also DX_… and a line of dx.toml.
type serveSettings struct {
	API           string        `help:"Address of REST, the agent lane and events." default:":8080"`
	Portal        string        `help:"Address of the portal." default:":8081"`
	Admin         string        `help:"Address of the operator; keep it on loopback." default:"127.0.0.1:8082"`
	Data          string        `help:"Where the venue is kept." default:"dx-data" type:"path"`
	MasterKey     string        `help:"64 hex characters that seal the key secrets; default: a file made in the data directory."`
	MasterKeyOld  string        `help:"The master key before, while secrets are sealed anew under the one of --master-key."`
	OperatorToken string        `help:"Bearer of the operator; default: a file made in the data directory."`
	Dispute       time.Duration `help:"How long a proposed price stands before it settles." default:"5s"`
	Oracle        string        `help:"How prices come: live (the sources), manual (POST /admin/oracle/ticks) or replay:FILE." default:"live"`
	ReplaySpeed   int           `help:"How many times as fast a file is played." default:"1"`
	WriteFloor    int64         `help:"Write tokens a second of a new account." default:"20"`
	AllowOrigin   []string      `help:"Browser origins allowed on the API."`
	InFlight      uint          `help:"Requests that place orders in hand at once; more are refused with shed. 0: no bound but the queue." default:"0"`
	ReplayGuard   bool          `help:"Take each signed write once: the same bytes again within the window are refused."`
	sourceFlags
}

func (s *serveCmd) Run(ctx context.Context, out io.Writer, log *slog.Logger) (err error) {
	if err := s.disputeSound(); err != nil {
		return err
	}
	p := plan{listeners: listeners{s.API, s.Portal, s.Admin}, dir: s.Data, environment: "live", disputeNs: int64(s.Dispute), writeFloor: s.WriteFloor, log: log, token: s.OperatorToken}
	if p.oracle, p.sources, err = s.prices(); err != nil {
		return err
	}
	if p.master, err = masterKey(s.MasterKey, s.Data); err != nil {
		return err
	}
	if p.ownMaster = s.MasterKey == ""; s.MasterKeyOld != "" {
		if p.ownMaster {
			return flagError{"master-key-old", errors.New("goes with --master-key; dx keys rotate-master replaces the venue's own file")}
		}
		if p.masterOld, err = masterKey(s.MasterKeyOld, s.Data); err != nil {
			return err
		}
	}
	if p.token == "" {
		if p.token, err = secretFile(filepath.Join(s.Data, "operator.token")); err != nil {
			return err
		}
	}
	if p.calendar, err = session.Load(); err != nil {
		return err
	}
	if err := covered(time.Now()); err != nil {
		return err
	}
	h, err := open(p)
	if err != nil {
		return err
	}
	h.gate.Origins, h.gate.ReplayGuard, h.gate.InFlight = s.AllowOrigin, s.ReplayGuard, int(s.InFlight)
	if err = h.listen(); err == nil {
		log.Info("open", "api", h.api, "portal", h.portal, "admin", h.admin, "data", s.Data)
		err = h.wait(ctx)
	}
	if closed := h.close(); err == nil {
		err = closed
	}
	return err
}

// prices says where prices come from, and prepares their sources.
func (s *serveSettings) prices() (kind string, sources []feeds.Source, err error) {
	kind, sources, err = oracle(s.Oracle, s.ReplaySpeed, "live", "manual")
	if kind == "live" {
		sources, err = s.open()
	}
	return kind, sources, err
}
