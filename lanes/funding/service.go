package funding

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/address"
	"duplex/internal/atomicfile"
	"duplex/internal/backoff"
	"duplex/schemas"
	"duplex/tools"
)

const (
	callTimeout    = 10 * time.Second // of one request to the service
	minRetryWait   = time.Second
	maxRetryWait   = time.Minute
	maxQueued      = 1000
	maxAnswerBytes = 64 << 10
)

// Options configures Open.
type Options struct {
	URL    string // base URL, see CheckURL
	Secret []byte // see ParseSecret
	Cursor string // file with the place of the last event delivered
	Engine *engine.Engine
	Log    *slog.Logger
	Now    func() time.Time // default time.Now
	Client *http.Client     // default one that follows no redirect

	// Leads reports whether this node of a cluster delivers the events, which one of them does.
	// Default: always.
	Leads func() bool

	timeout time.Duration // default callTimeout
}

// Service is the connection to a funding service. It implements tools.Funding. Its methods are safe
// for concurrent use.
type Service struct {
	Options
	stop    context.CancelFunc
	running sync.WaitGroup
	added   chan struct{} // tells deliver that events are queued; holds one

	mu      sync.Mutex
	at      cursor  // the last event delivered
	queue   []Event // after at, oldest first
	skipped bool    // events after those of queue are only in the state
	paging  bool    // the last catchUp left events in the state
	stats   Stats
}

// cursor is the place of an event.
type cursor struct {
	Seq uint64 `json:"seq"`
	Ts  int64  `json:"ts"`
}

// Stats is a count of what a Service did since it was opened.
type Stats struct {
	Delivered, Failed uint64    // requests that deliver events, by outcome
	Waiting           int       // events in memory that are not delivered
	Oldest            time.Time // of the command behind the first of them; zero if there is none
}

// CheckURL checks the base URL of a funding service: https, or http to a loopback address, without
// query, fragment or password.
func CheckURL(base string) error {
	u, err := address.ParseSecure(base)
	if err == nil && (u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
		err = errors.New("must have no query, fragment or user")
	}
	return err
}

// Open reads the cursor and begins to deliver events. Close ends that.
func Open(o Options) (*Service, error) {
	o.URL = strings.TrimSuffix(o.URL, "/")
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Client == nil {
		o.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if o.Leads == nil {
		o.Leads = func() bool { return true }
	}
	s := &Service{Options: o, added: make(chan struct{}, 1)}
	if err := s.readCursor(); err != nil {
		return nil, fmt.Errorf("funding: %s: %w", o.Cursor, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	follower := o.Engine.Follow()
	s.catchUp()
	s.running.Go(func() { s.follow(ctx, follower) })
	s.running.Go(func() { s.deliver(ctx) })
	return s, nil
}

// Close ends the deliveries. An event that is on its way is delivered again after the next Open.
func (s *Service) Close() {
	s.stop()
	s.running.Wait()
}

// Stats returns the counts.
func (s *Service) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Waiting = len(s.queue)
	if out.Waiting > 0 {
		out.Oldest = time.Unix(0, int64(s.queue[0].Ts))
	}
	return out
}

// readCursor reads the cursor. If the venue has not reached it, its journal was restored from an older
// copy: then every event is delivered again, because the service tells new ones by their ids.
func (s *Service) readCursor() error {
	b, err := os.ReadFile(s.Cursor)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s.at)
	}
	if err != nil {
		return err
	}
	if now := s.Engine.Seq(); s.at.Seq > now {
		s.Log.Warn("the journal is older than what the funding service was told: every event is delivered again", "delivered_seq", s.at.Seq, "seq", now)
		return s.setCursor(cursor{}) // at once: the venue may pass the old one before the service takes an event
	}
	return nil
}

// catchUp fills the queue from the state, with at most maxQueued events. The caller holds mu, except in
// Open.
func (s *Service) catchUp() {
	var missed int
	onward := s.paging
	s.Engine.Read(func(v *venue.Venue, w *view.View) {
		s.queue, s.paging, missed = eventsAfter(s.at.Seq, maxQueued, v, w)
	})
	s.skipped = s.paging
	if missed > 0 && !onward { // the first page has said it
		s.Log.Warn("deposits that memory no longer has are not told to the funding service: compare its books with dx export ledger", "accounts", missed)
	}
}

// follow queues events until ctx ends.
func (s *Service) follow(ctx context.Context, follower *engine.Follower) {
	for {
		b, err := follower.Next(ctx)
		if err != nil { // ctx has ended
			return
		}
		s.add(b)
	}
}

// deliver delivers events until ctx ends, while this node leads.
func (s *Service) deliver(ctx context.Context) {
	tick := time.Tick(time.Second) // nothing signals that another node leads
	led := s.Leads()
	for {
		for ctx.Err() == nil && s.takesOver(&led) && s.hasNext() {
			s.deliverNext(ctx)
		}
		select {
		case <-s.added:
		case <-tick:
		case <-ctx.Done():
			return
		}
	}
}

