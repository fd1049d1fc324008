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
//   - another member runs etcd and says that this one never took part: it is one of the founders, or the
//     cluster has added it, and it joins; or
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

// awaitStanding waits until this member, which has no data and no --join, has a standing, so that it may start etcd.
func (c *Cluster) awaitStanding(ctx context.Context) (standing, error) {
	if len(c.opt.Members) == 1 || c.identity != nil {
		return standingFounder, nil // nobody else has a vote; or this member begins with a journal
	}
	stop, err := c.serveForming()
	if err != nil {
		return standingOpen, err
	}
	defer stop()
	said := time.Now()
	for {
		is, err := c.findStanding(ctx)
		if is != standingOpen || isFinal(err) {
			return is, err
		}
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			c.opt.Log.Info("this member waits: no majority of the members is there yet", "err", err)
		}
		if !backoff.Sleep(ctx, formingEvery) {
			return standingOpen, ctx.Err()
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

// standing is what this member, which has no data, is to the others.
type standing int

const (
	standingOpen    standing = iota // not known yet
	standingFounder                 // one of those that form the cluster
	standingAdded                   // one that the cluster has added
)

// findStanding asks every other member once. The error says who does not answer; it is final if this member
// has taken part, or must not.
func (c *Cluster) findStanding(ctx context.Context) (standing, error) {
	var errs []error
	without, other := 1, 0 // members without data: of the cluster that this one would form, it included; of another
	for _, a := range c.opt.Members {
		if a.Name == c.opt.Name {
			continue
		}
		is, err := c.askForming(ctx, a)
		switch {
		case isFinal(err):
			return standingOpen, err
		case errors.Is(err, errOtherCluster):
			if other++; other > len(c.opt.Members)/2 {
				return standingOpen, finalError{err}
			}
			errs = append(errs, err)
		case err != nil:
			errs = append(errs, err)
		case is != standingOpen:
			return is, nil
		default:
			without++
		}
	}
	if without > len(c.opt.Members)/2 {
		return standingFounder, nil
	}
	return standingOpen, errors.Join(errs...)
}

// askForming asks a member. One that runs etcd knows the standing of this member, unless it has taken part; another
// one has no data either, and its standing is open.
func (c *Cluster) askForming(ctx context.Context, a Address) (standing, error) {
	ctx, cancel := context.WithTimeout(ctx, formingReply)
	defer cancel()
	switch learner, _, err := c.askMember(ctx, a); {
	case isFinal(err):
		return standingOpen, err
	case err == nil && learner:
		return standingAdded, nil
	case err == nil:
		return standingFounder, nil
	}
	var reply struct{ Name string }
	header, err := c.toPeers.get(ctx, a.Peer, formingPath, &reply)
	if err == nil && header.Get(clusterHeader) != c.forming {
		err = errOtherCluster
	}
	if err != nil {
		return standingOpen, fmt.Errorf("%s: %w", a.Name, err)
	}
	if !slices.Contains(c.opt.Members, Address{reply.Name, a.Peer}) {
		return standingOpen, fmt.Errorf("%s at %s is %q", a.Name, a.Peer, reply.Name)
	}
	return standingOpen, nil
}
