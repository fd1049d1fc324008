package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"duplex/cluster"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/feed"
	"duplex/feeds"
	"duplex/feeds/session"
	"duplex/internal/address"
	"duplex/lanes/funding"
	"duplex/lanes/gate"
	"duplex/lanes/portal"
	"duplex/tools"
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

	// TLS is the certificate of the API and the portal, and of Admin unless it is on loopback.
	// Without it they speak plain HTTP, and Admin of a live venue must be on loopback.
	TLS TLS

	// Data is the folder that holds the journal and the secrets. "" is a temporary folder.
	// Only one venue at a time may use a folder.
	Data string
	// Mirror is the database of the venue's history: "sqlite" is one in Data, postgres://… one of
	// a PostgreSQL server, "off" or "" none (docs/rules/history.md).
	Mirror string
	// MirrorHold is the size, in bytes, of the part of the journal that is kept for the mirror
	// alone; beyond it the mirror stops. 0 is 20 GiB.
	MirrorHold int64
	// ArchiveTo is a folder, usually on another disk, that gets a verified copy of the journal and
	// its snapshots; "" is none.
	ArchiveTo string
	// ArchiveEvery is the time between two copies; 0 is a minute.
	ArchiveEvery time.Duration
	// ArchiveHold is the size, in bytes, of the part of the journal that is kept because the archive
	// lacks it; beyond it the journal is trimmed. 0 is 20 GiB.
	ArchiveHold int64
	// ArchiveKeep is how much of the journal a replay can cover at least, once there is so much. 0 is
	// what the newest two snapshots need, or MinArchiveKeep on a node of a cluster.
	ArchiveKeep time.Duration
	// Environment is "dev" (play money), "live", or "arena" (a virtual clock); default "dev".
	Environment string
	// DisputeWindow is the time between a proposed settle price and the payout.
	DisputeWindow time.Duration
	// ReadRate is the number of read tokens a second of a key, and WriteFloor that of write
	// tokens of a new account. 0 is the default (docs/rules/limits.md#buckets).
	ReadRate, WriteFloor int64
	// AccountRate is the number of write tokens a second that all keys of an account have together, at
	// least MinAccountRate; 0 is no such bound, which SignUp has to be off for. nil: no such bound if SignUp
	// is off, else tools.DefaultAccountRate or the write rate of the account, whichever is more
	// (docs/rules/limits.md#account-rate). The members of a cluster record and compare what is set here, nil
	// as 0, and not SignUp.
	AccountRate *int64
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

	// Cluster makes the venue a member of a cluster (docs/rules/operation.md#cluster). It has the name
	// of this member, the members, and the addresses and certificates of the ports between them; Open
	// sets the rest. It requires MasterKey. nil: a single machine.
	Cluster *cluster.Options
	// Follow makes the venue a follower of a cluster, which serves reads and takes no command
	// (docs/rules/operation.md#followers). It has the sources, and the address and certificates of the
	// own follow port; Open sets the rest. It requires MasterKey and excludes Cluster. nil: none.
	Follow *cluster.FollowerOptions
	// MaxClockOffset bounds how far the clock of a member may be from the median of the members';
	// 0 is 250 ms. StaleAfter is how long a member serves reads after its last contact with a leader;
	// 0 is 3 s.
	MaxClockOffset, StaleAfter time.Duration

	// OperatorToken is the bearer token of the admin listener. "" is one that the venue
	// makes: in environment dev derived from the master key, else in the file
	// operator.token of Data.
	OperatorToken string
	// FourEyes is the limit, in pips, above which deposits and withdrawals need a second operator;
	// voids and prices by hand then need one too. nil: nothing needs one
	// (docs/rules/operation.md#two-person-approval).
	FourEyes *core.Pips
	// OperatorsLost revokes every named operator with the role admin at the start, so that
	// OperatorToken is an admin again.
	OperatorsLost bool
	// MasterKey seals the secrets of the API keys; 32 bytes. If it is nil, the file
	// master.key of Data holds it, which is made at the first start.
	MasterKey []byte
	// OldMasterKey is the master key that MasterKey replaces. The start seals under
	// MasterKey what OldMasterKey sealed.
	OldMasterKey []byte
	// MasterKeyLost starts the venue although the master key before MasterKey is lost: it
	// revokes each API key whose secret does not open.
	MasterKeyLost bool

	// PublicURL is the base URL by which clients reach the API, such as https://api.example,
	// and PublicPortalURL that of the portal. Documents and pages name them, the API allows the
	// portal's as an origin, and the agent lane accepts their hosts. "" is the listener as a
	// client on this machine reaches it.
	PublicURL, PublicPortalURL string

	// OAuth lets hosts connect to the agent lane by OAuth, with the portal as the authorization server
	// (docs/rules/oauth.md). Outside of dev it needs both public URLs, of https, and TLS or TrustedProxies.
	OAuth bool

	// FundingURL is the base URL of the funding service, which receives and pays the money
	// (docs/rules/funding.md); "" is none, and the operator does it by hand. FundingSecret signs the
	// requests to it, see funding.ParseSecret.
	FundingURL    string
	FundingSecret []byte

	// SignUp tells who may open an account at the portal; default portal.SignUpOff. SignUpToken is
	// the bearer token of portal.SignUpToken.
	SignUp      portal.SignUp
	SignUpToken string

	// AccountKeys is the number of live keys beyond which an account creates no more; 0: no cap. nil: no cap
	// if SignUp is off, else DefaultAccountKeys (docs/rules/accounts.md#number-of-keys).
	AccountKeys *int

	// Origins are the browser origins that the API allows; a dev venue adds its portal.
	Origins []string
	// Hosts are the names by which clients reach the agent lane, besides loopback and the
	// host of API.
	Hosts []string
	// TrustedProxies are the networks of proxies whose X-Forwarded-For is trusted, and whose connections
	// count as signed.
	TrustedProxies []netip.Prefix
	// ConnectionsPerNetwork bounds the connections of one network to a listener that have shown no valid
	// credential, and behind a trusted proxy such requests; 0 is gate.ConnsPerNetwork
	// (docs/rules/limits.md#connections).
	ConnectionsPerNetwork int
	// OpenFiles is the number of open files that the listeners divide; 0 is the limit of the process.
	OpenFiles uint64
	// ReplayGuard accepts each signed write once (docs/rules/accounts.md#replay-guard).
	ReplayGuard bool
	// DrainWait is how long Close lets reads go on while readiness fails and writes are refused, so that a
	// balancer takes the node out before its ports close (docs/rules/operation.md#stopping). At most MaxDrainWait.
	DrainWait time.Duration
	// InFlight bounds the requests that place orders and are in flight; 0 is no bound.
	InFlight int

	// Virtual gives the venue a virtual clock, for environment "arena" alone.
	Virtual *Virtual

	// Now is the machine's clock, and the venue's unless it is virtual; default time.Now. It must be safe for concurrent use.
	Now func() time.Time
	// Log is the log; default none.
	Log *slog.Logger
	// LogDropped returns how many lines of the log were dropped, because they could not be
	// written; nil if none ever is. It must be safe for concurrent use.
	LogDropped func() uint64
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

