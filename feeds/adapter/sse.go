package adapter

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// runEventStream reads server-sent events until the stream ends. It uses data lines only;
// every other line resets the stall timer.
func (a *Adapter) runEventStream(ctx context.Context, client *http.Client, handle func([]byte) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	silence := time.AfterFunc(stallTimeout, func() { stop(ErrStalled) })
	defer silence.Stop()

	r, err := a.openEventStream(ctx, client)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, int(a.codec.maxMessageBytes()))
	var event []byte
	for lines.Scan() {
		silence.Reset(stallTimeout)
		if len(lines.Bytes()) > 0 {
			if event = appendData(event, lines.Bytes()); int64(len(event)) > a.codec.maxMessageBytes() {
				return wrapError(ctx, "read", bufio.ErrTooLong)
			}
			continue
		}
		if len(event) == 0 {
			continue
		}
		if err := handle(event); err != nil {
			return err
		}
		event = event[:0]
	}
	if err = lines.Err(); err == nil {
		err = io.EOF
	}
	return wrapError(ctx, "read", err)
}

// openEventStream sends the request and returns the response if its status is 200.
func (a *Adapter) openEventStream(ctx context.Context, client *http.Client) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.codec.URL, nil)
	if err != nil {
		return nil, wrapError(ctx, "dial", err)
	}
	if a.codec.Header != nil {
		req.Header = a.codec.Header.Clone()
	}
	req.Header.Set("Accept", "text/event-stream")
	r, err := client.Do(req)
	if err != nil {
		return nil, wrapError(ctx, "dial", err)
	}
	if r.StatusCode != http.StatusOK {
		r.Body.Close()
		return nil, Rejected(r.Status)
	}
	return r, nil
}

var dataField = []byte("data:")

// appendData appends the data of a line to its event. Several data lines of an event are
// joined by newlines.
func appendData(event, line []byte) []byte {
	data, found := bytes.CutPrefix(line, dataField)
	if !found {
		return event
	}
	if len(event) > 0 {
		event = append(event, '\n')
	}
	return append(event, bytes.TrimPrefix(data, []byte(" "))...)
}
