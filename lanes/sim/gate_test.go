package sim

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/engine"
	deep "duplex/core/sim"
	"duplex/internal/logbuffer"
	"duplex/lanes/admin"
	"duplex/lanes/gate"
	"duplex/lanes/mcp"
	"duplex/lanes/rest"
	"duplex/schemas"
	"duplex/tools"
)

var master = make([]byte, 32)

// simGate runs the gate and the lanes of a simulated venue, from one restart to the next, and
// holds the state that a client can know.
type simGate struct {
	deep.World
	lowLimits   bool  // small token buckets
	floor       int64 // write rate with lowLimits
	accountRate int64 // of all keys of an account, with lowLimits; 0: no such bound
	replayGuard bool
	stats       stats

	tamperReply func(*request, *reply) // changes an answer before it is checked; may be nil
	tamperGate  func(*gate.Gate)       // changes a new gate; may be nil

	net         *network
	operatorNet *network
	server      *http.Server
	admin       *http.Server
	agents      *mcp.Lane
	faults      logbuffer.Buffer // what the venue logs at level error

	mu      sync.Mutex // slow requests arrive on their own goroutines
	life    int        // number of starts so far
	keys    map[string]*key
	buckets map[string]*tokenBucket // since the last start
	seen    map[string]*request     // the first request with these bytes since the last start

	made            int // number of keys created
	n               int // number of requests created
	signed          map[string]bool
	expected        expectations
	quoteIDs        uint64           // used for quotes
	unresolved      []*request       // placements with unknown outcome, to be looked up
	pendingCommands []pendingCommand // since the last start
}

// pendingCommand is a command that was answered with sequencing_timeout. It must arrive in the
// log, unless the venue crashes or the command's key is revoked.
type pendingCommand struct {
	bytes string
	key   string
	since uint64
	at    time.Time
}

// stats counts the events of a run.
type stats struct {
	REST, Tool, Operator, Batches int
	Answered, Accepted            int // commands
	Silent                        int // answers lost, or clients that gave up
	Unknown                       int // sequencing_timeout
	NotDone                       map[string]int
	Cut, Slow, Repeats, Again     int
	Reads, Found, Missing, Lives  int
	Waiting, Decided              int // orders that waited for their owner, and those that it placed
}

func newSimGate(w deep.World, seed uint64) *simGate {
	d := &simGate{World: w, lowLimits: seed%4 == 3, floor: 1 + int64(seed/4%4), replayGuard: seed%3 == 2, keys: map[string]*key{}, signed: map[string]bool{}}
	d.lowLimits = d.lowLimits && !d.replayGuard // a client cannot know whether a rejected replay cost a token
	if seed/4%2 == 0 {
		d.accountRate = d.floor + 1
	}
	d.stats.NotDone = map[string]int{}
	d.expected.init()
	return d
}

// key is a key in the log.
type key struct {
	id         string
	secret     []byte
	user       core.UserID
	scopes     core.Scopes
	revoked    bool
	revokedSeq uint64 // seq of the revocation
	number     core.KeyNumber
}

// kinds lists the scopes of an account's keys: all of them, all but withdraw, read alone.
var kinds = [...]core.Scopes{core.ScopeRead | core.ScopeTrade | core.ScopeWithdraw, core.ScopeRead | core.ScopeTrade, core.ScopeRead}

// secretOf and sealed derive a secret and its nonce from the key's id, because a run must be
// reproducible.
func secretOf(id string) []byte {
	sum := sha256.Sum256([]byte("secret of " + id))
	return sum[:]
}

