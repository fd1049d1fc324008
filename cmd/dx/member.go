package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"duplex/cluster"
	"duplex/cmd/dx/cli"
	"duplex/core/engine"
	"duplex/internal/address"
	"duplex/server"
)

// clusterFlags make the venue a member of a cluster (docs/rules/operation.md#cluster).
type clusterFlags struct {
	Node            string        `help:"Name of this member of a cluster; without it the venue runs on a single machine." placeholder:"NAME"`
	Cluster         string        `help:"All members with the addresses of their peer ports: a=H1:7000,b=H2:7000,c=H3:7000." placeholder:"LIST"`
	Peer            string        `help:"Where to listen for the other members." default:":7000"`
	Follow          string        `help:"Where to listen for members and followers that read the log." default:":7001"`
	Followers       int           `help:"Most followers that this member feeds." default:"16"`
	FollowAdvertise string        `help:"How other nodes reach --follow; default: the host of this member's peer address." placeholder:"HOST:PORT"`
	ClusterCert     string        `help:"Certificate (PEM) of this node, see dx cluster certs; required unless every address is on loopback." placeholder:"FILE" type:"path"`
	ClusterKey      string        `help:"Private key (PEM) of --cluster-cert." placeholder:"FILE" type:"path"`
	ClusterCA       string        `name:"cluster-ca" help:"Certificate (PEM) of the cluster's authority." placeholder:"FILE" type:"path"`
	Join            bool          `help:"The cluster exists and this member is new in it: its data directory is empty."`
	Heartbeat       time.Duration `help:"Time between two heartbeats of the leader; a tenth of --election or less is usual." default:"50ms"`
	Election        time.Duration `help:"Time without a leader after which another one is elected; at least 5 heartbeats." default:"300ms"`
	MaxClockOffset  time.Duration `help:"How far the clock of a member may be from the median of the members'." default:"250ms"`
	StaleAfter      time.Duration `help:"How long a member serves reads after its last contact with a leader." default:"3s"`
}

// to sets the options of a member, unless the venue is a single machine.
func (f *clusterFlags) to(o *server.Options) error {
	if f.Node == "" && f.Cluster == "" {
		if f.Join {
			return cli.BadFlag("join", errors.New("goes with --node and --cluster"))
		}
		return nil
	}
	if f.Node == "" || f.Cluster == "" {
		return cli.BadFlag("node", errors.New("--node and --cluster go together"))
	}
	members, err := cluster.ParseAddresses(f.Cluster)
	if err != nil {
		return cli.BadFlag("cluster", err)
	}
	for flag, at := range map[string]string{"peer": f.Peer, "follow": f.Follow} {
		if err := address.CheckListen(at); err != nil {
			return cli.BadFlag(flag, err)
		}
	}
	if f.FollowAdvertise != "" {
		if err := address.CheckDial(f.FollowAdvertise); err != nil {
			return cli.BadFlag("follow-advertise", err)
		}
	}
	if f.MaxClockOffset < time.Millisecond || f.MaxClockOffset > time.Minute {
		return cli.BadFlag("max-clock-offset", errors.New("must be 1ms to 1m"))
	}
	if err := checkStaleAfter(f.StaleAfter); err != nil {
		return err
	}
	if err := checkFollowers(f.Followers); err != nil {
		return err
	}
	o.Cluster = &cluster.Options{
		Name: f.Node, Members: members, Join: f.Join, PeerListen: f.Peer, FollowListen: f.Follow, FollowAdvertise: f.FollowAdvertise, Followers: f.Followers,
		Cert: f.ClusterCert, Key: f.ClusterKey, CA: f.ClusterCA, Heartbeat: f.Heartbeat, Election: f.Election, OnDamage: endDamaged,
	}
	o.MaxClockOffset, o.StaleAfter = f.MaxClockOffset, f.StaleAfter
	return nil
}

// endDamaged ends the process as damaged, before etcd ends it with another code.
func endDamaged(err error) {
	fmt.Fprintln(os.Stderr, "dx:", err)
	os.Exit(exitCode(engine.ErrDamaged))
}
