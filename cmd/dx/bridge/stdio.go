package bridge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/client"
	"duplex/schemas"
)

// Bridge carries messages between a host on a pair of pipes and the venue. It serves
// one Run.
type Bridge struct {
	client  *client.Client
	catalog *catalog
	narrow  Narrow
	log     *slog.Logger

	agreed  string // the revision that initialize came to
	flights flights
	places  chan struct{}
	work    sync.WaitGroup

	writing sync.Mutex
	out     io.Writer
	stop    context.CancelCauseFunc
}

// inFlight bounds the requests under way at once; event streams do not count, since
// they have no end. The venue's tokens bound them further.
const inFlight = 64

// New makes a bridge. The client's HTTP must not bound how long an answer may take:
// see HTTP.
func New(c *client.Client, n Narrow, log *slog.Logger) *Bridge {
	return &Bridge{client: c, catalog: &catalog{client: c}, narrow: n, log: log, flights: flights{all: map[string]*flight{}}, places: make(chan struct{}, inFlight)}
}

// Run carries messages until in ends; then it answers what it has read and returns
// nil. It returns early when ctx ends, or with an error when in or out breaks.
func (b *Bridge) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, b.stop = context.WithCancelCause(ctx)
	defer b.stop(nil)
	b.out = out
	read := make(chan line)
	go lines(ctx, in, read)
	for {
		select {
		case l := <-read:
			b.take(ctx, l)
			if l.end != nil {
				return b.finish(ctx, l.end)
			}
		case <-ctx.Done():
			return b.finish(ctx, nil)
		}
	}
}

// finish waits for what is under way. A host that closed its end wants the answers;
// one that ended the bridge gets what can be told at once.
func (b *Bridge) finish(ctx context.Context, end error) error {
	b.flights.close()
	b.work.Wait()
	switch cause := context.Cause(ctx); {
	case cause != nil && !errors.Is(cause, context.Canceled):
		return cause
	case end == nil || errors.Is(end, io.EOF):
		return nil
	default:
		return fmt.Errorf("standard input: %w", end)
	}
}

// line is a message as it was read, and why there are no more behind it.
type line struct {
	raw     []byte
	tooLong bool
	end     error
}

// lineMax is well over what the venue takes, so that the venue is the one to refuse.
const lineMax = bodyMax

// lines reads messages, one a line; the last may lack its end.
func lines(ctx context.Context, in io.Reader, to chan<- line) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		l := next(r)
		select {
		case to <- l:
		case <-ctx.Done():
			return
		}
		if l.end != nil {
			return
		}
	}
}

// next reads a line. One that is too long is read to its end and thrown away.
func next(r *bufio.Reader) (l line) {
	for more := true; more; {
		part, err := r.ReadSlice('\n')
		if more = errors.Is(err, bufio.ErrBufferFull); !more {
			l.end = err
		}
		if l.tooLong = l.tooLong || len(l.raw)+len(part) > lineMax; !l.tooLong {
			l.raw = append(l.raw, part...)
		}
	}
	l.raw = bytes.TrimSpace(l.raw)
	return l
}

// take begins with one message. The order of the host's messages is kept only where
// it has a meaning: nothing goes out before initialize was answered, and a request is
// known before what cancels it.
func (b *Bridge) take(ctx context.Context, l line) {
	m, ok := parse(l.raw)
	switch {
	case l.tooLong:
		b.write(failure(nil, codeRequest, schemas.ErrorOf("body_too_large")))
	case len(l.raw) == 0: // an empty line, or the end
	case !ok:
		b.write(failure(nil, codeParse, schemas.ErrorOf("malformed_json")))
	case m.response():
		b.log.Warn("an answer to a request that was never made", "id", string(m.id))
	case m.method == "initialize":
		b.initialize(ctx, &m)
	case m.notification():
		b.notify(ctx, &m)
	default:
		b.work.Go(b.request(ctx, &m))
	}
}

// initialize waits for its answer: what comes next needs the revision agreed on.
func (b *Bridge) initialize(ctx context.Context, m *message) { b.request(ctx, m)() }

// notify passes a notification on. A request that it cancels is let go of as well:
// that is what cancels it on the modern revision, and on the older ones the
// notification does.
func (b *Bridge) notify(ctx context.Context, m *message) {
	header := m.headers(b.agreed)
	if m.method == "notifications/cancelled" {
		b.flights.cancel(m.params["requestId"])
	}
	b.work.Go(func() {
		resp, err := b.client.Open(ctx, http.MethodPost, Path, header, m.raw)
		if err != nil {
			b.log.Warn("a notification was not taken", "method", m.method, "err", err)
			return
		}
		resp.Body.Close()
		if resp.StatusCode >= 300 {
			b.log.Warn("a notification was not taken", "method", m.method, "status", resp.StatusCode)
		}
	})
}

// request enters a request and gives what answers it.
func (b *Bridge) request(ctx context.Context, m *message) func() {
	f := b.flights.enter(ctx, m, m.headers(b.agreed))
	return func() {
		defer b.flights.leave(f)
		if m.method != "subscriptions/listen" {
			select {
			case b.places <- struct{}{}:
				defer func() { <-b.places }()
			case <-f.ctx.Done():
			}
		}
		b.answer(f)
	}
}

// answer gets a request answered, one way or the other. A read goes out once more if
// its answer was lost; a write never does.
func (b *Bridge) answer(f *flight) {
	readOnly, err := b.catalog.reads(f.ctx, f.message)
	switch {
	case err != nil && b.narrow.ReadOnly:
		b.write(unanswered(f.message, false, err))
		return
	case f.method == "tools/call" && !b.narrow.allows(f.tool(), readOnly):
		b.write(b.narrow.refuse(f.message))
		return
	}
	err = b.carry(f)
	if err != nil && readOnly && !f.told && f.ctx.Err() == nil {
		err = b.carry(f)
	}
	if err != nil {
		b.missing(f, !readOnly, err)
	}
}

// missing tells the host that its request has no answer, if it still wants to know.
func (b *Bridge) missing(f *flight, writes bool, err error) {
	switch {
	case f.canceled.Load():
	case f.closed.Load():
		b.write(ended(f.message))
	default:
		b.log.Warn("no answer", "method", f.method, "tool", f.tool(), "err", err)
		b.write(unanswered(f.message, writes, err))
	}
}

// write gives the host one message, as one line.
func (b *Bridge) write(msg []byte) {
	if bytes.ContainsAny(msg, "\r\n") {
		v := jsontext.Value(msg)
		if err := v.Compact(); err != nil {
			b.log.Error("a message that is not JSON", "err", err)
			return
		}
		msg = v
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	if _, err := b.out.Write(append(msg, '\n')); err != nil {
		b.stop(fmt.Errorf("standard output: %w", err))
	}
}
