package server

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/feed"
	"duplex/feeds"
	"duplex/feeds/session"
)

// Options configures Open. The zero value is a dev venue with manual prices, on free ports
// of loopback, whose data is removed by Close.
type Options struct {
	// API, Portal and Admin are the addresses of the listeners. "" is a free port of
	// 127.0.0.1. They are separate because they differ in who may reach them: keep Admin
	// on loopback.
	API, Portal, Admin string
	// APIListener, PortalListener and AdminListener are used instead of the addresses if
	// they are not nil. The venue closes them, also if Open fails.
	APIListener, PortalListener, AdminListener net.Listener

	// Data is the folder that holds the journal and the secrets. "" is a temporary folder.
	// Only one venue at a time may use a folder.
	Data string
	// Mirror is the database of the venue's history: "sqlite" is one in Data, postgres://… one of
	// a PostgreSQL server, "off" or "" none (docs/rules/history.md).
	Mirror string
	// MirrorHold is the size, in bytes, of the part of the journal that is kept for the mirror
	// alone; beyond it the mirror stops. 0 is 20 GiB.
	MirrorHold int64
	// Environment is "dev" (play money) or "live"; default "dev".
	Environment string
	// DisputeWindow is the time between a proposed settle price and the payout.
	DisputeWindow time.Duration
	// ReadRate is the number of read tokens a second of a key, and WriteFloor that of write
	// tokens of a new account. 0 is the default (docs/rules/limits.md#buckets).
	ReadRate, WriteFloor int64
	// Accounts are created, funded and given a key unless the journal already has them. Only
	// environment dev allows them, because their tokens are derived from the master key.
	Accounts []Account

	// Oracle names the kind of prices on the wire: sim, manual, live or replay; default
	// manual. It only describes Sources.
	Oracle string
	// Sources are the price sources. Without any, prices are posted by hand: on the admin
	// listener, or with core.PostIndex.
	Sources []feeds.Source
	// Limits are what the index of each feed requires of its sources.
	Limits [core.Feeds]feed.Limit
	// Calendar has the trading sessions of gold and WTI. If it is nil, every feed is always
	// in session.
	Calendar *session.Calendar

	// OperatorToken is the bearer token of the admin listener. "" is one that the venue
	// makes: in environment dev derived from the master key, else in the file
	// operator.token of Data.
	OperatorToken string
	// MasterKey seals the secrets of the API keys; 32 bytes. If it is nil, the file
	// master.key of Data holds it, which is made at the first start.
	MasterKey []byte
	// OldMasterKey is the master key that MasterKey replaces. The start seals under
	// MasterKey what OldMasterKey sealed.
	OldMasterKey []byte
	// MasterKeyLost starts the venue although the master key before MasterKey is lost: it
	// revokes each API key whose secret does not open.
	MasterKeyLost bool

	// Origins are the browser origins that the API allows; a dev venue adds its portal.
	Origins []string
	// Hosts are the names by which clients reach the agent lane, besides loopback and the
	// host of API.
	Hosts []string
	// TrustedProxies are the networks of proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// ReplayGuard accepts each signed write once (docs/rules/accounts.md#replay-guard).
	ReplayGuard bool
	// InFlight bounds the requests that place orders and are in flight; 0 is no bound.
	InFlight int

	// Now is the clock of the venue; default time.Now. It must be safe for concurrent use.
	Now func() time.Time
	// Log is the log; default none.
	Log *slog.Logger
	// Version is the version that the API reports; default "dev".
	Version string
	// Progress is called often while the venue restores its journal, by one goroutine at a
	// time, and a last time with Ended. It must return at once. If it is nil, the log has a
	// line every 5 s.
	Progress func(Progress)
	// TuneEngine may change the options of the sequencer; nil does not.
	TuneEngine func(*engine.Options)
}

// Account is an account that a venue has from its start.
type Account struct {
	Name   string
	Scopes core.Scopes // of its key; default read and trade
	Funds  core.Pips   // deposited once
	Agents []Agent
}

// Agent is an agent of an Account (docs/rules/agent-accounts.md#accounts). Its key has the
// scopes read and trade.
type Agent struct {
	Name    string
	Funds   core.Pips // deposited once, to the agent itself
	Mandate core.Mandate
}

// OptionError is an error of one field of Options.
type OptionError struct {
	Option string // the field's name
	Err    error
}

func (e *OptionError) Error() string { return fmt.Sprintf("server.Options.%s: %v", e.Option, e.Err) }
func (e *OptionError) Unwrap() error { return e.Err }

// complete sets the defaults. It returns an error if two options contradict each other.
func (o *Options) complete() error {
	for _, address := range []*string{&o.API, &o.Portal, &o.Admin} {
		if *address == "" {
			*address = "127.0.0.1:0"
		}
	}
	if o.Environment == "" {
		o.Environment = environmentDev
	}
	if o.Oracle == "" {
		o.Oracle = "manual"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	switch {
	case o.Environment != environmentDev && o.Environment != "live":
		return &OptionError{"Environment", fmt.Errorf("dev or live, not %q", o.Environment)}
	case len(o.Accounts) > 0 && o.Environment != environmentDev:
		return &OptionError{"Accounts", fmt.Errorf("only a dev venue creates accounts")}
	case o.OldMasterKey != nil && o.MasterKey == nil:
		return &OptionError{"OldMasterKey", fmt.Errorf("it requires MasterKey; the venue replaces its own file itself")}
	case o.MasterKeyLost && o.MasterKey == nil:
		return &OptionError{"MasterKeyLost", fmt.Errorf("it requires MasterKey, the new key")}
	}
	return nil
}

const environmentDev = "dev"