func sealed(id string) []byte {
	block, err := aes.NewCipher(master)
	if err != nil {
		panic(err)
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256([]byte("nonce of " + id))
	nonce := sum[:seal.NonceSize()]
	return seal.Seal(nonce, nonce, secretOf(id), []byte(id))
}

func (d *simGate) create(u core.UserID, s core.Scopes) *core.CreateKey {
	d.made++
	id := fmt.Sprintf("dxk%024x", d.made)
	return &core.CreateKey{User: u, Key: id, Scopes: s, Sealed: sealed(id)}
}

// Setup returns the commands that create every account's keys.
func (d *simGate) Setup() (cmds []core.Command) {
	for u := range d.expected.users {
		for _, s := range kinds {
			cmds = append(cmds, d.create(core.UserID(u+1), s))
		}
	}
	return cmds
}

// OperatorCommand returns a command that creates a missing key or, at random, revokes one or all keys
// of an account.
func (d *simGate) OperatorCommand() core.Command {
	for u := core.UserID(1); int(u) <= d.expected.users; u++ {
		for _, s := range d.kindsOf(u) {
			if d.validKey(u, s) == nil {
				return d.create(u, s)
			}
		}
	}
	if d.Rand.IntN(16) > 0 {
		return nil
	}
	u := core.UserID(1 + d.Rand.IntN(d.expected.users))
	c := &core.RevokeKey{User: u}
	if list := d.kindsOf(u); len(list) > 0 && d.Rand.IntN(4) > 0 {
		c.Key = d.validKey(u, list[d.Rand.IntN(2)]).id
	}
	return c
}

// validKey returns an account's newest key with these scopes that is not revoked, nil if there
// is none.
func (d *simGate) validKey(u core.UserID, s core.Scopes) *key {
	for n := d.made; n > 0; n-- {
		if k := d.keys[fmt.Sprintf("dxk%024x", n)]; k != nil && k.user == u && k.scopes == s && !k.revoked {
			return k
		}
	}
	return nil
}

// recordKeys records a command of the log that concerns keys.
func (d *simGate) recordKeys(at core.Stamp, cmd core.Command) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch c := cmd.(type) {
	case *core.CreateKey:
		d.expected.keyIDs = append(d.expected.keyIDs, c.Key)
		d.keys[c.Key] = &key{id: c.Key, secret: secretOf(c.Key), user: c.User, scopes: c.Scopes, number: core.KeyNumber(len(d.keys) + 1)}
	case *core.RevokeKey:
		d.revoke(at, func(k *key) bool {
			return k.id == c.Key && k.user == c.User || c.Key == "" && (k.user == c.User || d.expected.accounts[k.user].owner == c.User)
		})
	case *core.CloseAgent:
		d.expected.accounts[c.Agent].closed = true
		d.revoke(at, func(k *key) bool { return k.user == c.Agent })
	}
}

func (d *simGate) revoke(at core.Stamp, match func(*key) bool) {
	for _, k := range d.keys {
		if !k.revoked && match(k) {
			k.revoked, k.revokedSeq = true, at.Seq
		}
	}
}

// kindsOf returns the scopes of the keys that an account has: an agent's never withdraw, and a
// closed agent has none.
func (d *simGate) kindsOf(u core.UserID) []core.Scopes {
	switch a := d.expected.accounts[u]; {
	case a.closed:
		return nil
	case a.owner != 0:
		return kinds[1:]
	}
	return kinds[:]
}

// config returns the venue's configuration. Without lowLimits, rate limits do not interfere.
func (d *simGate) config() tools.Config {
	t := tools.DefaultConfig(d.Now)
	t.UsdPerExtraRps = 1 << 40 // no extra tokens for volume
	t.WriteFloor, t.ReadRate = 1_000_000, 1_000_000
	if d.lowLimits {
		t.WriteFloor, t.ReadRate, t.AccountRate = d.floor, 40, d.accountRate
	}
	return t
}

// Open creates the gate and the lanes, as at the start of the program.
func (d *simGate) Open(e *engine.Engine) {
	vault, err := gate.NewVault(master)
	if err != nil {
		panic(err)
	}
	g := gate.Open(e, d.config(), vault, slog.New(slog.NewTextHandler(&d.faults, &slog.HandlerOptions{Level: slog.LevelError})))
	g.ReplayGuard, g.Hosts = d.replayGuard, []string{"venue"}
	if d.tamperGate != nil {
		d.tamperGate(g)
	}
	routes := g.NewRoutes()
	rest.Mount(routes, g, "sim")
	d.agents = mcp.Mount(routes, g, "sim")
	d.net, d.server = d.serve(g.Edge(routes))
	d.operatorNet, d.admin = d.serve(admin.New(admin.Options{Venue: g.Venue, Gate: g, Token: operatorHash, KeepShared: true}))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.life++
	d.stats.Lives++
	d.pendingCommands = nil // a crash may have lost them
	d.buckets, d.seen = map[string]*tokenBucket{}, map[string]*request{}
}

