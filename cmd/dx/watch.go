package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/coder/websocket"

	"duplex/client"
	"duplex/schemas"
)

// watchCmd is `dx watch CHANNEL…`: the event stream, a line a message.
type watchCmd struct {
	connect
	Channels []string `arg:"" enum:"orderbook_delta,orderbook_snapshot,trades,oracle,rounds,user" help:"orderbook_delta, orderbook_snapshot, trades, oracle, rounds or user; several may be named."`
	MarketID []uint32 `help:"Only these market slots; oracle and user have none." aliases:"market"`
	Count    int      `help:"End after so many messages; 0 is until Ctrl-C." default:"0"`
	JSON     bool     `help:"Print the messages as the venue wrote them, a line each."`
}

func (w *watchCmd) Help() string {
	return `A line has the time it came at, its market or feed, and what happened; prices are in cents. A connection that breaks is replaced, and the account resumes where it was.

Examples:
  dx watch trades rounds
  dx watch orderbook_delta --market 3
  dx watch user --as maker
  dx watch oracle --count 5 --json`
}

var errEnough = errors.New("so many messages were wanted")

func (w *watchCmd) Run(ctx context.Context, out io.Writer, log *slog.Logger) error {
	if w.Count < 0 {
		return flagError{"count", errors.New("0 or more is wanted")}
	}
	c, err := w.client()
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	n := 0
	s := c.Stream(client.StreamOptions{
		Channels: w.Channels, MarketIDs: w.MarketID,
		On: func(e client.StreamEvent) {
			if ctx.Err() != nil { // what had come already
				return
			}
			if n++; n == w.Count {
				defer end(errEnough)
			}
			if err := w.print(out, e, time.Now()); err != nil {
				end(err)
			}
		},
		Broke: func(err error) {
			if n == 0 { // it never began: somebody should look
				end(err)
				return
			}
			log.Warn("connection lost, trying again", "err", err)
		},
	})
	err = s.Run(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, errEnough) || errors.Is(err, context.Canceled) { // so many came, or Ctrl-C
		return nil
	}
	return explainStream(err)
}

func (w *watchCmd) print(out io.Writer, e client.StreamEvent, now time.Time) error {
	if w.JSON {
		_, err := fmt.Fprintf(out, "%s\n", e.Raw)
		return err
	}
	of, what, err := lineOf(&e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s  %-4s  %s\n", now.Format("15:04:05.000"), of, what)
	return err
}

// explainStream adds to the end of a stream what it means and what to do.
func explainStream(err error) error {
	var r *client.Refused
	if errors.As(err, &r) {
		for _, f := range schemas.WSFaults {
			if f.Code == r.Code {
				return fmt.Errorf("%w: %s %s", err, f.Means, f.Next)
			}
		}
	}
	if websocket.CloseStatus(err) == client.CloseRevoked {
		return errors.New("the key was revoked")
	}
	return explain(err)
}
