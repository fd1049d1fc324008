package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"duplex/internal/backoff"
)

// A member that has no data does not know whether it is new, or has lost what it confirmed. With its vote
// it could elect a member that lacks groups which a majority, counting this one, has confirmed. So it
// starts etcd only when others say that it is new:
//
//   - another member runs etcd and says that this one never took part, or
//   - so many others have no data either, and the same master key and list of members, that they and this
//     one are a majority: the cluster forms.
//
// It is refused if the cluster formed with another master key or list, or if a majority is about to.
// Until then it waits, and says on its peer port, to other members, that it has no data.

const (
	formingPath  = "/duplex/forming"      // GET, on the peer port: 200 of a member without data
	formingEvery = 100 * time.Millisecond // between two questions to every other member
	formingReply = time.Second            // for each answer
)

// awaitForming waits until this member, which has no data and does not join, may start etcd.
func (c *Cluster) awaitForming(ctx context.Context) error {
	if len(c.opt.Members) == 1 || c.identity != nil {
		return nil // nobody else has a vote; or this member begins with a journal
	}
	stop, err := c.serveForming()
	if err != nil {
		return err
	}
	defer stop()
	said := time.Now()
	for {
		ok, err := c.mayForm(ctx)
		if ok {
			return nil
		}
		if isFinal(err) {
			return err
		}
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			c.opt.Log.Info("this member waits: no majority of the members is there yet", "err", err)
		}
		if !backoff.Sleep(ctx, formingEvery) {
			return ctx.Err()
		}
	}
}

// serveForming answers formingPath at the peer address until stop is called.
func (c *Cluster) serveForming() (stop func(), err error) {
	address, err := listenAddress(c.opt.PeerListen)
	if err != nil {
		return nil, err
	}
	l, err := listenTCP(address)
	if err != nil {
		return nil, err
	}
	if c.opt.Cert != "" {
		l = tls.NewListener(l, c.opt.serverTLS(roleMember))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+formingPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(clusterHeader, c.forming)
		writeJSON(w, map[string]string{"name": c.opt.Name})
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(c.opt.Log.Handler(), slog.LevelWarn)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // until stop
	}()
	return func() {
		_ = server.Close() // a member that asks now asks again
		<-done
	}, nil
}

// mayForm asks every other member once. The error says who does not answer; it is final if this member
// has taken part, or must not.
func (c *Cluster) mayForm(ctx context.Context) (bool, error) {
	var errs []error
	without, other := 1, 0 // members without data: of the cluster that this one would form, it included; of another
	for _, a := range c.opt.Members {
		if a.Name == c.opt.Name {
			continue
		}
		known, err := c.askForming(ctx, a)
		switch {
		case isFinal(err):
			return false, err
		case errors.Is(err, errOtherCluster):
			if other++; other > len(c.opt.Members)/2 {
				return false, finalError{err}
			}
			errs = append(errs, err)
		case err != nil:
			errs = append(errs, err)
		case known:
			return true, nil
		default:
			without++
		}
	}
	return without > len(c.opt.Members)/2, errors.Join(errs...)
}

// askForming asks a member. known is true if it runs etcd, and knows this member as one that never took
// part; else it has no data.
func (c *Cluster) askForming(ctx context.Context, a Address) (known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, formingReply)
	defer cancel()
	if _, _, err := c.askMember(ctx, a); err == nil || isFinal(err) {
		return err == nil, err
	}
	var reply struct{ Name string }
	header, err := c.toPeers.get(ctx, a.Peer, formingPath, &reply)
	if err == nil && header.Get(clusterHeader) != c.forming {
		err = errOtherCluster
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", a.Name, err)
	}
	if !slices.Contains(c.opt.Members, Address{reply.Name, a.Peer}) {
		return false, fmt.Errorf("%s at %s is %q", a.Name, a.Peer, reply.Name)
	}
	return false, nil
}