// takesOver reports whether this node leads. When it begins to, it reads from the state what it has
// to deliver: of a withdrawal that the node before it may have told to the end, only the decision.
func (s *Service) takesOver(led *bool) bool {
	leads := s.Leads()
	if leads && !*led {
		s.mu.Lock()
		s.paging = false
		s.catchUp()
		s.mu.Unlock()
	}
	*led = leads
	return leads
}

// add queues the events of a batch.
func (s *Service) add(b *engine.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range b.Applied {
		x := &b.Applied[i]
		for _, what := range x.Events {
			e, ok := eventOf(x.Stamp, what)
			switch last := len(s.queue) - 1; {
			case !ok || last >= 0 && s.queue[last].Seq >= e.Seq || uint64(e.Seq) <= s.at.Seq: // the state had it
			case s.skipped || len(s.queue) >= maxQueued:
				s.skipped = true
			default:
				s.queue = append(s.queue, e)
			}
		}
	}
	if len(s.queue) > 0 || s.skipped {
		select {
		case s.added <- struct{}{}:
		default: // deliver is told already
		}
	}
}

// hasNext reports whether there is an event to deliver. If the queue is empty and events were left
// out of it, they are read from the state.
func (s *Service) hasNext() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.skipped && len(s.queue) == 0 {
		s.catchUp()
	}
	return len(s.queue) > 0
}

// deliverNext delivers the first event of the queue and moves the cursor, or returns when ctx ends.
func (s *Service) deliverNext(ctx context.Context) {
	s.mu.Lock()
	e := s.queue[0]
	s.mu.Unlock()
	wait := minRetryWait
	for failed := false; ; failed = true {
		err := s.post(ctx, "/events", e.id(), &e, nil)
		if err == nil {
			err = s.setCursor(cursor{uint64(e.Seq), int64(e.Ts)})
		}
		if ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		if err == nil {
			s.stats.Delivered++
			s.queue = s.queue[1:]
			s.mu.Unlock()
			if failed {
				s.Log.Info("the funding service is told events again", "seq", uint64(e.Seq))
			}
			return
		}
		s.stats.Failed++
		s.mu.Unlock()
		if !failed {
			s.Log.Error("the funding service does not take an event; it is sent again until it does", "seq", uint64(e.Seq), "type", e.Type, "err", err)
		}
		if !backoff.Sleep(ctx, backoff.Jitter(wait)) || !s.Leads() {
			return
		}
		wait = min(2*wait, maxRetryWait)
	}
}

// setCursor writes the cursor.
func (s *Service) setCursor(at cursor) error {
	b, err := json.Marshal(at)
	if err == nil {
		err = atomicfile.Write(s.Cursor, b)
	}
	if err == nil {
		s.mu.Lock()
		s.at = at
		s.mu.Unlock()
	}
	return err
}

// post sends a signed request and decodes the answer into out, which is nil if it does not matter.
func (s *Service) post(ctx context.Context, path, id string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.timeout, callTimeout))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	sign(r.Header, s.Secret, id, s.Now(), body)
	res, err := s.Client.Do(r)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes))
	if err = cmp.Or(err, res.Body.Close()); err != nil {
		return err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return &statusError{path: path, status: res.StatusCode}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// statusError is an answer other than 2xx.
type statusError struct {
	path   string
	status int
}

func (e *statusError) Error() string { return fmt.Sprintf("POST %s answers %d", e.path, e.status) }

// maxAddress is the most bytes of an address, an asset or a destination.
const maxAddress = 128

// isAddress reports whether text from the service may be shown to an account.
func isAddress(text string) bool {
	return text != "" && len(text) <= maxAddress && schemas.PlainText(text)
}

// Address asks the service for the address of a user's deposits (docs/rules/funding.md#addresses).
// Any failure is an error that is not of the wire.
func (s *Service) Address(ctx context.Context, u core.UserID) (address, asset string, err error) {
	var out struct {
		Address string `json:"address"`
		Asset   string `json:"asset"`
	}
	err = s.post(ctx, "/address", rand.Text(), map[string]any{"user_id": u}, &out)
	if err == nil && (!isAddress(out.Address) || !isAddress(out.Asset)) {
		err = errors.New("POST /address answers without an address or an asset of 1 to 128 bytes of plain text")
	}
	return out.Address, out.Asset, err
}

// Accepts asks the service whether it can pay to a destination. The error is bad_destination if it
// answers 422, and withdrawal_refused if it answers 403.
func (s *Service) Accepts(ctx context.Context, destination string) error {
	if destination == "" || len(destination) > maxAddress {
		return tools.NewError("bad_destination")
	}
	err := s.post(ctx, "/destination", rand.Text(), map[string]string{"destination": destination}, nil)
	if e, ok := errors.AsType[*statusError](err); ok {
		switch e.status {
		case http.StatusUnprocessableEntity:
			return tools.NewError("bad_destination")
		case http.StatusForbidden:
			return tools.NewError("withdrawal_refused")
		}
	}
	return err
}
