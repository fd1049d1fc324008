package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"duplex/client"
	"duplex/schemas"
	"duplex/server/servertest"
)

// Signing a request by hand. A Client does this for every request.
func Example_sign() {
	v := servertest.ForExample()
	defer v.Close()
	account := v.Account("alice")
	secret, _ := schemas.ParseSecret(account.Secret)

	const method, target = "POST", "/v1/portfolio/orders"
	body := []byte(`{"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","tick":4700,"qty":10}`)
	timestamp := strconv.FormatInt(v.Clock.Time().UnixMilli(), 10) // the venue accepts 5 s of difference
	r, err := http.NewRequest(method, v.APIURL()+target, bytes.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(schemas.HeaderKey, account.APIKey)
	r.Header.Set(schemas.HeaderTimestamp, timestamp)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(secret, timestamp, method, target, body))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	fmt.Println(response.Status)
	// Output: 201 Created
}

func ExampleClient_PlaceOrder() {
	v := servertest.ForExample()
	defer v.Close()
	// Outside of tests: client.New(url, key, secret, …), with the secret of schemas.ParseSecret.
	c := v.Client("alice", client.RepeatPlacements(), client.WaitForTokens())

	o, err := c.PlaceOrder(context.Background(), schemas.PlaceOrder{
		ClientOrderID: 1, MarketID: 1, Side: "buy", Outcome: "yes",
		Tick: schemas.Ptr(schemas.Int(4700)), // 47 cents
		Qty:  10,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.Status, o.RestingQty)
	// Output: resting 10
}

// A stream keeps books and the account up to date.
func ExampleClient_Stream() {
	v := servertest.ForExample()
	defer v.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c := v.Client("alice")

	var s *client.Stream
	s = c.Stream(client.StreamOptions{
		Channels:  []string{"orderbook_delta"},
		MarketIDs: []uint32{1},
		OnEvent: func(e client.StreamEvent) {
			book, _, _ := s.Book(1)
			fmt.Println(e.Type, book.Yes)
			if e.Type == "orderbook_delta" {
				stop()
				return
			}
			if _, err := c.PlaceOrder(ctx, buyYes(1)); err != nil {
				fmt.Println(err)
			}
		},
	})
	fmt.Println(s.Run(ctx))
	// Output:
	// orderbook_snapshot []
	// orderbook_delta [[4700 10]]
	// context canceled
}

// A stream reconnects by itself. It resumes the account after the last event, so that it
// delivers what happened in between, once and in order.
func ExampleClient_Stream_resume() {
	v := servertest.ForExample()
	defer v.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c := v.Client("alice")

	s := c.Stream(client.StreamOptions{
		Channels: []string{"user"},
		OnEvent: func(e client.StreamEvent) {
			if e.Type == "user_snapshot" {
				fmt.Println("snapshot")
				v.CutConnections()
				return
			}
			var change struct{ Event string }
			if err := json.Unmarshal(e.Msg, &change); err != nil {
				fmt.Println(err)
			}
			if fmt.Println(change.Event); change.Event == "balance" {
				stop()
			}
		},
		OnDisconnect: func(error, time.Time) {
			fmt.Println("disconnected")
			if _, err := c.PlaceOrder(ctx, buyYes(1)); err != nil {
				fmt.Println(err)
			}
		},
	})
	err := s.Run(ctx)
	a, _ := s.Account()
	fmt.Println(len(a.Orders), "order,", a.Reserved, "pips reserved:", err)
	// Output:
	// snapshot
	// disconnected
	// order
	// balance
	// 1 order, 47000 pips reserved: context canceled
}

// buyYes is a limit order for ten contracts at 47 cents.
func buyYes(id schemas.U64) schemas.PlaceOrder {
	return schemas.PlaceOrder{ClientOrderID: id, MarketID: 1, Side: "buy", Outcome: "yes", Tick: schemas.Ptr(schemas.Int(4700)), Qty: 10}
}
