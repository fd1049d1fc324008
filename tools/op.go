package tools

import (
	"context"
	"time"

	"duplex/core"
	"duplex/core/engine"
)

// Bucket is which of a key's three token buckets an operation draws on (spec 8).
type Bucket uint8

const (
	Read Bucket = iota
	Write
	Cancel
)

func (b Bucket) String() string { return [...]string{"read", "write", "cancel"}[b] }

// Facts are what there is to know of an operation without running it.
type Facts struct {
	Name    string // of the tool, verb_noun
	Title   string
	Doc     string // what it does, when to use it and when not
	Method  string // of the route
	Path    string // with {fields}
	Scope   core.Scopes
	Bucket  Bucket
	Created int      // the success status where it is not 200
	Errors  []string // codes beyond those every route can give

	Destructive bool // it takes something away
	Idempotent  bool // the same call again has no further effect
	Places      bool // it places orders: the door may bound how many are in hand
	Once        bool // an exact repeat is answered with the first answer (contract core, Order of checks)

	Retires *Retirement // nil: it stays
}

// Retirement announces that an operation goes, or changes in a way that breaks
// clients (spec 9).
type Retirement struct{ Announced, Gone time.Time }

// Notice is the least time between the two.
const Notice = 90 * 24 * time.Hour

// ReadOnly tells whether the operation changes nothing.
func (f *Facts) ReadOnly() bool { return f.Bucket == Read }

// Status is the HTTP status of success.
func (f *Facts) Status() int {
	if f.Created != 0 {
		return f.Created
	}
	return 200
}

// Op is an operation. Do's errors are core.Reject, *schemas.Fault, schemas.Error,
// or those of engine.Submit.
type Op[In, Out any] struct {
	Facts
	Cost func(in *In) int // items that cost a token each; nil is 1
	Do   func(ctx context.Context, v *Venue, who Caller, in *In) (Out, error)
}

// Tokens is what a call costs, at least 1.
func (o *Op[In, Out]) Tokens(t *Terms, in *In) int {
	if o.Cost == nil || t.PerRequestBatch {
		return 1
	}
	return max(1, o.Cost(in))
}

// Caller is who calls: an account, through one of its keys.
type Caller struct {
	User core.UserID
	Key  *core.Key
}

// Venue is what operations work on.
type Venue struct {
	Engine *engine.Engine
	Terms  Terms
	Funds  Funding
	Hours  Hours

	reads reads
}

// Terms are settings of the service that the core does not depend on.
type Terms struct {
	Environment     string // dev or live
	Oracle          string // how prices come: sim, manual, live, replay
	ReadRate        int64  // read tokens a second; a burst is twice as much
	WriteFloor      int64  // write tokens a second of a new account
	WriteCap        int64  // and of the most active one
	UsdPerExtraRps  int64
	BatchCap        int
	ResponseBudget  int64 // ms
	PerRequestBatch bool  // a batch costs 1 token, not one an item
	Now             func() int64
}

// DefaultTerms are those of contract core, Limits.
func DefaultTerms(now func() int64) Terms {
	return Terms{Environment: "live", Oracle: "live", ReadRate: ReadRate, WriteFloor: 20, WriteCap: 400, UsdPerExtraRps: 10_000, BatchCap: 20, ResponseBudget: 2000, Now: now}
}

// Funding is the port through which money comes and goes. It refuses with a code of
// the table (bad_destination, withdrawal_refused); any other error of it is that the
// port is down.
type Funding interface {
	// Address is where a user's deposits come in.
	Address(ctx context.Context, u core.UserID) (address, asset string, err error)
	// Accepts checks a destination before a withdrawal is asked for.
	Accepts(ctx context.Context, destination string) error
}

// Hours lists the coming session boundaries for the schedule.
type Hours interface {
	Boundaries(from int64) []core.Window
}
