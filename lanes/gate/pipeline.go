package gate

import (
	"context"
	"net/http"
	"strings"
	"time"

	"duplex/core"
	"duplex/schemas"
	"duplex/tools"
)

// The request pipeline. Every request of every lane passes these stages in this order;
// the first error ends it (docs/rules/rest.md#order-of-checks):
//
//	handler(request):                    // Edge and Guard
//	    assign a request id; recover panics and log at the end
//	    admitForwarded                   // too many of a network behind a proxy: shed
//	    checkBodyLength                  // body_too_large
//	    before the body                  // Edge: a credential is there; Guard: authenticate; unauthorized
//	    readBody                         // ≤ 64 KiB within 10 s: body_too_large, unauthorized, shed
//	    behind the body                  // Edge: Authenticate, whose signature covers it; unauthorized
//	    identify                         // the connection counts as signed: shed, too_many_connections
//	    checkTarget                      // schema_violation, not_found
//	    route                            // Routes: not_found, method_not_allowed
//
//	Run(operation):                      // REST, agent lane
//	    authorize                        // writes: read_only_node; reads: node_behind; unauthorized, missing_scope
//	    charge 1 token                   // rate_limited
//	    decode                           // the lane's decoder
//	    chargeBatch                      // the other N-1 tokens of a batch: rate_limited
//	    waitSeq                          // min_seq
//	    the operation                    // with an in-flight slot: shed
//
//	Respond                              // the lane's encoder, or the error body
//
// The portal and the admin listener have no keys. Bind serves them: decode, the
// operation, Respond. A WebSocket command is one frame, so the event lane calls Authorize for the
// handshake and Charge for each frame.
//
// Invariants:
//
//  1. No input of an operation is decoded before authenticate, authorize and charge have
//     succeeded.
//  2. A request that fails before the operation costs tokens and changes nothing else.
//  3. A key that is revoked between authenticate and authorize fails at authorize.
//  4. A deduplicated operation executes once for all exact repeats of a request, and each
//     repeat gets the first response, unless the first surely had no effect
//     (docs/rules/accounts.md#exact-repeats).
//  5. With ReplayGuard, any other write passes to authorize once for each signature
//     (docs/rules/accounts.md#replay-guard).

// Edge serves the API: signed requests with a time budget. next routes to the lanes; the
// context of its requests carries a Call.
func (g *Gate) Edge(next http.Handler) http.Handler {
	return g.handler("rest", listenerRules{beforeBody: g.findCredentials, behindBody: g.Authenticate, signed: true}, next)
}

// Guard serves another listener, such as the portal's. authenticate takes the place of
// the signature, and comes before the body is read; the lane sets its own time budget, and CORS does not
// apply.
func (g *Gate) Guard(lane string, authenticate func(*http.Request, *Call) error, next http.Handler) http.Handler {
	return g.handler(lane, listenerRules{beforeBody: authenticate}, next)
}

// listenerRules are how a listener authenticates requests, and what else differs between listeners.
type listenerRules struct {
	beforeBody, behindBody func(*http.Request, *Call) error // the second, which may be nil, needs the body

	// signed requests have a time budget, an origin and an Intercept, and their lanes set Call.Lane. Without
	// it a write keeps the place of its connection.
	signed bool
}

// admit runs the stages of the pipeline that find out whose request it is.
func (g *Gate) admit(w http.ResponseWriter, r *http.Request, c *Call, by listenerRules) error {
	known, err := g.admitForwarded(r)
	defer known()
	if err == nil {
		err = checkBodyLength(r)
	}
	if err == nil {
		err = by.beforeBody(r, c)
	}
	if err != nil {
		refuseBody(w, r)
		return err
	}
	if c.Body, err = g.readBody(w, r, c); err == nil && by.behindBody != nil {
		err = by.behindBody(r, c)
	}
	if err == nil {
		err = g.identify(c.place, c)
	}
	return err
}

func (g *Gate) handler(lane string, by listenerRules, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		c := &Call{Lane: lane, ID: requestID(), Trace: traceID(r.Header), place: placeOf(r), signed: by.signed}
		w.Header()["X-Request-Id"] = []string{c.ID}
		rec := &statusRecorder{ResponseWriter: w}
		defer g.finish(rec, r, c, start)
		bounded := by.signed && !g.pathOptions(r).NoBudget
		conn := connOf(r)
		c.ambiguousFraming = conn.ambiguousEnd()
		conn.watchDisconnect(!bounded)
		if by.signed {
			rec.challenge = func() string { return g.challenge(r, c, rec.status, rec.code) }
			if g.CORS(rec, r) || g.serveResourceMetadata(rec, r, c) {
				return
			}
		}
		err := g.admit(rec, r, c, by)
		if err == nil {
			err = checkTarget(r, c)
		} else if by.signed && g.OnUnauthorized != nil && tools.ErrorOf(err).HTTP() == http.StatusUnauthorized {
			g.OnUnauthorized(r)
		}
		if err != nil {
			closeUnsigned(rec, r, err)
			g.writePathError(rec, r, c, err)
			return
		}
		serve := func(w http.ResponseWriter, r *http.Request) {
			ctx := r.Context()
			if bounded {
				// A disconnect does not cancel a REST request: its command may be queued already.
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), g.Budget())
				defer cancel()
			}
			next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, callKey{}, c)))
		}
		if by.signed && g.Intercept != nil {
			g.Intercept(rec, r, c, serve)
			return
		}
		if !by.signed && r.Method != http.MethodGet && r.Method != http.MethodHead {
			if err := c.place.beginWrite(); err != nil {
				g.writePathError(rec, r, c, err)
				return
			}
			defer c.place.endWrite()
		}
		serve(rec, r)
	})
}

