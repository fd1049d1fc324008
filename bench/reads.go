package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// The targets of signed reads: a book of twenty levels, and a page of 100 rows.
func orderbook(r *rig) string { return fmt.Sprintf("/v1/markets/%d/orderbook", r.market) }
func orders(*rig) string      { return "/v1/portfolio/orders?limit=100" }

// restRead reads again and again; each connection as its own account, which has 100
// resting orders.
func restRead(target func(*rig) string) work {
	return func(ctx context.Context, r *rig) (figures, error) {
		if err := r.stock(ctx); err != nil {
			return figures{}, err
		}
		path := target(r)
		l := load{addr: r.host, pid: r.pids[venue], next: func(conn, _ int) request {
			return request{bytes: r.keys[conn].wire("GET", path, "", nil), want: 200}
		}}
		return l.run(ctx, r.conns, r.duration)
	}
}

// plainRead has the peer write the very bytes that the venue answers.
func plainRead(target func(*rig) string) work {
	return func(ctx context.Context, r *rig) (figures, error) {
		if err := r.stock(ctx); err != nil {
			return figures{}, err
		}
		path := target(r)
		text, err := fetch(r.keys[0].http(ctx, r.dev.API, "GET", path, nil))
		if err != nil {
			return figures{}, err
		}
		s := signer{"peer", peerSecret, r.peers["net/http"]}
		if _, err := fetch(s.http(ctx, "http://"+s.host, "PUT", path, text)); err != nil {
			return figures{}, err
		}
		l := load{addr: s.host, pid: r.pids["net/http"], next: func(int, int) request {
			return request{bytes: s.wire("GET", path, "", nil), want: 200}
		}}
		return l.run(ctx, r.conns, r.duration)
	}
}

// stock gives every account 100 resting orders and none besides.
func (r *rig) stock(ctx context.Context) error {
	r.turn++
	for conn := range r.conns {
		if err := do(r.keys[conn].http(ctx, r.dev.API, "DELETE", "/v1/portfolio/orders", nil), nil); err != nil {
			return err
		}
		for first := 0; first < 100; first += 20 {
			body := []byte(`{"orders":[`)
			for n := first; n < first+20; n++ {
				if n > first {
					body = append(body, ',')
				}
				body = append(body, r.body(r.turn, conn, n)...)
			}
			if err := do(r.keys[conn].http(ctx, r.dev.API, "POST", "/v1/portfolio/orders/batch", append(body, "]}"...)), nil); err != nil {
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
	if resp.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("%s %s: %d %s", req.Method, req.URL.Path, resp.StatusCode, b))
	}
	return b, err
}
