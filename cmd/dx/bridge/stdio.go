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
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/client"
	"duplex/internal/timeouts"
	"duplex/schemas"
)

// Bridge forwards messages between a host, over a pair of pipes, and the venue. Run may be
// called once.
type Bridge struct {
	client  *client.Client
	catalog *toolCatalog
	filter  ToolFilter
	log     *slog.Logger

	commands Commands

	writeTimeout time.Duration

	revision string // agreed by initialize
	requests inFlightRequests
	slots    chan struct{}
	work     sync.WaitGroup

	writing sync.Mutex
	out     io.Writer
	stop    context.CancelCauseFunc
}

// maxInFlight bounds the concurrent requests. Event streams do not count, because they have
// no end.
const maxInFlight = 64

// New returns a bridge. The client must use NewHTTPClient, which does not bound the time
// of a response.
func New(c *client.Client, n ToolFilter, x Commands, log *slog.Logger) *Bridge {
	return &Bridge{client: c, catalog: &toolCatalog{client: c}, filter: n, commands: x, log: log, writeTimeout: client.Timeout(timeouts.Of(writeTimeout)), requests: inFlightRequests{all: map[string]*inFlightRequest{}}, slots: make(chan struct{}, maxInFlight)}
}

// Run forwards messages until in ends, completes the requests in flight and returns nil. It
// returns early if ctx ends, and with an error if in or out fails.
func (b *Bridge) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, b.stop = context.WithCancelCause(ctx)
	defer b.stop(nil)
	b.out = out
	read := make(chan line)
	go readLines(ctx, in, read)
	for {
		select {
		case l := <-read:
			b.handleLine(ctx, l)
			if l.end != nil {
				return b.finish(ctx, l.end)
			}
		case <-ctx.Done():
			return b.finish(ctx, nil)
		}
	}
}

// finish waits for the requests in flight. At the end of the input they run to their
// responses; if ctx has ended, they are canceled already.
func (b *Bridge) finish(ctx context.Context, end error) error {
	b.requests.close()
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

// line is one line of the input. end is the error after it, if it is the last.
type line struct {
	raw     []byte
	tooLong bool
	end     error
}

// maxLineBytes is above the venue's own bound, so that the venue returns the error.
const maxLineBytes = maxBodyBytes

// readLines reads messages, one a line. The last line may lack its line break.
func readLines(ctx context.Context, in io.Reader, to chan<- line) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		l := readLine(r)
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

// readLine reads a line. It reads a line that is too long to its end and discards it.
func readLine(r *bufio.Reader) (l line) {
	for more := true; more; {
		part, err := r.ReadSlice('\n')
		if more = errors.Is(err, bufio.ErrBufferFull); !more {
			l.end = err
		}
		if l.tooLong = l.tooLong || len(l.raw)+len(part) > maxLineBytes; !l.tooLong {
			l.raw = append(l.raw, part...)
		}
	}
	l.raw = bytes.TrimSpace(l.raw)
	return l
}

// handleLine handles one message. Messages are concurrent except where their order matters:
// nothing is sent before the response to initialize, and a request is registered before a
// notification that cancels it is handled.
func (b *Bridge) handleLine(ctx context.Context, l line) {
	m, ok := parse(l.raw)
	switch {
	case l.tooLong:
		b.write(venueErrorResponse(nil, codeRequest, schemas.ErrorOf("body_too_large")))
	case len(l.raw) == 0: // an empty line, or the end
	case !ok:
		b.write(venueErrorResponse(nil, codeParse, schemas.ErrorOf("malformed_json")))
	case m.response():
		b.log.Warn("response without a request", "id", string(m.id))
	case m.method == "initialize":
		b.initialize(ctx, &m)
	case m.notification():
		b.notify(ctx, &m)
	default:
		b.work.Go(b.startRequest(ctx, &m))
	}
}

// initialize waits for the response, because later messages need the agreed revision.
func (b *Bridge) initialize(ctx context.Context, m *message) { b.startRequest(ctx, m)() }

// notify forwards a notification. It also disconnects a request that the notification
// cancels: on the modern revision the disconnect cancels it, on the older ones the
// notification does.
func (b *Bridge) notify(ctx context.Context, m *message) {
	header := m.headers(b.revision)
	if m.method == "notifications/cancelled" {
		b.requests.cancel(m.params["requestId"])
	}
	b.work.Go(func() {
		resp, err := b.client.Open(ctx, http.MethodPost, Path, header, m.raw)
		if err != nil {
			b.log.Warn("notification failed", "method", m.method, "err", err)
			return
		}
		resp.Body.Close()
		if resp.StatusCode >= 300 {
			b.log.Warn("notification failed", "method", m.method, "status", resp.StatusCode)
		}
	})
}

// startRequest registers a request and returns a function that handles it.
func (b *Bridge) startRequest(ctx context.Context, m *message) func() {
	f := b.requests.add(ctx, m, m.headers(b.revision))
	return func() {
		defer b.requests.remove(f)
		if m.method != "subscriptions/listen" {
			select {
			case b.slots <- struct{}{}:
				defer func() { <-b.slots }()
			case <-f.ctx.Done():
			}
		}
		b.answer(f)
	}
}

// answer handles a request up to its response.
func (b *Bridge) answer(f *inFlightRequest) {
	readOnly, err := b.catalog.isRead(f.ctx, f.message)
	f.writes = !readOnly
	switch {
	case err != nil && b.filter.ReadOnly:
		b.write(b.commands.noAnswerResponse(f.message, false, err))
		return
	case f.tool() == "" || b.filter.allows(f.tool(), readOnly): // the venue rejects a call without a name
	case b.catalog.has(f.tool()):
		b.write(b.filter.errorResponse(f.message, readOnly))
		return
	default:
		b.write(b.filter.unknownToolResponse(f.message, b.catalog))
		return
	}
	err = throughNodes(f.ctx, b.client, f.message, readOnly, func(n *client.Node, unknown bool) error {
		f.unknown = unknown
		return b.forward(f, n)
	}, func() bool { return f.partial })
	var refused *nodeRefusal
	switch {
	case errors.As(err, &refused) && f.deliver(b, refused.answer): // no other node says more
	case err != nil:
		b.reportNoAnswer(f, err)
	}
}

// reportNoAnswer writes the response of a request that the venue did not answer, unless the
// host canceled it.
func (b *Bridge) reportNoAnswer(f *inFlightRequest, err error) {
	switch {
	case f.canceled.Load():
	case f.closed.Load():
		b.write(streamEndResponse(f.message))
	default:
		b.log.Warn("no response", "method", f.method, "tool", f.tool(), "err", err)
		b.write(b.commands.noAnswerResponse(f.message, f.writes, err))
	}
}

// write writes one message to the host, as one line.
func (b *Bridge) write(msg []byte) {
	if bytes.ContainsAny(msg, "\r\n") {
		v := jsontext.Value(msg)
		if err := v.Compact(); err != nil {
			b.log.Error("invalid JSON from the venue", "err", err)
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
