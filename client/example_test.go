package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"duplex/client"
	"duplex/schemas"

	"github.com/coder/websocket"
)

// exampleVenue stands in for the API listener of a venue: it accepts one placement and
// serves one snapshot and one event of the account.
func exampleVenue() *httptest.Server {
	routes := http.NewServeMux()
	routes.HandleFunc("POST /v1/portfolio/orders", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"order_id":"9","client_order_id":"1","status":"resting","seq":"9","filled_qty":0,"resting_qty":10,"fills":[]}`)
	})
	routes.HandleFunc("GET /v1/ws", func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()                                //nolint:errcheck // it may be closed already
		if _, _, err := ws.Read(r.Context()); err != nil { // subscribe
			return
		}
		for _, m := range []string{
			`{"id":1,"type":"subscribed","msg":{"channel":"user","sid":1,"resumed":false}}`,
			`{"type":"user_snapshot","sid":1,"seq":"5","prev_seq":"0","msg":{"as_of_seq":"5","cash":"1000000","reserved":"0","positions":[],"orders":[],"deadman":{"armed":false,"timeout_ms":0,"deadline_ts":"0"}}}`,
			`{"type":"user","sid":1,"seq":"6","prev_seq":"5","msg":{"event":"balance","ts":"1","cash":"953000","reserved":"47000","change":"-47000","cause":"order"}}`,
		} {
			if ws.Write(r.Context(), websocket.MessageText, []byte(m)) != nil {
				return
			}
		}
		_, _, _ = ws.Read(r.Context()) // until the client disconnects
	})
	return httptest.NewServer(routes)
}

func ExampleClient_PlaceOrder() {
	venue := exampleVenue()
	defer venue.Close()
	secret := make([]byte, schemas.SecretLen) // schemas.ParseSecret decodes the hex form

	c := client.New(venue.URL, "my-key", secret, client.RepeatPlacements(), client.WaitForTokens())
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

// A stream resumes the account after a broken connection by itself: it subscribes again
// with the seq of the last event.
func ExampleClient_Stream() {
	venue := exampleVenue()
	defer venue.Close()
	c := client.New(venue.URL, "my-key", make([]byte, schemas.SecretLen))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	s := c.Stream(client.StreamOptions{
		Channels: []string{"user"},
		OnEvent: func(e client.StreamEvent) {
			fmt.Println(e.Type, e.Seq)
			if e.Seq == 6 {
				stop()
			}
		},
	})
	err := s.Run(ctx)

	a, _ := s.Account()
	fmt.Println(a.Cash, a.Reserved, err)
	// Output:
	// user_snapshot 5
	// user 6
	// 953000 47000 context canceled
}
