package bridge

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/client"
)

// silenceTimeout ends a response that stops in the middle. An event stream sends something
// every 15 s.
const silenceTimeout = time.Minute

var errNoAnswer = errors.New("the response ended early")

// forward sends a request to the venue and its response to the host. It returns an error
// if there is no response. f.partial reports whether the host got a part of one.
func (b *Bridge) forward(f *inFlightRequest, n *client.Node) error {
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	f.node = n
	resp, err := openNode(ctx, n, f.message, http.MethodPost, f.header, responseLimit(b.client, f.message, !f.writes, b.writeTimeout))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	quiet := time.AfterFunc(silenceTimeout, cancel)
	defer quiet.Stop()
	body := activityReader{resp.Body, func() { quiet.Reset(silenceTimeout) }}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		return b.forwardStream(f, body)
	}
	answer, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if err := b.nodeFailed(f, answer); err != nil {
		return err
	}
	if !f.deliver(b, answer) {
		return &foreignResponse{resp.StatusCode, answer}
	}
	return nil
}

// nodeFailed returns an error if the response is to be had from another node.
func (b *Bridge) nodeFailed(f *inFlightRequest, answer jsontext.Value) error {
	if !b.client.Several() || f.partial {
		return nil
	}
	if err := refusedByNode(answer, f.unknown); err != nil { // nil is not an error of the interface's type
		return err
	}
	return nil
}

// forwardStream passes on the messages of an event stream up to the response.
func (b *Bridge) forwardStream(f *inFlightRequest, body io.Reader) error {
	errDone := errors.New("done")
	err := readEvents(body, func(data []byte) error {
		m, ok := parse(data)
		if ok && m.method != "" {
			f.partial = true
			b.write(data)
			return nil
		}
		if err := b.nodeFailed(f, data); err != nil {
			return err
		}
		if f.deliver(b, data) {
			return errDone
		}
		return errNoAnswer
	})
	switch {
	case errors.Is(err, errDone):
		return nil
	case errors.Is(err, io.EOF):
		return errNoAnswer
	default:
		return err
	}
}

// deliver writes the response to the host. It reports false if it is not a JSON-RPC
// response.
func (f *inFlightRequest) deliver(b *Bridge, answer jsontext.Value) bool {
	if !answer.IsValid() {
		return false
	}
	members := object(answer)
	result, failed := members["result"], members["error"]
	if result == nil && failed == nil {
		return false
	}
	if f.unknown {
		answer = settled(f.ctx, b.client, f.message, answer)
	}
	if f.writes && b.client.Several() {
		f.node.Saw(seqOf(result))
	}
	if failed != nil {
		answer = f.failed(b.commands, answer, failed, members["id"] == nil)
	}
	switch {
	case f.canceled.Load():
		return true
	case f.method == "tools/list" && result != nil:
		answer = b.filter.list(b.catalog, answer)
	case f.method == "initialize" && result != nil:
		b.revision, _ = text(object(result)["protocolVersion"])
	}
	b.write(answer)
	return true
}

// failed returns the response for the host to an error of the venue. Some errors come
// without the id, which the host needs.
func (f *inFlightRequest) failed(commands Commands, answer, failed jsontext.Value, anonymous bool) jsontext.Value {
	e, rest, known := venueError(failed)
	if known && f.writes {
		if result := rejectedResult(f.message, e); result != nil {
			return result
		}
	}
	id := f.id
	if k := id.Kind(); k != '"' && k != '0' {
		id = nil // not a valid id
	}
	switch {
	case known && e.Code == "unauthorized":
		data := mustEncode(e)
		if !rest { // with the hint and the clock of the venue
			data = object(failed)["data"]
		}
		return errorResponse(id, e.HTTP(), "unauthorized: the venue does not have the key of the bridge; "+commands.NewKey+" makes another one of an agent, and "+commands.Doctor+" finds out more", data)
	case known && rest:
		return venueErrorResponse(id, e.HTTP(), e)
	case anonymous && id != nil:
		return envelope(id, "error", failed)
	}
	return answer
}

// activityReader calls onRead after each read.
type activityReader struct {
	io.Reader
	onRead func()
}

func (h activityReader) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.onRead()
	return n, err
}
