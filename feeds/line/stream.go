package line

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// stream reads server-sent events until they end. Only data counts; names, ids,
// comments and advice on retrying do not, but for showing that the venue lives.
func (l *Line) stream(ctx context.Context, client *http.Client, take func([]byte) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	silence := time.AfterFunc(stall, func() { stop(ErrStalled) })
	defer silence.Stop()

	r, err := l.ask(ctx, client)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, int(l.talk.limit()))
	var event []byte
	for lines.Scan() {
		silence.Reset(stall)
		if len(lines.Bytes()) > 0 {
			if event = gather(event, lines.Bytes()); int64(len(event)) > l.talk.limit() {
				return failed(ctx, "read", bufio.ErrTooLong)
			}
			continue
		}
		if len(event) == 0 {
			continue
		}
		if err := take(event); err != nil {
			return err
		}
		event = event[:0]
	}
	if err = lines.Err(); err == nil {
		err = io.EOF
	}
	return failed(ctx, "read", err)
}

// ask opens the stream.
func (l *Line) ask(ctx context.Context, client *http.Client) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.talk.URL, nil)
	if err != nil {
		return nil, failed(ctx, "dial", err)
	}
	if l.talk.Header != nil {
		req.Header = l.talk.Header.Clone()
	}
	req.Header.Set("Accept", "text/event-stream")
	r, err := client.Do(req)
	if err != nil {
		return nil, failed(ctx, "dial", err)
	}
	if r.StatusCode != http.StatusOK {
		r.Body.Close()
		return nil, Refused(r.Status)
	}
	return r, nil
}

var dataField = []byte("data:")

// gather adds what a line says to the event it belongs to; several data lines are
// one text with line ends between them.
func gather(event, line []byte) []byte {
	data, found := bytes.CutPrefix(line, dataField)
	if !found {
		return event
	}
	if len(event) > 0 {
		event = append(event, '\n')
	}
	return append(event, bytes.TrimPrefix(data, []byte(" "))...)
}
