package sim

import (
	"context"
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
	"duplex/lanes/admin"
	"duplex/lanes/gate"
	"duplex/lanes/mcp"
	"duplex/lanes/rest"
	"duplex/schemas"
	"duplex/tools"
)

var master = make([]byte, 32)

// door is the venue's door in a run, one life after the other, and all there is to
// know of it from outside.
type door struct {
	deep.World
	tight bool  // few tokens
	floor int64 // of writes, where it is tight
	guard bool  // each signature is good once
	stats stats

	spoil func(*request, *reply) // a test's hand on the answers; nil: none
	lie   func(*gate.Gate)       // and on the door

	net    *network
	back   *network // the operator's
	server *http.Server
	admin  *http.Server
	agents *mcp.Lane
	faults faultLog

	mu      sync.Mutex // slow requests arrive while nobody else acts, on their own goroutine
	life    int
	keys    map[string]*key
	buckets map[string]*bucket  // of this life
	seen    map[string]*request // the first of its bytes in this life

	made   int // keys, so far
	n      int // requests, so far
	signed map[string]bool
	ledger ledger
	asking []*request // whose outcome somebody wants to know
	taken  []handed   // of this life
}

// handed is a command that was handed to the log, as its caller was told, when the time
// it may take was over.
type handed struct {
	wire  string
	since uint64
	at    time.Time
}

// stats is what a run went through.
type stats struct {
	REST, Tool, Desk, Batches    int
	Answered, Accepted           int // commands
	Silent                       int // answers lost, callers gone
	Unknown                      int // sequencing_timeout
	NotDone                      map[string]int
	Cut, Slow, Repeats, Again    int
	Reads, Found, Missing, Lives int
}

func newDoor(w deep.World, seed uint64) *door {
	d := &door{World: w, tight: seed%4 == 3, floor: 1 + int64(seed/4%4), guard: seed%3 == 2, keys: map[string]*key{}, signed: map[string]bool{}}
	d.tight = d.tight && !d.guard // whether a repeat that is known costs a token, nobody outside can tell
	d.stats.NotDone = map[string]int{}
	d.ledger.init()
	return d
}

// key is one that is in the log.
type key struct {
	id      string
	secret  []byte
	user    core.UserID
	scopes  core.Scopes
	revoked bool
	gone    uint64 // the seq it was revoked at
}

// kinds are the keys an account has: one for all, one that cannot take money out, one
// that only reads.
var kinds = [...]core.Scopes{core.ScopeRead | core.ScopeTrade | core.ScopeWithdraw, core.ScopeRead | core.ScopeTrade, core.ScopeRead}

// secretOf and sealed are no secrets here: a run must be the same each time.
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

func (d *door) create(u core.UserID, s core.Scopes) *core.CreateKey {
	d.made++
	id := fmt.Sprintf("dxk%024x", d.made)
	return &core.CreateKey{User: u, Key: id, Scopes: s, Sealed: sealed(id)}
}

// Furnish gives every account its keys.
func (d *door) Furnish() (cmds []core.Command) {
	for u := range d.ledger.users {
		for _, s := range kinds {
			cmds = append(cmds, d.create(core.UserID(u+1), s))
		}
	}
	return cmds
}

// Operate makes a key that is missing, or now and then revokes one or all of an account.
func (d *door) Operate() core.Command {
	for u := core.UserID(1); int(u) <= d.ledger.users; u++ {
		for _, s := range kinds {
			if d.live(u, s) == nil {
				return d.create(u, s)
			}
		}
	}
	if d.Rand.IntN(16) > 0 {
		return nil
	}
	u := core.UserID(1 + d.Rand.IntN(d.ledger.users))
	c := &core.RevokeKey{User: u}
	if d.Rand.IntN(4) > 0 {
		c.Key = d.live(u, kinds[d.Rand.IntN(2)]).id
	}
	return c
}

// live gives an account's sound key of a kind, the newest; nil if there is none.
func (d *door) live(u core.UserID, s core.Scopes) *key {
	for n := d.made; n > 0; n-- {
		if k := d.keys[fmt.Sprintf("dxk%024x", n)]; k != nil && k.user == u && k.scopes == s && !k.revoked {
			return k
		}
	}
	return nil
}

// turned takes in what is in the log about keys.
func (d *door) turned(at core.Stamp, cmd core.Command) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch c := cmd.(type) {
	case *core.CreateKey:
		d.keys[c.Key] = &key{id: c.Key, secret: secretOf(c.Key), user: c.User, scopes: c.Scopes}
	case *core.RevokeKey:
		for _, k := range d.keys {
			if k.user == c.User && !k.revoked && (c.Key == "" || c.Key == k.id) {
				k.revoked, k.gone = true, at.Seq
			}
		}
	}
}

