package line

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// socket reads messages from a WebSocket until it ends.
func (l *Line) socket(ctx context.Context, client *http.Client, take func([]byte) error) error {
	conn, err := l.dial(ctx, client)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // it is over either way
	conn.SetReadLimit(l.talk.limit())
	if err := write(ctx, conn, l.talk.Hello); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var beating sync.WaitGroup
	defer beating.Wait()
	defer stop()
	if l.talk.Beat != "" {
		beating.Go(func() { l.beat(ctx, conn) })
	}
	for {
		message, err := read(ctx, conn)
		if err != nil {
			return err
		}
		if err := take(message); err != nil {
			return err
		}
	}
}

func (l *Line) dial(ctx context.Context, client *http.Client) (*websocket.Conn, error) {
	ctx, done := context.WithTimeout(ctx, dialTime)
	defer done()
	conn, _, err := websocket.Dial(ctx, l.talk.URL, &websocket.DialOptions{HTTPClient: client, HTTPHeader: l.talk.Header})
	if err != nil {
		return nil, failed(ctx, "dial", err)
	}
	return conn, nil
}

// read waits for one whole message, of whatever type: a binary one is garbage to
// Parse, and counted there.
func read(ctx context.Context, conn *websocket.Conn) ([]byte, error) {
	ctx, done := context.WithTimeoutCause(ctx, stall, ErrStalled)
	defer done()
	_, message, err := conn.Read(ctx)
	if err != nil {
		return nil, failed(ctx, "read", err)
	}
	return message, nil
}

func write(ctx context.Context, conn *websocket.Conn, text string) error {
	if text == "" {
		return nil
	}
	ctx, done := context.WithTimeoutCause(ctx, stall, ErrStalled)
	defer done()
	if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		return failed(ctx, "write", err)
	}
	return nil
}

// beat asks for a sign of life now and then. Where asking fails the socket is
// broken, which the reader finds out too.
func (l *Line) beat(ctx context.Context, conn *websocket.Conn) {
	tick := time.NewTicker(beatTime)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if write(ctx, conn, l.talk.Beat) != nil {
			return
		}
	}
}
