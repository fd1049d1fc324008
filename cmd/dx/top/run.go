package top

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"

	"duplex/client"
	"duplex/schemas"
)

// Run shows the screen on a terminal until it is quit, ctx ends or the stream fails
// for good.
func Run(ctx context.Context, c *client.Client, where, who string, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	o := Options{Where: where, Who: who, Look: func() Looked { return look(ctx, c) }, Tape: func(id uint32) Taped { return trades(ctx, c, id) }, Now: c.Now}
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

func look(ctx context.Context, c *client.Client) (l Looked) {
	rounds, err := c.Rounds(ctx, schemas.ListRounds{})
	markets, err2 := c.Markets(ctx, schemas.ListMarkets{})
	return Looked{Rounds: rounds.Rounds, Markets: markets.Markets, AsOf: markets.AsOfSeq, Err: errors.Join(err, err2)}
}

func trades(ctx context.Context, c *client.Client, market uint32) Taped {
	l, err := c.Trades(ctx, schemas.ListTrades{MarketID: schemas.Int(market)})
	return Taped{Market: market, Trades: l.Trades, AsOf: l.AsOfSeq, Err: err}
}

// stream turns what the event lane says into messages, until ctx ends.
func stream(ctx context.Context, c *client.Client, send func(tea.Msg)) {
	var s *client.Stream
	s = c.Stream(client.StreamOptions{
		Channels: []string{"orderbook_delta", "trades", "oracle", "rounds", "user"},
		On: func(e client.StreamEvent) {
			if msg, err := message(s, e); err != nil {
				send(Ended{err})
			} else if msg != nil {
				send(msg)
			}
		},
		Broke: func(err error) { send(Broke{err}) },
	})
	if err := s.Run(ctx); ctx.Err() == nil {
		send(Ended{err})
	}
}

// message is what an event tells, with the book or the account as it is now.
func message(s *client.Stream, e client.StreamEvent) (tea.Msg, error) {
	switch e.Type {
	case "orderbook_snapshot", "orderbook_delta":
		var of struct {
			MarketID uint32 `json:"market_id"`
		}
		err := json.Unmarshal(e.Msg, &of)
		book, seq, known := s.Book(of.MarketID)
		return Booked{Market: of.MarketID, Seq: max(seq, e.Seq), Book: book, Known: known}, err
	case "user_snapshot", "user":
		a, _ := s.Account()
		return Accounted(a), nil
	case "trade":
		var t Traded
		return read(e, &t)
	case "oracle":
		var t Indexed
		return read(e, &t)
	case "round":
		var r Changed
		return read(e, &r)
	}
	return nil, nil
}

func read[M any](e client.StreamEvent, into *M) (tea.Msg, error) {
	err := json.Unmarshal(e.Msg, into)
	return *into, err
}