// serve starts an HTTP server on a new network.
func (d *simGate) serve(h http.Handler) (*network, *http.Server) {
	n, s := newNetwork(), gate.Server(h, slog.New(slog.DiscardHandler))
	go func() {
		if err := s.Serve(gate.WrapListener(n, gate.Places{})); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(&d.faults, err)
		}
	}()
	return n, s
}

// Cut closes the servers and every connection.
func (d *simGate) Cut() {
	d.server.Close() // returns only errors of the listener, which has none
	d.admin.Close()
	d.net.Close()
	d.operatorNet.Close()
}

func (d *simGate) Close() { d.agents.Close() }

// faulty returns what the venue has logged at level error, or nil.
func (d *simGate) faulty() error {
	if text := d.faults.String(); text != "" {
		return fmt.Errorf("the venue logged %q", text)
	}
	return nil
}

// tokenBucket is a token bucket in integers. left is in 10^-9 tokens, rate and burst in tokens.
type tokenBucket struct {
	rate, burst, left int64
	at                int64 // ns
}

const token = 1_000_000_000

// refill adds the tokens of the time since the last call. A time before the last one is the last one,
// unless it is a second before it, which means that the clock was set back.
func (b *tokenBucket) refill(now int64) {
	if b.at-now < core.NsPerSec {
		now = max(now, b.at)
	}
	b.left = min(b.burst*token, b.left+max(0, min(now-b.at, 1<<33))*b.rate)
	b.at = now
}

// wait returns the milliseconds until the bucket holds n tokens.
func (b *tokenBucket) wait(n int) int64 {
	missing := int64(n)*token - b.left
	switch {
	case missing <= 0:
		return 0
	case int64(n) > b.burst:
		return 1000
	}
	return max(1, ((missing+b.rate-1)/b.rate+core.NsPerMs-1)/core.NsPerMs)
}

// charge takes n tokens of a key and of its account, or none of both, as the gate does. If there are too
// few, it returns the milliseconds until both have again tokens.
func (d *simGate) charge(k *key, which tools.Bucket, n, again int) (ok bool, wait int64) {
	t := d.config()
	var buckets []*tokenBucket
	add := func(of any, rate, burst int64) {
		id := fmt.Sprint(of, which)
		if d.buckets[id] == nil {
			d.buckets[id] = &tokenBucket{rate: rate, burst: burst, left: burst * token, at: d.Now()}
		}
		buckets = append(buckets, d.buckets[id])
	}
	switch which {
	case tools.Read:
		add(k.id, t.ReadRate, 2*t.ReadRate)
	case tools.Write:
		add(k.id, t.WriteFloor, t.WriteFloor)
	case tools.Cancel:
		add(k.id, 2*t.WriteFloor, 2*t.WriteFloor)
	}
	if shared := t.AccountRate * buckets[0].rate / t.WriteFloor; shared > 0 && which != tools.Read {
		payer := k.user
		if of := d.expected.accounts[k.user]; of.owner != 0 && of.funded == 0 {
			payer = of.owner
		}
		add(payer, shared, shared)
	}
	ok = true
	for _, b := range buckets {
		b.refill(d.Now())
		ok = ok && b.wait(n) == 0
	}
	for _, b := range buckets {
		if ok {
			b.left -= int64(n) * token
		} else {
			wait = max(wait, b.wait(again))
		}
	}
	return ok, wait
}

// withinReplayWindow reports whether a timestamp in ms is within the window
// (docs/rules/accounts.md#replay-window).
func (d *simGate) withinReplayWindow(ms int64) bool {
	off := d.Now()/core.NsPerMs - ms
	return off <= schemas.ReplayWindowMs && off >= -schemas.ReplayWindowMs
}
