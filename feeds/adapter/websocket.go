package adapter

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// runWebSocket reads messages from a WebSocket until the connection ends.
func (a *Adapter) runWebSocket(ctx context.Context, client *http.Client, handle func([]byte) error) error {
	conn, err := a.dial(ctx, client)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // the connection has ended
	conn.SetReadLimit(a.codec.maxMessageBytes())
	if err := write(ctx, conn, a.codec.Subscribe); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var heartbeats sync.WaitGroup
	defer heartbeats.Wait()
	defer stop()
	if a.codec.Heartbeat != "" {
		heartbeats.Go(func() { a.sendHeartbeats(ctx, conn) })
	}
	for {
		message, err := read(ctx, conn)
		if err != nil {
			return err
		}
		if err := handle(message); err != nil {
			return err
		}
	}
}

func (a *Adapter) dial(ctx context.Context, client *http.Client) (*websocket.Conn, error) {
	ctx, done := context.WithTimeout(ctx, dialTimeout)
	defer done()
	conn, _, err := websocket.Dial(ctx, a.codec.URL, &websocket.DialOptions{HTTPClient: client, HTTPHeader: a.codec.Header})
	if err != nil {
		return nil, wrapError(ctx, "dial", err)
	}
	return conn, nil
}

// read waits for one whole message of any type. Parse drops a binary one as garbled.
func read(ctx context.Context, conn *websocket.Conn) ([]byte, error) {
	ctx, done := context.WithTimeoutCause(ctx, stallTimeout, ErrStalled)
	defer done()
	_, message, err := conn.Read(ctx)
	if err != nil {
		return nil, wrapError(ctx, "read", err)
	}
	return message, nil
}

func write(ctx context.Context, conn *websocket.Conn, text string) error {
	if text == "" {
		return nil
	}
	ctx, done := context.WithTimeoutCause(ctx, stallTimeout, ErrStalled)
	defer done()
	if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		return wrapError(ctx, "write", err)
	}
	return nil
}

// sendHeartbeats sends the heartbeat message until ctx ends or a write fails. The reader
// reports the error of a broken connection.
func (a *Adapter) sendHeartbeats(ctx context.Context, conn *websocket.Conn) {
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if write(ctx, conn, a.codec.Heartbeat) != nil {
			return
		}
	}
}
