package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"duplex/internal/rawhttp"
)

// The targets of the signed reads: a book of twenty levels and a page of 100 orders.
func orderbook(r *harness) string { return fmt.Sprintf("/v1/markets/%d/orderbook", r.market) }
func orders(*harness) string      { return "/v1/portfolio/orders?limit=100" }

// restRead returns a measurement of signed reads. Each connection has its own account with 100
// resting orders.
func restRead(target func(*harness) string) measurement {
	return func(ctx context.Context, r *harness) (result, error) {
		if err := r.placeRestingOrders(ctx); err != nil {
			return result{}, err
		}
		path := target(r)
		l := requestLoop{addr: r.host, pid: r.pids[venue], next: func(conn, _ int) request {
			return request{bytes: r.keys[conn].AppendRequest(nil, "GET", path, "", nil), want: 200}
		}}
		return l.run(ctx, r.conns, r.duration)
	}
}

// plainRead returns a measurement of the net/http peer, which serves a copy of the venue's
// answer.
func plainRead(target func(*harness) string) measurement {
	return func(ctx context.Context, r *harness) (result, error) {
		if err := r.placeRestingOrders(ctx); err != nil {
			return result{}, err
		}
		path := target(r)
		text, err := fetch(signed(ctx, r.keys[0], "GET", path, nil))
		if err != nil {
			return result{}, err
		}
		s := rawhttp.Signer{Key: "peer", Secret: peerSecret, Host: r.peers["net/http"]}
		if _, err := fetch(signed(ctx, s, "PUT", path, text)); err != nil {
			return result{}, err
		}
		l := requestLoop{addr: s.Host, pid: r.pids["net/http"], next: func(int, int) request {
			return request{bytes: s.AppendRequest(nil, "GET", path, "", nil), want: 200}
		}}
		return l.run(ctx, r.conns, r.duration)
	}
}

// placeRestingOrders leaves every account with exactly 100 resting orders.
func (r *harness) placeRestingOrders(ctx context.Context) error {
	r.runID++
	for conn := range r.conns {
		if err := doJSON(signed(ctx, r.keys[conn], "DELETE", "/v1/portfolio/orders", nil), nil); err != nil {
			return err
		}
		for first := 0; first < 100; first += 20 {
			body := []byte(`{"orders":[`)
			for n := first; n < first+20; n++ {
				if n > first {
					body = append(body, ',')
				}
				body = append(body, r.body(r.runID, conn, n)...)
			}
			if err := doJSON(signed(ctx, r.keys[conn], "POST", "/v1/portfolio/orders/batch", append(body, "]}"...)), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func fetch(req *http.Request) ([]byte, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if resp.StatusCode >= 300 {
		err = errors.Join(err, fmt.Errorf("%s %s: %d %s", req.Method, req.URL.Path, resp.StatusCode, b))
	}
	return b, err
}