// Budget returns the time that a request may take (docs/rules/limits.md#times).
func (g *Gate) Budget() time.Duration {
	return time.Duration(g.Venue.Config.ResponseBudget) * time.Millisecond
}

// checkTarget rejects an ambiguous end, a target that is not in origin form, and a path
// that would need normalizing. No path redirects (docs/rules/rest.md#paths).
func checkTarget(r *http.Request, c *Call) error {
	if !strings.HasPrefix(r.RequestURI, "/") || c.ambiguousFraming {
		return tools.NewError("schema_violation")
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if strings.ContainsAny(path, "%;") || strings.Contains(path, "//") || strings.Contains(path, "/./") || strings.Contains(path, "/../") ||
		strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/..") || len(path) > 1 && strings.HasSuffix(path, "/") {
		return tools.NewError("not_found")
	}
	return nil
}

// Run runs an operation for an authenticated call. decode fills the input from the lane's
// request; Run calls it at most once. out is a pointer to the operation's output, which exact
// repeats share: the caller must not change it. It is of no use if err is not nil.
func (g *Gate) Run(ctx context.Context, c *Call, op tools.Operation, decode func(in any) error) (out any, err error) {
	spec := op.Describe()
	c.Op = spec.Name
	write, guarded := !spec.ReadOnly(), g.ReplayGuard && !spec.ReadOnly() && !c.isBearer // a bearer's requests have no signature: two are two
	if write && (spec.Deduplicated || guarded) && g.Venue.Engine.SendsMarks() && c.credentials != (Credentials{}) {
		c.mark = markOf(c.ReplayKey())
	}
	if guarded {
		first, err := g.replays.add(c.ReplayKey(), g.Venue.Config.Wall())
		if err == nil && !first && !spec.Deduplicated {
			err = tools.NewError("unauthorized")
		}
		if err != nil {
			return nil, err
		}
	}
	// Exact repeats of a deduplicated operation get the response of the first: with ReplayGuard
	// also if a stage before the operation rejected it, else only if the operation was reached.
	once := func(do func() (any, error)) (any, error) {
		if !spec.Deduplicated || c.isBearer {
			return do()
		}
		return g.idempotency.run(c.ReplayKey(), g.Venue.Config.Wall(), c.mark != nil, do)
	}
	stages := func() (any, error) {
		if err := g.authorizeSpec(c, spec); err != nil {
			return nil, err
		}
		if err := g.Charge(c, spec.Bucket, 1); err != nil {
			return nil, err
		}
		in := op.NewInput()
		if err := decode(in); err != nil {
			return nil, err
		}
		if err := g.chargeBatch(c, spec.Bucket, op.Tokens(in)); err != nil {
			return nil, err
		}
		if err := g.waitSeq(ctx, in); err != nil {
			return nil, err
		}
		if spec.PlacesOrders && g.InFlight > 0 { // docs/rules/limits.md#placements-in-hand
			family := g.Venue.Engine.Owner(c.Key.User)
			if err := g.inFlight.acquire(family, g.InFlight); err != nil {
				return nil, err
			}
			defer g.inFlight.release(family)
		}
		do := func() (any, error) {
			if write {
				if err := c.place.beginWrite(); err != nil {
					return nil, err
				}
				defer c.place.endWrite()
			}
			return op.Call(ctx, g.Venue, g.Caller(c), in)
		}
		if guarded {
			return do()
		}
		return once(do)
	}
	if guarded {
		return once(stages)
	}
	return stages()
}

// Authorize is the stages authorize and charge, for a request that does not pass through
// Run.
func (g *Gate) Authorize(c *Call, f *tools.Spec) error {
	if err := g.authorizeSpec(c, f); err != nil {
		return err
	}
	return g.Charge(c, f.Bucket, 1)
}

// authorizeSpec is authorize for an operation, and refuses a read with node_behind if this node
// does not know the state of the venue, and a write with read_only_node if it is a follower. Any
// other write reaches the engine, which sheds it. A call with a Refusal is refused with that.
func (g *Gate) authorizeSpec(c *Call, f *tools.Spec) error {
	if c.Refusal != nil {
		return c.Refusal
	}
	check := g.ReadOnly
	if f.ReadOnly() {
		check = g.Behind
	}
	if err := check(); err != nil {
		return err
	}
	return g.authorize(c, f.Scope)
}

