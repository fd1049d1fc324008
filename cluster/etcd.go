package cluster

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"duplex/core/journal"
)

// The keys in etcd.
const (
	logKey       = "log"           // its versions are the groups; tests use several
	configKey    = "config"        // the configuration of the cluster, as JSON
	configSumKey = "config.crc32c" // its CRC-32C in hex, of the same revision: etcd's database has no checksum of its values
)

// etcd's bounds, in bytes.
const (
	etcdQuota   = 2 << 30
	etcdRequest = 2 << 20
)

// startEtcd starts the etcd server of this member.
func startEtcd(o *Options) (*embed.Etcd, error) {
	dir := filepath.Join(o.Dir, "etcd")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = o.Name, dir
	if o.Cert != "" {
		cfg.PeerTLSInfo = transport.TLSInfo{
			CertFile: o.peerPair(), KeyFile: o.peerPair(), TrustedCAFile: o.CA, ClientCertAuth: true, AllowedCNs: []string{roleMember},
		}
		cfg.TlsMinVersion = "TLS1.3"
	}
	for _, a := range o.Members {
		if a.Name == o.Name {
			cfg.AdvertisePeerUrls = []url.URL{o.peerURL(a.Peer)}
		}
	}
	listen, err := listenAddress(o.PeerListen)
	if err != nil {
		return nil, err
	}
	cfg.ListenPeerUrls = []url.URL{o.peerURL(listen)}
	if cfg.ListenClientUrls, cfg.AdvertiseClientUrls, err = clientSocket(dir); err != nil {
		return nil, err
	}
	if len(cfg.ListenClientUrls) == 0 {
		o.Log.Warn("etcd's own tools cannot reach this member: the path of the data directory is too long for a socket", "data", o.Dir)
	}
	cfg.InitialCluster, cfg.InitialClusterToken = o.initialMembers(), o.initialToken()
	if o.Join {
		cfg.ClusterState = embed.ClusterStateFlagExisting
	}
	cfg.ForceNewCluster = o.forceNew
	// etcd's check counts a member without a vote as a voter that is down. With it, nothing could be
	// added beside a dead voter of three. mayChange checks what is unsafe.
	cfg.StrictReconfigCheck = false
	cfg.TickMs, cfg.ElectionMs = uint(o.Heartbeat/time.Millisecond), uint(o.Election/time.Millisecond)
	cfg.QuotaBackendBytes, cfg.MaxRequestBytes = cmp.Or(o.quota, etcdQuota), etcdRequest
	cfg.WarningApplyDuration, cfg.WarningUnaryRequestDuration = time.Second, time.Second
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(etcdLog{o}))
	var e *embed.Etcd
	err = whenFree(func() (err error) {
		e, err = startEmbedded(cfg)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", damageOfWAL(o.Dir, err))
	}
	for _, c := range cfg.ListenClientUrls {
		_ = os.Chmod(c.Path, 0o600) // the folder is 0700 already
	}
	return e, nil
}

// startEmbedded starts etcd. A panic of its start is an error: a *journal.Damage, because etcd panics there when it
// finds what it would not have written.
func startEmbedded(cfg *embed.Config) (e *embed.Etcd, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &journal.Damage{File: filepath.Join(cfg.Dir, "member"), Err: fmt.Errorf("etcd cannot read it: %v: %s", p, replaceMember)}
		}
	}()
	return embed.StartEtcd(cfg)
}

func (o *Options) peerURL(hostPort string) url.URL {
	if o.Cert != "" {
		return url.URL{Scheme: "https", Host: hostPort}
	}
	return url.URL{Scheme: "http", Host: hostPort}
}

// initialMembers and initialToken are what etcd derives the id of a cluster that forms from. The master
// key is part of the token, so that a member with another one is of another cluster for etcd too. While
// the key is replaced, a member has two, and the last one is that of the cluster.
func (o *Options) initialMembers() string {
	var list []string
	members := o.Members
	if o.initial != nil {
		members = o.initial
	}
	for _, a := range members {
		u := o.peerURL(a.Peer)
		list = append(list, a.Name+"="+u.String())
	}
	return strings.Join(list, ",")
}

