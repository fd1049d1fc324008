package trading

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/coder/websocket"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// Watch is `dx watch CHANNEL…`: the event stream, one line per message.
type Watch struct {
	cli.ClientFlags
	cli.Zone
	Channels []string     `arg:"" enum:"orderbook_delta,orderbook_snapshot,trades,oracle,rounds,user" help:"One or more of orderbook_delta, orderbook_snapshot, trades, oracle, rounds and user."`
	Series   []SeriesFlag `help:"Only the markets of these series, such as btc-15m, round after round. Does not apply to oracle and user." xor:"market" predictor:"series" placeholder:"NAME"`
	MarketID []uint32     `help:"Only these market slots. Does not apply to oracle and user." aliases:"market" xor:"market" placeholder:"ID"`
	Count    int          `help:"Stop after this many messages; 0 runs until Ctrl-C." default:"0" placeholder:"N"`
	JSON     bool         `help:"Print each message as the venue sent it, one per line."`
}

func (w *Watch) Help() string {
	return `Each line shows the time of arrival with its zone (Z is UTC), the market slot or feed, and the event. Contract prices are in cents. After a lost connection it reconnects, and the events of the account continue where they stopped.

Examples:
  dx watch trades rounds
  dx watch orderbook_delta --series btc-15m
  dx watch user --as maker
  dx watch oracle --count 5 --json`
}

var errCountReached = errors.New("all requested messages were printed")

func (w *Watch) Run(ctx context.Context, out io.Writer, log *slog.Logger) error {
	if w.Count < 0 {
		return cli.BadFlag("count", errors.New("must be 0 or more"))
	}
	c, err := w.Client()
	if err != nil {
		return err
	}
	var only *seriesFilter
	if len(w.Series) > 0 {
		if only, err = w.filter(ctx, c, log); err != nil {
			return err
		}
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	n, received := 0, false
	s := c.Stream(client.StreamOptions{
		Channels: w.Channels, MarketIDs: w.MarketID,
		OnEvent: func(e client.StreamEvent) {
			if ctx.Err() != nil { // already received when the end was decided
				return
			}
			received = true
			if only != nil {
				ok, err := only.passes(ctx, &e)
				if err != nil {
					end(err)
				}
				if !ok {
					return
				}
			}
			if n++; n == w.Count {
				defer end(errCountReached)
			}
			if err := w.print(out, e, time.Now()); err != nil {
				end(err)
			}
		},
		OnDisconnect: func(err error, _ time.Time) {
			if !received { // the stream never worked: report it instead of retrying
				end(err)
			}
		},
		OnLate: func(market uint32, age time.Duration) {
			log.Warn("a change of a book came late; its snapshot follows", "market_id", market, "age", age.Round(time.Millisecond))
		},
		Log: log,
	})
	err = s.Run(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, errCountReached) || errors.Is(err, context.Canceled) { // --count reached, or Ctrl-C
		return nil
	}
	return explainStream(err)
}

func (w *Watch) print(out io.Writer, e client.StreamEvent, now time.Time) error {
	if w.JSON {
		_, err := fmt.Fprintf(out, "%s\n", e.Raw)
		return err
	}
	of, what, err := describeEvent(&e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s  %-4s  %s\n", w.In(now).Format("15:04:05.000Z07:00"), of, what)
	return err
}

// explainStream adds to the error that ended a stream what it means and what to do.
func explainStream(err error) error {
	if r, ok := errors.AsType[*client.CommandError](err); ok {
		for _, f := range schemas.WSErrorTable {
			if f.Code == r.Code {
				return fmt.Errorf("%w: %s %s", err, f.Means, f.Next)
			}
		}
	}
	if websocket.CloseStatus(err) == client.CloseRevoked {
		return cli.UnauthorizedError{Err: errors.New("the key was revoked; make another one and start dx watch again")}
	}
	return cli.Explain(err)
}

// seriesFilter passes the messages of some series' markets. A series moves from slot to
// slot with each round, so the filter reads the category of every round it meets.
type seriesFilter struct {
	client *client.Client
	wanted map[uint16]bool          // by category
	rounds map[uint32]schemas.Round // by slot: the newest that is known
}

// filter returns the filter of --series. It logs which series have no live market.
func (w *Watch) filter(ctx context.Context, c *client.Client, log *slog.Logger) (*seriesFilter, error) {
	f := &seriesFilter{client: c, wanted: map[uint16]bool{}, rounds: map[uint32]schemas.Round{}}
	for _, name := range w.Series {
		f.wanted[name.series().Category] = true
		_, err := name.liveRound(ctx, c)
		if none, ok := errors.AsType[*noLiveMarket](err); ok {
			log.Warn(none.Error())
		} else if err != nil {
			return nil, err
		}
	}
	return f, nil
}

// passes reports whether to print a message. Messages without a market always pass.
func (f *seriesFilter) passes(ctx context.Context, e *client.StreamEvent) (bool, error) {
	if e.Type == "oracle" || strings.HasPrefix(e.Type, "user") {
		return true, nil
	}
	var m schemas.Round // book, trade and round messages all name market and generation
	if err := json.Unmarshal(e.Msg, &m); err != nil {
		return false, err
	}
	if e.Type == "round" {
		f.rounds[m.MarketID] = m
	}
	if f.rounds[m.MarketID].Generation != m.Generation {
		l, err := f.client.Rounds(ctx, schemas.ListRounds{MarketID: schemas.Ptr(schemas.Int(m.MarketID))})
		if err != nil {
			return false, err
		}
		for _, r := range l.Rounds {
			if r.Generation == m.Generation {
				f.rounds[m.MarketID] = r
			}
		}
	}
	return f.wanted[f.rounds[m.MarketID].Category], nil
}
