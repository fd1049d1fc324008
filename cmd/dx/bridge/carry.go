package bridge

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// silence ends an answer that has begun and does not go on. An event stream says
// something every 15 s.
const silence = time.Minute

var errNoAnswer = errors.New("the answer ended before it was there")

// carry takes a request to the venue and its answer to the host. An error is that
// none came; what the host was given all the same is marked in f.
func (b *Bridge) carry(f *flight) error {
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	resp, err := b.client.Open(ctx, http.MethodPost, Path, f.header, f.raw)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	body := heard{resp.Body, func() { quiet.Reset(silence) }}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		return b.stream(f, body)
	}
	answer, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if !f.deliver(b, answer) {
		return &foreign{resp.StatusCode, answer}
	}
	return nil
}

// stream gives the host message by message, until the answer is among them.
func (b *Bridge) stream(f *flight, body io.Reader) error {
	errDone := errors.New("answered")
	err := events(body, func(data []byte) error {
		m, ok := parse(data)
		if ok && m.method != "" {
			f.told = true
			b.write(data)
			return nil
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

// deliver gives the host the answer to a request; false if it is none of JSON-RPC.
// Refusals of the request itself come without an id, which the host needs.
func (f *flight) deliver(b *Bridge, answer jsontext.Value) bool {
	if !answer.IsValid() {
		return false
	}
	members := object(answer)
	result, failed := members["result"], members["error"]
	if result == nil && failed == nil {
		return false
	}
	if members["id"] == nil && (f.id.Kind() == '"' || f.id.Kind() == '0') {
		answer = envelope(f.id, "error", failed)
	}
	switch {
	case f.canceled.Load():
		return true
	case f.method == "tools/list" && result != nil:
		answer = b.list(answer, result)
	case f.method == "initialize" && result != nil:
		b.agreed, _ = text(object(result)["protocolVersion"])
	}
	b.write(answer)
	return true
}

// list learns from a list of tools, and narrows it.
func (b *Bridge) list(answer, result jsontext.Value) jsontext.Value {
	l, ok := listOf(result)
	if !ok {
		return answer
	}
	b.catalog.learn(l)
	if !b.narrow.narrows() {
		return answer
	}
	b.narrow.filter(l)
	narrowed, err := json.Marshal(l)
	if err != nil { // it was read a moment ago
		panic(err)
	}
	return envelope(object(answer)["id"], "result", narrowed)
}

// heard is a reader that tells of everything it reads.
type heard struct {
	io.Reader
	tell func()
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.tell()
	return n, err
}
