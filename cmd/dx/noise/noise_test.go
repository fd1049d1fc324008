package noise

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/internal/logbuffer"
	"duplex/internal/marketsim"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
	"duplex/schemas"
)

// TestSameSeedSameOrders runs two traders against a fixed book for 20 s of virtual time, twice,
// and checks that their orders are the same, that they take and rest, and that none is left.
func TestSameSeedSameOrders(t *testing.T) {
	first, second, other := trade(t, 1), trade(t, 1), trade(t, 2)
	if !slices.Equal(first, second) {
		t.Errorf("one seed traded\n%s\nand then\n%s", strings.Join(first, "\n"), strings.Join(second, "\n"))
	}
	if slices.Equal(first, other) {
		t.Error("two seeds traded the same")
	}
	if n := len(first); n < 40 || n > 130 {
		t.Errorf("%d orders in 20 s, want about 80", n)
	}
	for _, status := range []string{"executed", "canceled"} { // canceled: at the end, or expired
		if !slices.ContainsFunc(first, func(o string) bool { return strings.HasSuffix(o, " "+status) }) {
			t.Errorf("no order is %s:\n%s", status, strings.Join(first, "\n"))
		}
	}
}

// trade returns the orders of two traders under a seed, as text.
func trade(t *testing.T, seed uint64) (out []string) {
	synctest.Test(t, func(t *testing.T) {
		h := lanetest.New(t)
		rest.Mount(h.Routes, h.Gate, "test")
		h.ServeInMemory()
		h.Submit(&core.CreateUser{Name: "maker", TokenHash: [32]byte{99}})
		h.Submit(&core.Deposit{User: 3, DepositID: "m", Amount: lanetest.InitialCash})
		for m := core.MarketID(1); m <= 3; m++ {
			for i, o := range []core.Outcome{core.Yes, core.No} {
				h.Submit(&core.PlaceOrder{User: 3, ClientID: uint64(10*int(m) + i + 1), Market: m, Outcome: o, Tick: 4700, Qty: 5000})
			}
		}
		var logs logbuffer.Buffer
		var clients []*client.Client
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		for u, name := range []string{"noise-1", "noise-2"} {
			k := h.NewKey(core.UserID(u+1), core.ScopeRead|core.ScopeTrade)
			c := client.Must(client.New(h.URL, k.ID, k.Secret, client.WithHTTPClient(&http.Client{Transport: h.Transport})))
			c.SetClock(time.Duration(h.Now() - time.Now().UnixNano()))
			clients = append(clients, c)
			go func() {
				Run(ctx, c, slog.New(slog.NewTextHandler(&logs, nil)), seed, name, marketsim.NoiseOptions{Every: 500 * time.Millisecond, MaxQty: 20})
				ended <- struct{}{}
			}()
		}
		for range 20 {
			h.PostIndex(6_500_000_000_000)
			time.Sleep(time.Second)
		}
		stop()
		<-ended
		<-ended
		for _, c := range clients {
			for o, err := range c.AllOrders(t.Context(), schemas.ListOrders{}) {
				if err != nil {
					t.Fatal(err)
				}
				if o.Status == "resting" || o.Status == "partially_filled" {
					t.Errorf("order %d is left", *o.OrderID)
				}
				out = append(out, fmt.Sprint(o.MarketID, o.Side, o.Outcome, o.Tick, o.Qty, o.TIF, " ", o.Status))
			}
		}
		if logs.String() != "" {
			t.Error(logs.String())
		}
	})
	return out
}