// Virtual is the virtual clock of an arena (docs/rules/operation.md#venue-time). Whoever moves it
// submits everything that time brings: each Clock that is due, index ticks and sessions. The journal
// has no secrets and no files beside it.
type Virtual struct {
	Now  func() int64      // venue time, ns since the Unix epoch; safe for concurrent use
	Time tools.VirtualTime // blocks calls that wait for venue time

	Secrets   map[string][]byte // of the keys whose sealed secrets are empty, by key id
	Unlimited bool              // the token buckets are off

	// Intercept gets every request of the API; nil: none (gate.Gate.Intercept).
	Intercept func(w http.ResponseWriter, r *http.Request, c *gate.Call, serve http.HandlerFunc)
	// OnUnauthorized gets every request that failed authentication; nil: none.
	OnUnauthorized func(r *http.Request)
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

// Check returns the *OptionError that Open would return for options that are invalid or contradict each other.
// It opens nothing.
func (o Options) Check() error { return o.complete() }

// complete sets the defaults. It returns an error if two options contradict each other.
func (o *Options) complete() error {
	for _, address := range []*string{&o.API, &o.Portal, &o.Admin} {
		*address = cmp.Or(*address, "127.0.0.1:0")
	}
	o.Environment, o.Oracle, o.Version = cmp.Or(o.Environment, environmentDev), cmp.Or(o.Oracle, "manual"), cmp.Or(o.Version, "dev")
	o.SignUp = cmp.Or(o.SignUp, portal.SignUpOff)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	switch {
	case o.Environment != environmentDev && o.Environment != "live" && o.Environment != environmentArena:
		return &OptionError{"Environment", fmt.Errorf("dev, live or arena, not %q", o.Environment)}
	case (o.Environment == environmentArena) != (o.Virtual != nil):
		return &OptionError{"Virtual", fmt.Errorf("it goes with the environment arena")}
	case o.Virtual != nil && (len(o.Sources) > 0 || o.Calendar != nil || o.MasterKey == nil):
		return &OptionError{"Virtual", fmt.Errorf("it excludes Sources and Calendar, and requires MasterKey")}
	case len(o.Accounts) > 0 && o.Environment != environmentDev:
		return &OptionError{"Accounts", fmt.Errorf("only a dev venue creates accounts")}
	case o.OldMasterKey != nil && o.MasterKey == nil:
		return &OptionError{"OldMasterKey", fmt.Errorf("it requires MasterKey; the venue replaces its own file itself")}
	case o.Cluster != nil && o.MasterKey == nil:
		return &OptionError{"MasterKey", fmt.Errorf("every member of a cluster needs the same one, from outside")}
	case o.Follow != nil && (o.Cluster != nil || len(o.Accounts) > 0 || len(o.Sources) > 0 || o.FundingURL != "" || o.MasterKeyLost || o.OperatorsLost):
		return &OptionError{"Follow", fmt.Errorf("a follower changes nothing: no Cluster, Accounts, Sources, FundingURL, MasterKeyLost or OperatorsLost")}
	case o.Follow != nil && o.MasterKey == nil:
		return &OptionError{"MasterKey", fmt.Errorf("a follower needs that of the cluster")}
	case o.ArchiveKeep < 0 || o.several() && o.ArchiveKeep != 0 && o.ArchiveKeep < MinArchiveKeep:
		return &OptionError{"ArchiveKeep", fmt.Errorf("at least %v on a node of a cluster", MinArchiveKeep)}
	case o.AccountRate != nil && *o.AccountRate == 0 && o.SignUp != portal.SignUpOff:
		return &OptionError{"AccountRate", fmt.Errorf("it is not 0 with the sign-up %s, because whoever has an account can create keys: at least %d, or leave it out", o.SignUp, MinAccountRate)}
	case o.AccountRate != nil && *o.AccountRate != 0 && *o.AccountRate < MinAccountRate:
		return &OptionError{"AccountRate", fmt.Errorf("0 or at least %d, so that a batch fits", MinAccountRate)}
	case o.DrainWait < 0 || o.DrainWait > MaxDrainWait:
		return &OptionError{"DrainWait", fmt.Errorf("0s to %s", MaxDrainWait)}
	case o.AccountKeys != nil && *o.AccountKeys < 0:
		return &OptionError{"AccountKeys", fmt.Errorf("0 or more")}
	case o.MasterKeyLost && o.MasterKey == nil:
		return &OptionError{"MasterKeyLost", fmt.Errorf("it requires MasterKey, the new key")}
	}
	if o.several() && o.ArchiveKeep == 0 {
		o.ArchiveKeep = MinArchiveKeep
	}
	if err := o.TLS.check(); err != nil {
		return err
	}
	if o.adminIsPublic() && !o.TLS.enabled() {
		return &OptionError{"Admin", fmt.Errorf("%s can be reached from other machines, which requires TLS", o.adminAddress())}
	}
	if o.adminIsPublic() && o.OperatorsLost { // nobody could use the listener: the shared token is not valid there
		return &OptionError{"OperatorsLost", fmt.Errorf("it needs the operator's listener on 127.0.0.1 for this start, where the shared token adds an admin; %s can be reached from other machines", o.adminAddress())}
	}
	if err := o.checkAddresses(); err != nil {
		return err
	}
	if err := o.checkPorts(); err != nil {
		return err
	}
	if o.OAuth {
		if err := o.CheckOAuth(); err != nil {
			return err
		}
	}
	if err := o.SignUp.Check(); err != nil {
		return &OptionError{"SignUp", err}
	}
	if (o.SignUp == portal.SignUpToken) != (o.SignUpToken != "") {
		return &OptionError{"SignUpToken", fmt.Errorf("it goes with the sign-up %s", portal.SignUpToken)}
	}
	if (o.FundingURL != "") != (o.FundingSecret != nil) {
		return &OptionError{"FundingSecret", fmt.Errorf("it goes with FundingURL")}
	}
	return nil
}

// checkAddresses checks the addresses of the listeners and the URLs.
func (o *Options) checkAddresses() error {
	for _, x := range []struct {
		option, text string
		check        func(string) error
	}{
		{"API", o.API, address.CheckListen}, {"Portal", o.Portal, address.CheckListen}, {"Admin", o.Admin, address.CheckListen},
		{"PublicURL", o.PublicURL, CheckPublicURL}, {"PublicPortalURL", o.PublicPortalURL, CheckPublicURL}, {"FundingURL", o.FundingURL, funding.CheckURL},
	} {
		if x.text == "" {
			continue
		}
		if err := x.check(x.text); err != nil {
			return &OptionError{x.option, err}
		}
	}
	for _, origin := range o.Origins {
		if err := checkOrigin(origin); err != nil {
			return &OptionError{"Origins", err}
		}
	}
	if _, _, err := MirrorOptions(o.Data, o.Mirror); err != nil {
		return &OptionError{"Mirror", err}
	}
	return nil
}

// CheckOAuth returns the *OptionError with which Open would refuse OAuth: no token may be sent in the clear. A
// dev venue may do without public URLs if only this machine can reach it.
func (o *Options) CheckOAuth() error {
	if o.Environment == environmentDev && o.PublicURL == "" && o.PublicPortalURL == "" && isLoopback(o.API) && isLoopback(o.Portal) {
		return nil
	}
	for _, x := range []struct{ option, url string }{{"PublicURL", o.PublicURL}, {"PublicPortalURL", o.PublicPortalURL}} {
		if !strings.HasPrefix(x.url, "https://") {
			return &OptionError{x.option, fmt.Errorf("OAuth needs it, and https")}
		}
	}
	if !o.TLS.enabled() && len(o.TrustedProxies) == 0 {
		return &OptionError{"OAuth", fmt.Errorf("it needs TLS, or a trusted proxy that ends TLS")}
	}
	return nil
}

// checkOrigin returns an error unless a browser can send text as an Origin. Extensions of browsers have schemes
// of their own.
func checkOrigin(text string) error {
	scheme, _, _ := strings.Cut(text, "://")
	if address.CheckBase(text, scheme) != nil {
		return fmt.Errorf("%s is not a scheme, a host and perhaps a port, such as https://screen.example", address.Show(text))
	}
	return nil
}

// accountRate returns the rate of all keys of an account together, and whether it grows with the account's
// write rate.
func (o *Options) accountRate() (perSecond int64, grows bool) {
	switch {
	case o.AccountRate != nil:
		return *o.AccountRate, false
	case o.SignUp != portal.SignUpOff:
		return tools.DefaultAccountRate, true
	}
	return 0, false
}

// accountRateSetting is AccountRate as a cluster records it. The default is "0" with and without a sign-up:
// an operator can change SignUp, the settings of a cluster never change, and those from before the default
// have "0" too.
func (o *Options) accountRateSetting() string {
	if o.AccountRate == nil {
		return "0"
	}
	return fmt.Sprint(*o.AccountRate)
}

// MaxDrainWait is the longest Options.DrainWait.
const MaxDrainWait = 5 * time.Minute

// DefaultAccountKeys is the number of live keys of an account if SignUp is not off.
const DefaultAccountKeys = 50

// accountKeys returns the number of live keys beyond which an account creates no more; 0: no cap.
func (o *Options) accountKeys() int {
	switch {
	case o.AccountKeys != nil:
		return *o.AccountKeys
	case o.SignUp != portal.SignUpOff:
		return DefaultAccountKeys
	}
	return 0
}

// MinAccountRate is the least Options.AccountRate other than 0: a full batch needs as many tokens.
const MinAccountRate = 20

// MinArchiveKeep is the least ArchiveKeep of a node of a cluster: an upgrade is rehearsed on the archive
// of a day (docs/rules/operation.md#verify).
const MinArchiveKeep = 25 * time.Hour

// several reports whether the venue is a node of a cluster.
func (o *Options) several() bool { return o.Cluster != nil || o.Follow != nil }

const (
	environmentDev   = "dev"
	environmentArena = "arena"
)

func (o *Options) adminAddress() string {
	if o.AdminListener != nil {
		return o.AdminListener.Addr().String()
	}
	return o.Admin
}

// checkPorts returns an error if a port between the nodes of a cluster has the address of another
// listener. Both could be bound one after the other, and the node would take part before it fails.
func (o *Options) checkPorts() error {
	type port struct{ name, address string }
	public := []port{{"the API", o.API}, {"the portal", o.Portal}, {"the operator", o.Admin}}
	for i, l := range []net.Listener{o.APIListener, o.PortalListener, o.AdminListener} {
		if l != nil {
			public[i].address = l.Addr().String()
		}
	}
	option, own := "Follow", []port{}
	switch {
	case o.Cluster != nil:
		option = "Cluster"
		own = []port{{"--peer", o.Cluster.PeerListen}, {"--follow", o.Cluster.FollowListen}}
		for _, m := range o.Cluster.Members {
			if own[0].address == "" && m.Name == o.Cluster.Name {
				own[0].address = m.Peer
			}
		}
	case o.Follow != nil:
		own = []port{{"--follow", o.Follow.Listen}}
	}
	for i, p := range own {
		for _, other := range append(public, own[:i]...) {
			if sameAddress(p.address, other.address) {
				return &OptionError{option, fmt.Errorf("%s is %s, which is the address of %s", p.name, p.address, other.name)}
			}
		}
	}
	return nil
}

// sameAddress reports whether two addresses cannot both be listened on.
func sameAddress(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	every := func(host string) bool {
		ip, err := netip.ParseAddr(host)
		return host == "" || err == nil && ip.IsUnspecified()
	}
	return hostA == hostB || every(hostA) || every(hostB)
}

// adminIsPublic reports whether other machines can reach the operator's listener of a live venue. Then
// only named operators may use it (docs/rules/operation.md#operators).
func (o *Options) adminIsPublic() bool {
	return o.Environment != environmentDev && !isLoopback(o.adminAddress())
}