// ReadOnly returns read_only_node if this node is a follower.
func (g *Gate) ReadOnly() error {
	if g.MemberURL == nil {
		return nil
	}
	wire := schemas.ErrorOf("read_only_node")
	if member := g.MemberURL(); member != "" {
		wire.Details = &schemas.Details{"member_url": member}
	}
	return tools.Error{Wire: wire}
}

// Behind returns node_behind if this node is a member of several that does not know the state of
// the venue, and so may lack a key (docs/rules/operation.md#member-states).
func (g *Gate) Behind() error {
	if g.Venue.Engine.ServesReads() {
		return nil
	}
	return tools.NewError("node_behind")
}

// authorize checks the scopes of the key. An operator may have revoked the key since it
// was authenticated, so the revocation is checked again
// (docs/rules/accounts.md#revocation).
func (g *Gate) authorize(c *Call, scopes core.Scopes) error {
	if now := g.Venue.Engine.Key(c.Key.ID); now == nil || now.Revoked {
		return tools.NewError("unauthorized")
	}
	if !c.Key.Scopes.Has(scopes) {
		return tools.NewError("missing_scope")
	}
	return nil
}

// Charge takes n tokens of the key's bucket b, or none and returns rate_limited
// (docs/rules/limits.md#buckets).
func (g *Gate) Charge(c *Call, b tools.Bucket, n int) error {
	if g.Unlimited {
		return nil
	}
	return g.rateLimiters.take(c.Key, b, n)
}

// chargeBatch takes the tokens of a batch of n but the first, which is charged already
// (docs/rules/limits.md#token-costs).
func (g *Gate) chargeBatch(c *Call, b tools.Bucket, n int) error {
	if g.Unlimited {
		return nil
	}
	return g.rateLimiters.takeBatchRemainder(c.Key, b, n-1)
}

// waitSeq waits until the venue has applied the input's min_seq
// (docs/rules/rest.md#min-seq).
func (g *Gate) waitSeq(ctx context.Context, in any) error {
	if w, ok := in.(interface{ Since() uint64 }); ok {
		return g.Venue.Engine.WaitApplied(ctx, w.Since())
	}
	return nil
}

// Respond writes out with the given status, or the error body of err for the decoded request in.
func (g *Gate) Respond(w http.ResponseWriter, in any, status int, out any, err error) {
	if err != nil {
		g.writeError(w, err, in, "")
		return
	}
	WriteJSON(w, status, out)
}

// Bind makes a handler of do for a listener without keys: it decodes In, calls do and
// writes Out. Guard has authenticated the caller; no scope is checked and no token is
// charged. A body may be omitted if all its fields are optional.
func Bind[In, Out any](g *Gate, name string, status int, do func(context.Context, *Call, *In) (Out, error)) http.HandlerFunc {
	return BindStatus(g, name, func(ctx context.Context, c *Call, in *In) (int, any, error) {
		out, err := do(ctx, c, in)
		return status, &out, err
	})
}

// BindStatus is Bind for an operation whose response is of several types, each with its status.
func BindStatus[In any](g *Gate, name string, do func(context.Context, *Call, *In) (status int, out any, err error)) http.HandlerFunc {
	return g.bind(name, func() any { return new(In) }, func(ctx context.Context, c *Call, in any) (int, any, error) {
		return do(ctx, c, in.(*In))
	})
}

func (g *Gate) bind(name string, newInput func() any, do func(context.Context, *Call, any) (status int, out any, err error)) http.HandlerFunc {
	decodeBody := schemas.Decode
	if len(schemas.BodyFields(newInput())) > 0 && schemas.DecodeOptional(nil, newInput()) == nil {
		decodeBody = schemas.DecodeOptional
	}
	decode := HTTPDecoder(newInput(), decodeBody)
	return func(w http.ResponseWriter, r *http.Request) {
		c := CallOf(r.Context())
		c.Op = name
		if err := g.checkNode(c, r.Method); err != nil {
			g.WriteError(w, err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), g.Budget())
		defer cancel()
		in := newInput()
		if err := decode(r, c, in); err != nil {
			g.WriteError(w, err)
			return
		}
		status, out, err := do(ctx, c, in)
		g.Respond(w, in, status, out, err)
	}
}

// checkNode refuses a read of an account holder on a node that is behind, and a write on a follower.
// The operator may look at a node that is behind, and let a follower write a snapshot.
func (g *Gate) checkNode(c *Call, method string) error {
	read := method == http.MethodGet || method == http.MethodHead
	switch {
	case !read && c.Op != "admin_snapshot":
		return g.ReadOnly()
	case read && c.Operator.Name == "":
		return g.Behind()
	}
	return nil
}
