package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"duplex/cluster"
	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/mirror"
	"duplex/internal/address"
	"duplex/server"
)

// followCmd is `dx follow`. Its flags that dx serve has too mean the same there.
type followCmd struct {
	From          []string      `help:"Follow ports of members, or of other followers, tried in turn: H1:7001,H2:7001." required:"" placeholder:"HOST:PORT"`
	Name          string        `help:"Name of this node, for the logs of the others; default: the name of this machine."`
	Follow        string        `help:"Where to listen for other followers; default: nowhere." placeholder:"HOST:PORT"`
	Followers     int           `help:"Most followers that this node feeds." default:"16"`
	ClusterCert   string        `help:"Certificate (PEM) of this node, see dx cluster certs; required unless every address is on loopback." placeholder:"FILE" type:"path"`
	ClusterKey    string        `help:"Private key (PEM) of --cluster-cert." placeholder:"FILE" type:"path"`
	ClusterCA     string        `name:"cluster-ca" help:"Certificate (PEM) of the cluster's authority." placeholder:"FILE" type:"path"`
	StaleAfter    time.Duration `help:"How long reads are served after the last contact with the venue." default:"3s"`
	API           string        `help:"Address of REST, the agent lane and events." default:":8080"`
	Portal        string        `help:"Address of the portal." default:":8081"`
	Admin         string        `help:"Address of the operator; keep it on loopback." default:"127.0.0.1:8082"`
	Data          string        `help:"Where the copy of the venue is kept." default:"dx-data" type:"path"`
	MasterKey     string        `type:"secret" help:"64 hex characters: the master key of the cluster."`
	MasterKeyOld  string        `type:"secret" help:"The master key before, while secrets are sealed anew under the one of --master-key."`
	OperatorToken string        `type:"token" help:"The shared operator's token; default: a file made in the data directory."`
	accessFlags
	oauthFlags
	tlsFlags
	mirror.Flags
	archiveFlags
	sessionFlags
}

func (c *followCmd) Help() string {
	return `A follower copies the log of a cluster and serves the whole read API, sockets and tools from its own copy. It takes no writes: it answers them with read_only_node.

Example:
  dx follow --from 10.0.0.1:7001,10.0.0.2:7001 --data /var/lib/dx --cluster-cert f.crt --cluster-key f.key --cluster-ca ca.crt`
}

func (c *followCmd) Run(ctx context.Context, _ io.Writer, log *slog.Logger, logged venueLog) (err error) {
	o := server.Options{API: c.API, Portal: c.Portal, Admin: c.Admin, Data: c.Data, Environment: "live", OperatorToken: c.OperatorToken, StaleAfter: c.StaleAfter, Log: log}
	c.accessFlags.to(&o)
	o.OAuth = c.OAuth
	o.TLS = c.tlsFlags.options()
	if err := c.Flags.To(&o); err != nil {
		return err
	}
	if err := c.archiveFlags.check(c.Data, true); err != nil {
		return err
	}
	c.archiveFlags.to(&o)
	if o.Calendar, err = c.calendar(); err != nil {
		return err
	}
	if err := c.to(&o); err != nil {
		return err
	}
	return runVenue(ctx, o, logged, func(v *server.Venue) error {
		v.LogOpen()
		return v.Wait(ctx)
	})
}

// to sets the options of a follower.
func (c *followCmd) to(o *server.Options) (err error) {
	if c.MasterKey == "" {
		return cli.BadFlag("master-key", errors.New("a follower needs that of the cluster"))
	}
	if o.MasterKey, err = parseMasterKey("master-key", c.MasterKey); err != nil {
		return err
	}
	if c.MasterKeyOld != "" {
		if o.OldMasterKey, err = parseMasterKey("master-key-old", c.MasterKeyOld); err != nil {
			return err
		}
	}
	for _, from := range c.From {
		if err := address.CheckDial(from); err != nil {
			return cli.BadFlag("from", err)
		}
	}
	if c.Follow != "" {
		if err := address.CheckListen(c.Follow); err != nil {
			return cli.BadFlag("follow", err)
		}
	}
	if err := checkStaleAfter(c.StaleAfter); err != nil {
		return err
	}
	if err := checkFollowers(c.Followers); err != nil {
		return err
	}
	name := c.Name
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return cli.BadFlag("name", err)
		}
	}
	o.Follow = &cluster.FollowerOptions{Name: name, From: c.From, Listen: c.Follow, Followers: c.Followers, Cert: c.ClusterCert, Key: c.ClusterKey, CA: c.ClusterCA}
	return nil
}

func checkStaleAfter(d time.Duration) error {
	if d < time.Second || d > time.Minute {
		return cli.BadFlag("stale-after", errors.New("must be 1s to 1m"))
	}
	return nil
}

func checkFollowers(n int) error {
	if n < 1 || n > 1000 {
		return cli.BadFlag("followers", errors.New("must be 1 to 1000"))
	}
	return nil
}
