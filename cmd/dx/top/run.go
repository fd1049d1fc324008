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

// Run shows the screen on a terminal until the user quits, ctx ends or the stream fails for
// good. It returns the error of the stream or of the terminal.
func Run(ctx context.Context, c *client.Client, address, account string, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	o := Options{Address: address, Account: account, Refresh: func() RefreshMsg { return readMarkets(ctx, c) }, ReadTrades: func(id uint32) TradesMsg { return readTrades(ctx, c, id) }, Now: c.Now}
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

func readMarkets(ctx context.Context, c *client.Client) (l RefreshMsg) {
	rounds, err := c.Rounds(ctx, schemas.ListRounds{})
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
		OnDisconnect: func(err error) { send(DisconnectedMsg{err}) },
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
