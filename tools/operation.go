package tools

import (
	"context"
	"sync/atomic"
	"time"

	"duplex/core"
	"duplex/core/engine"
)

// Bucket is the token bucket of a key that pays for an operation
// (docs/rules/limits.md#buckets).
type Bucket uint8

const (
	Read Bucket = iota
	Write
	Cancel
)

func (b Bucket) String() string { return [...]string{"read", "write", "cancel"}[b] }

// Spec describes an operation.
type Spec struct {
	Name          string // of the tool, verb_noun
	Title         string
	Doc           string // what it does, when to use it and when not
	Method        string // of the route
	Path          string // with {fields}
	Scope         core.Scopes
	Bucket        Bucket
	SuccessStatus int      // HTTP; 0 means 200
	Errors        []string // codes beyond those of every route

	Destructive  bool // removes orders, contracts or cash
	Idempotent   bool // a repeat has no further effect
	PlacesOrders bool // counts against the bound of placements in flight
	Deduplicated bool // an exact repeat gets the first response (docs/rules/accounts.md#exact-repeats)

	Retirement *Retirement // nil: the operation stays
}

// Retirement announces that an operation will be removed, or will change in a way that
// breaks clients (docs/rules/rest.md#changes).
type Retirement struct{ Announced, Removed time.Time }

// MinRetirementNotice is the minimum time between Announced and Removed.
const MinRetirementNotice = 90 * 24 * time.Hour

// ReadOnly reports whether the operation changes nothing.
func (f *Spec) ReadOnly() bool { return f.Bucket == Read }

// Status returns the HTTP status of success.
func (f *Spec) Status() int {
	if f.SuccessStatus != 0 {
		return f.SuccessStatus
	}
	return 200
}

// Op is an operation. Do's errors are core.Reject, *schemas.Fault, schemas.Error,
// or those of engine.Submit.
type Op[In, Out any] struct {
	Spec
	Cost func(in *In) int // number of items, each of which costs a token; nil means 1
	Do   func(ctx context.Context, v *Venue, caller Caller, in *In) (Out, error)
}

// Operation is an Op as the lanes serve it: its inputs are *In and its outputs *Out.
type Operation interface {
	// Describe returns the spec, which the caller must not change.
	Describe() *Spec
	// NewInput and NewOutput return an empty value, to decode into and for its type.
	NewInput() any
	NewOutput() any
	// Tokens returns the cost of a call in tokens, at least 1 (docs/rules/limits.md#token-costs).
	Tokens(in any) int
	// Call runs the operation. Its errors are those of Op.Do.
	Call(ctx context.Context, v *Venue, caller Caller, in any) (out any, err error)
}

func (o *Op[In, Out]) Describe() *Spec { return &o.Spec }

func (*Op[In, Out]) NewInput() any { return new(In) }

func (*Op[In, Out]) NewOutput() any { return new(Out) }

func (o *Op[In, Out]) Tokens(in any) int {
	if o.Cost == nil {
		return 1
	}
	return max(1, o.Cost(in.(*In)))
}

func (o *Op[In, Out]) Call(ctx context.Context, v *Venue, caller Caller, in any) (any, error) {
	out, err := o.Do(ctx, v, caller, in.(*In))
	return &out, err
}

// Caller is an account that calls an operation with one of its keys.
type Caller struct {
	User core.UserID
	Key  *core.Key

	// Mark is the mark of the caller's signed request, and SignedAt its timestamp in ms, if the
	// commands of the request carry them (docs/rules/accounts.md#marks); else Mark is nil.
	Mark     *core.Mark
	SignedAt int64

	// Charge takes DeepReadTokens of the key, or none and returns rate_limited. If it is nil,
	// nothing is charged.
	Charge func() error
}

// DeepReadTokens is the number of read tokens that the part of a page beyond memory costs, in
// addition to the token of the request (docs/rules/limits.md#token-costs).
const DeepReadTokens = 5

// chargeDeepRead takes the tokens for reading the mirror.
func (c *Caller) chargeDeepRead() error {
	if c.Charge == nil {
		return nil
	}
	return c.Charge()
}

// KeyNumber returns the number of the caller's key, which commands carry.
func (c *Caller) KeyNumber() core.KeyNumber {
	if c.Key == nil {
		return 0
	}
	return c.Key.Number
}

// marked returns command i of the caller's request, with its mark if it carries one.
func (c *Caller) marked(cmd core.Command, i int) core.Command {
	if c.Mark == nil {
		return cmd
	}
	return &core.Marked{Mark: c.Mark.MarkOf(i), SignedAt: c.SignedAt, Command: cmd}
}

// submit submits the command of a caller's request.
func (v *Venue) submit(ctx context.Context, caller *Caller, cmd core.Command) (engine.Receipt, error) {
	return v.Engine.Submit(ctx, caller.marked(cmd, 0))
}

// Accepted returns the rejection of a submitted command as an error.
func Accepted(r engine.Receipt, err error) (engine.Receipt, error) {
	if err == nil && r.Reject != core.OK {
		err = r.Reject
	}
	return r, err
}

// submitAll submits the commands of a caller's batch. It may change cmds.
func (v *Venue) submitAll(ctx context.Context, caller *Caller, cmds []core.Command) ([]engine.Outcome, error) {
	for i := range cmds {
		cmds[i] = caller.marked(cmds[i], i)
	}
	return v.Engine.SubmitAll(ctx, cmds)
}

// Venue holds the dependencies of the operations.
type Venue struct {
	Engine   *engine.Engine
	Config   Config
	Funds    Funding
	Sessions SessionCalendar
	History  History     // the mirror; nil if there is none
	Virtual  VirtualTime // nil: time passes by itself
	Portal   string      // base URL of the portal as browsers reach it, without a slash at its end

	caches      responseCaches
	volatility  minuteVolatility
	funded      fundedAccounts
	cursorVenue atomic.Uint64 // see CursorVenue; 0 until it is known
}

// Config holds the settings of the service that the core does not depend on.
type Config struct {
	Environment    string       // dev, live or arena
	Oracle         string       // source of prices: sim, manual, live, replay
	ReadRate       int64        // read tokens a second; the burst is twice as much
	WriteFloor     int64        // write tokens a second of a new account
	WriteCap       int64        // maximum of write tokens a second
	AccountRate    int64        // write tokens a second of all keys of an account together; 0: no such bound
	UsdPerExtraRps int64        // 30-day volume for one more write token a second
	ResponseBudget int64        // ms
	Now            func() int64 // venue time, ns since the Unix epoch

	AccountRateGrows bool // the write rate of an account counts as its AccountRate, if it is more

	WallClock func() WallTime // nil: venue time follows the machine's clock
}

// DefaultConfig returns the defaults (docs/rules/limits.md#figures).
func DefaultConfig(now func() int64) Config {
	return Config{Environment: "live", Oracle: "live", ReadRate: DefaultReadRate, WriteFloor: 20, WriteCap: 400, UsdPerExtraRps: 10_000, ResponseBudget: 2000, Now: now}
}

// Funding is the interface to the bank or payment system. It rejects a request with an
// Error (bad_destination, withdrawal_refused). Any other error means that the port is
// not available.
type Funding interface {
	// Address returns the address and the asset of a user's deposits.
	Address(ctx context.Context, u core.UserID) (address, asset string, err error)
	// Accepts checks the destination of a withdrawal before it is requested.
	Accepts(ctx context.Context, destination string) error
}

// SessionCalendar lists the coming session boundaries for the schedule.
type SessionCalendar interface {
	Boundaries(from int64) []core.Window
	// End returns the close of the last known session, in ns.
	End() int64
}