// terms are those of the venue; limits rarely interfere unless they are tight.
func (d *door) terms() tools.Terms {
	t := tools.DefaultTerms(d.Now)
	t.UsdPerExtraRps = 1 << 40 // volume grants nothing
	t.WriteFloor, t.ReadRate = 1_000_000, 1_000_000
	if d.tight {
		t.WriteFloor, t.ReadRate = d.floor, 40
	}
	return t
}

// Open makes gate and lanes anew, as a program that starts does.
func (d *door) Open(e *engine.Engine) {
	vault, err := gate.NewVault(master)
	if err != nil {
		panic(err)
	}
	g := gate.New(&tools.Venue{Engine: e, Terms: d.terms(), Funds: tools.Ledger{}}, vault, slog.New(&d.faults))
	g.ReplayGuard = d.guard
	if d.lie != nil {
		d.lie(g)
	}
	routes := gate.NewRoutes(func(w http.ResponseWriter, _ *http.Request, err error) { g.Fail(w, err) })
	rest.Mount(routes, g, "sim")
	d.agents = mcp.Mount(routes, g, "sim")
	d.net, d.server = d.serve(g.Edge(routes))
	d.back, d.admin = d.serve(admin.New(admin.Options{Venue: g.Venue, Gate: g, Token: operatorHash}))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.life++
	d.stats.Lives++
	d.taken = nil // they may be lost
	d.buckets, d.seen = map[string]*bucket{}, map[string]*request{}
}

// serve starts a listener.
func (d *door) serve(h http.Handler) (*network, *http.Server) {
	n, s := newNetwork(), gate.Server(h, slog.New(slog.DiscardHandler))
	go func() {
		if err := s.Serve(gate.Listen(n)); !errors.Is(err, http.ErrServerClosed) {
			d.faults.note(err.Error())
		}
	}()
	return n, s
}

// Cut takes the connections away.
func (d *door) Cut() {
	d.server.Close() // their errors would be the listeners', which have none
	d.admin.Close()
	d.net.sever()
	d.back.sever()
}

func (d *door) Close() { d.agents.Close() }

// faultLog keeps what the venue logs as a fault of its own: there is to be none.
type faultLog struct {
	mu   sync.Mutex
	said []string
}

func (l *faultLog) note(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, s)
}

func (l *faultLog) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.said) == 0 {
		return nil
	}
	return fmt.Errorf("the venue logged %q", l.said)
}

// Enabled, Handle, WithAttrs and WithGroup make it a slog.Handler.
func (l *faultLog) Enabled(_ context.Context, at slog.Level) bool { return at >= slog.LevelError }
func (l *faultLog) WithAttrs([]slog.Attr) slog.Handler            { return l }
func (l *faultLog) WithGroup(string) slog.Handler                 { return l }
func (l *faultLog) Handle(_ context.Context, r slog.Record) error {
	s := r.Message
	r.Attrs(func(a slog.Attr) bool { s += " " + a.String(); return true })
	l.note(s)
	return nil
}

// bucket is a token bucket in whole numbers: left is in 10^-9 of a token.
type bucket struct {
	rate, burst, left int64
	at                int64 // ns
}

const token = 1_000_000_000

// take draws n tokens at a time of the venue's clock, which may have been set back. Of
// none it tells in how many ms they will be there.
func (b *bucket) take(n, again, now int64) (ok bool, wait int64) {
	b.left = min(b.burst*token, b.left+max(0, min(now-b.at, 1<<33))*b.rate)
	b.at = now
	if n*token <= b.left {
		b.left -= n * token
		return true, 0
	}
	if again > b.burst {
		return false, 1000
	}
	missing := (again*token - b.left + b.rate - 1) / b.rate
	return false, max(1, (missing+core.NsPerMs-1)/core.NsPerMs)
}

// pay draws tokens of a key, as the door does; who is refused wants `again` next time.
func (d *door) pay(k *key, which tools.Bucket, n, again int) (bool, int64) {
	t := d.terms()
	id := fmt.Sprint(k.id, which)
	b := d.buckets[id]
	if b == nil {
		b = &bucket{at: d.Now()}
		switch which {
		case tools.Read:
			b.rate, b.burst = t.ReadRate, 2*t.ReadRate
		case tools.Write:
			b.rate, b.burst = t.WriteFloor, t.WriteFloor
		case tools.Cancel:
			b.rate, b.burst = 2*t.WriteFloor, 2*t.WriteFloor
		}
		b.left = b.burst * token
		d.buckets[id] = b
	}
	return b.take(int64(n), int64(again), d.Now())
}

// timely is the window of a signature.
func (d *door) timely(ms int64) bool {
	off := d.Now()/core.NsPerMs - ms
	return off <= schemas.ReplayWindowMs && off >= -schemas.ReplayWindowMs
}
