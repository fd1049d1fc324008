package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"duplex/client"
	"duplex/schemas"
)

// goDriver is the driver of the Go client.
type goDriver struct {
	client *client.Client
	stream *client.Stream
	market uint32

	mu    sync.Mutex
	pause time.Duration
	state reply
}

// driveGo answers requests until in ends.
func driveGo(in io.Reader, out io.Writer) error {
	d := &goDriver{state: reply{Fills: []string{}}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		b, err := json.Marshal(d.answer(ctx, &r))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", b); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (d *goDriver) answer(ctx context.Context, r *request) reply {
	switch r.Do {
	case "open":
		secret, _ := schemas.ParseSecret(r.Secret)
		c, err := client.New(r.URL, r.Key, secret, client.WaitForTokens(), client.RepeatPlacements())
		if err != nil {
			return reply{Result: "url"}
		}
		c.SetClock(time.Duration(r.ClockMs) * time.Millisecond) // as far from the venue's as a wrong clock
		d.client = c
	case "place":
		var o schemas.PlaceOrder
		b, err := json.Marshal(r.Order)
		if err == nil {
			err = json.Unmarshal(b, &o)
		}
		if err == nil {
			_, err = d.client.PlaceOrder(ctx, o)
		}
		return reply{Result: resultOf(err, false)}
	case "balance":
		_, err := d.client.Balance(ctx)
		return reply{Result: resultOf(err, true)}
	case "clock":
		d.client.SetClock(time.Duration(r.ClockMs) * time.Millisecond) // nothing sets the clock of a Go program; one that slept is behind
	case "stream":
		d.follow(ctx, r)
	case "slow":
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pause = time.Duration(r.PauseMs) * time.Millisecond
	case "state":
		d.mu.Lock()
		defer d.mu.Unlock()
		out := d.state
		out.Result = "ok"
		if b, seq, ok := d.stream.Book(d.market); ok {
			out.Book = &book{Seq: seq.String(), Yes: levels(b.Yes), No: levels(b.No)}
		}
		return out
	}
	return reply{Result: "ok"}
}

func levels(side []schemas.Level) (out [][2]int64) {
	for _, l := range side {
		out = append(out, l)
	}
	return out
}

func (d *goDriver) follow(ctx context.Context, r *request) {
	change := func(f func()) { d.mu.Lock(); defer d.mu.Unlock(); f() }
	if len(r.MarketIDs) > 0 {
		d.market = r.MarketIDs[0]
	}
	d.stream = d.client.Stream(client.StreamOptions{
		Channels: r.Channels, MarketIDs: r.MarketIDs, Silence: time.Duration(r.SilenceMs) * time.Millisecond,
		OnEvent: func(e client.StreamEvent) {
			var msg struct {
				Event   string
				OrderID string      `json:"order_id"`
				Ts      schemas.U64 `json:"ts"`
			}
			_, _, known := d.stream.Book(d.market)
			var pause time.Duration
			change(func() {
				d.state.Messages++
				pause = d.pause
				if json.Unmarshal(e.Msg, &msg) != nil {
					return
				}
				if e.Type == "user" && msg.Event == "fill" {
					d.state.Fills = append(d.state.Fills, msg.OrderID)
				}
				if e.Type == "orderbook_delta" && known { // an old one makes the book unknown
					d.state.OldestMs = max(d.state.OldestMs, d.client.Now().Sub(time.Unix(0, msg.Ts.Int64())).Milliseconds())
				}
			})
			time.Sleep(pause)
		},
		OnDisconnect: func(error, time.Time) { change(func() { d.state.Disconnects++ }) },
		OnLate:       func(uint32, time.Duration) { change(func() { d.state.Late++ }) },
	})
	go func() {
		err := d.stream.Run(ctx)
		change(func() { d.state.Ended = err.Error() })
	}()
}

// resultOf names the result of a call as the table of retries does.
func resultOf(err error, read bool) string {
	e, isError := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		return "ok"
	case isError && e.Code == "":
		return fmt.Sprint("status ", e.Status)
	case isError && !client.MayBeDone(err):
		return e.Code
	case !client.MayBeDone(err):
		return "refused"
	case read:
		return "lost"
	default:
		return "unknown"
	}
}