func (o *Options) initialToken() string {
	return "duplex" + o.token + fingerprint(o.MasterKeys[len(o.MasterKeys)-1], ID{})
}

// clusterHeader has the id of etcd's cluster in each answer of the peer port.
const clusterHeader = "X-Etcd-Cluster-ID"

// formingID is the id of etcd's cluster if this member forms it.
func (o *Options) formingID() (string, error) {
	urls, err := types.NewURLsMap(o.initialMembers())
	if err != nil {
		return "", err
	}
	c, err := membership.NewClusterFromURLsMap(zap.NewNop(), o.initialToken(), urls)
	if err != nil {
		return "", err
	}
	return c.ID().String(), nil
}

// closeEtcd stops etcd. Its own Close hangs while the server is not ready, which takes a majority.
func closeEtcd(e *embed.Etcd) {
	select {
	case <-e.Server.ReadyNotify():
	default:
		e.Server.Stop()
	}
	e.Close()
}

// listenAddress is a listen address whose host is an IP address: etcd resolves no names.
func listenAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	switch {
	case host == "":
		host = "0.0.0.0"
	case net.ParseIP(host) == nil:
		ip, err := net.ResolveIPAddr("ip", host)
		if err != nil {
			return "", err
		}
		host = ip.String()
	}
	return net.JoinHostPort(host, port), nil
}

// socketPathMax is the longest path of a socket, in bytes, that every system allows.
const socketPathMax = 100

// clientSocket is the address of etcd's client listener: a socket that only this user can open, for
// etcd's own tools. A path that is too long for a socket is not listened on. It is advertised even
// then, because that is how the members know who has taken part in the cluster: one that returns
// without its data is refused.
func clientSocket(dir string) (listen, advertise []url.URL, err error) {
	path, err := filepath.Abs(filepath.Join(dir, "client.sock"))
	if err != nil {
		return nil, nil, err
	}
	advertise = []url.URL{{Scheme: "unix", Path: path}}
	if len(path) <= socketPathMax {
		listen = advertise
	}
	return listen, advertise, nil
}

// etcdLog writes etcd's errors to the log of the venue. Its warnings are of no use to an operator of
// a venue, which has metrics of its own.
type etcdLog struct{ o *Options }

func (l etcdLog) Enabled(level zapcore.Level) bool  { return level >= zapcore.ErrorLevel }
func (l etcdLog) With([]zapcore.Field) zapcore.Core { return l }
func (l etcdLog) Sync() error                       { return nil }
func (l etcdLog) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if l.Enabled(e.Level) {
		return c.AddCore(e, l)
	}
	return c
}

// harmless are errors of etcd that mean nothing: at a stop its listeners are closed, the storage
// version of a new member cannot be set before the member has data, and a change of the members that
// etcd refuses is answered to the operator.
var harmless = []string{"setting up serving", "failed to update storage version", "Validation on configuration change"}

func (l etcdLog) Write(e zapcore.Entry, fields []zapcore.Field) error {
	if slices.ContainsFunc(harmless, func(text string) bool { return strings.Contains(e.Message, text) }) {
		return nil
	}
	enc := zapcore.NewMapObjectEncoder()
	var why error
	for _, f := range fields {
		if f.AddTo(enc); f.Type == zapcore.ErrorType {
			why, _ = f.Interface.(error)
		}
	}
	if err := damageOfMessage(l.o.Dir, e.Message, why); err != nil && l.o.OnDamage != nil {
		l.o.OnDamage(err)
	}
	args := []any{"part", "etcd"}
	for k, v := range enc.Fields {
		args = append(args, k, v)
	}
	l.o.Log.Log(context.Background(), slog.LevelError, e.Message, args...)
	if e.Level > zapcore.ErrorLevel && l.o.OnFatal != nil {
		l.o.OnFatal()
	}
	return nil
}
