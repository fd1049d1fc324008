package top

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"time"

	tea "charm.land/bubbletea/v2"

	"duplex/client"
	"duplex/core"
	"duplex/schemas"
)

// Run shows the screen on a terminal, with the names and the series of o, until the user quits, ctx ends or the stream fails for
// good. It returns the error of the stream or of the terminal.
func Run(ctx context.Context, c *client.Client, o Options, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	connect(ctx, c, &o)
	p := tea.NewProgram(New(o), tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	ended := make(chan struct{})
	go func() { defer close(ended); stream(ctx, c, p.Send) }()
	last, err := p.Run()
	canceled := ctx.Err() != nil
	stop()
	<-ended
	if m, ok := last.(Model); ok && m.Err() != nil {
		return m.Err()
	}
	if canceled && errors.Is(err, tea.ErrProgramKilled) {
		return nil
	}
	return err
}

// connect sets the functions of the options that call the venue.
func connect(ctx context.Context, c *client.Client, o *Options) {
	o.Now = c.Now
	o.Refresh = func() RefreshMsg { return readMarkets(ctx, c) }
	o.ReadTrades = func(id uint32) TradesMsg { return readTrades(ctx, c, id) }
	o.ReadPrices = func(feed core.Feed) PricesMsg {
		from := c.Now().Add(-(maxPoints - 1) * time.Second).UnixNano()
		l, err := c.PriceHistory(ctx, schemas.GetPriceHistory{Feed: schemas.Int(feed), TimeRange: schemas.TimeRange{FromTs: schemas.U64(from)}, Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(maxPoints))}})
		return PricesMsg{feed, l.Rows, err}
	}
	o.Preview = func(id int, order schemas.PlaceOrder) PreviewMsg {
		order.ClientOrderID = cmp.Or(order.ClientOrderID, schemas.U64(time.Now().UnixNano()))
		p, err := c.Preview(ctx, order)
		return PreviewMsg{id, order, p, err}
	}
	o.Place = func(id int, order schemas.PlaceOrder) PlacedMsg {
		done, err := c.PlaceOrder(ctx, order)
		return PlacedMsg{id, order, done, err}
	}
	o.CancelAll = func(id int, market uint32) CanceledMsg {
		_, err := c.CancelAll(ctx, schemas.CancelAll{MarketID: schemas.Int(market)})
		return CanceledMsg{id, err}
	}
	o.ReadProfit = func() ProfitMsg {
		l, err := c.PnL(ctx)
		return ProfitMsg{l, err}
	}
	o.Redeem = func(id int, market uint32, pairs int64) RedeemedMsg {
		_, err := c.Redeem(ctx, schemas.Redeem{MarketID: schemas.Int(market), Qty: schemas.Int(pairs)})
		return RedeemedMsg{id, err}
	}
}

// recentRounds is how many rounds a refresh reads: more than two hours of them.
const recentRounds = 300

func readMarkets(ctx context.Context, c *client.Client) (l RefreshMsg) {
	rounds, err := c.Rounds(ctx, schemas.ListRounds{Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(recentRounds))}})
	markets, err2 := c.Markets(ctx, schemas.ListMarkets{})
	return RefreshMsg{Rounds: rounds.Rounds, Markets: markets.Markets, AsOf: markets.AsOfSeq, Err: errors.Join(err, err2)}
}

func readTrades(ctx context.Context, c *client.Client, market uint32) TradesMsg {
	l, err := c.Trades(ctx, schemas.ListTrades{MarketID: schemas.Int(market)})
	return TradesMsg{Market: market, Trades: l.Trades, AsOf: l.AsOfSeq, Err: err}
}

// stream sends the events of the stream as messages until ctx ends.
func stream(ctx context.Context, c *client.Client, send func(tea.Msg)) {
	var s *client.Stream
	s = c.Stream(client.StreamOptions{
		Channels: []string{"orderbook_delta", "trades", "oracle", "rounds", "user"},
		OnEvent: func(e client.StreamEvent) {
			if msg, err := eventMsg(s, e); err != nil {
				send(StreamEndedMsg{err})
			} else if msg != nil {
				send(msg)
			}
		},
		OnDisconnect: func(err error, _ time.Time) { send(DisconnectedMsg{err}) },
		Log:          slog.New(slog.DiscardHandler), // the screen says it
	})
	if err := s.Run(ctx); ctx.Err() == nil {
		send(StreamEndedMsg{err})
	}
}

// eventMsg converts an event to a message, with the current book or account; nil for an
// event of another type.
func eventMsg(s *client.Stream, e client.StreamEvent) (tea.Msg, error) {
	switch e.Type {
	case "orderbook_snapshot", "orderbook_delta":
		var of struct {
			MarketID uint32 `json:"market_id"`
		}
		err := json.Unmarshal(e.Msg, &of)
		book, seq, known := s.Book(of.MarketID)
		return BookMsg{Market: of.MarketID, Seq: max(seq, e.Seq), Book: book, Known: known}, err
	case "user_snapshot", "user":
		a, _ := s.Account()
		return AccountMsg(a), nil
	case "trade":
		var t TradeMsg
		return decodeMsg(e, &t)
	case "oracle":
		var t IndexMsg
		return decodeMsg(e, &t)
	case "round":
		var r RoundMsg
		return decodeMsg(e, &r)
	}
	return nil, nil
}

func decodeMsg[M any](e client.StreamEvent, into *M) (tea.Msg, error) {
	err := json.Unmarshal(e.Msg, into)
	return *into, err
}
