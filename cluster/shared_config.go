package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"duplex/internal/backoff"
)

// The configuration that all members share is one key of etcd. It is changed by a transaction on its
// revision, and each member follows its changes.

// loadConfig reads the configuration from etcd, and writes it first if the cluster forms.
func (c *Cluster) loadConfig(ctx context.Context) error {
	r, err := c.read(ctx, configKey)
	if err != nil {
		return err
	}
	if len(r.Kvs) == 0 {
		begin := &identity{Node: 1}
		if c.identity != nil {
			begin = c.identity
		}
		if c.opt.Join || c.identity != nil && !begin.Forming {
			return errors.New("the configuration has not arrived")
		}
		b, err := json.Marshal(newConfig(c.opt.Members, begin.Base, begin.Node, c.opt.Settings, c.opt.MasterKeys[len(c.opt.MasterKeys)-1]))
		if err != nil {
			return finalError{err}
		}
		if _, err := c.client.Txn(ctx).If(clientv3.Compare(clientv3.Version(configKey), "=", 0)).Then(putConfig(b)...).Commit(); err != nil {
			return err
		}
		return errors.New("the configuration is written")
	}
	return c.takeConfig(r.Kvs[0])
}

// putConfig are the writes of a configuration.
func putConfig(text []byte) []clientv3.Op {
	return []clientv3.Op{clientv3.OpPut(configKey, string(text)), clientv3.OpPut(configSumKey, configSum(text))}
}

// read reads a key of etcd as a majority has it now. A learner may only read what it has itself, so it
// waits first until that is as new.
func (c *Cluster) read(ctx context.Context, key string, o ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if c.etcd.Server.IsLearner() {
		if err := c.etcd.Server.LinearizableReadNotify(ctx); err != nil {
			return nil, err
		}
		o = append(o, clientv3.WithSerializable())
	}
	return c.client.Get(ctx, key, o...)
}

// takeConfig takes the configuration that etcd has, unless a newer one is known already.
func (c *Cluster) takeConfig(kv *mvccpb.KeyValue) error {
	cfg := &config{revision: kv.ModRevision}
	if err := json.Unmarshal(kv.Value, cfg); err != nil {
		return finalError{fmt.Errorf("the configuration of the cluster: %w", err)}
	}
	if cfg.Format != configFormat {
		return finalError{fmt.Errorf("the configuration of the cluster has format %d, this version of dx reads %d", cfg.Format, configFormat)}
	}
	if cfg.find(c.opt.Name) == nil {
		return finalError{&SettingError{"--node", c.opt.Name, "one of " + cfg.names()}}
	}
	c.storeConfig(cfg)
	return nil
}

// storeConfig makes a configuration the known one, unless a newer one is known.
func (c *Cluster) storeConfig(cfg *config) {
	for {
		was := c.config.Load()
		if was != nil && was.revision >= cfg.revision || c.config.CompareAndSwap(was, cfg) {
			return
		}
	}
}

func (c *config) names() string {
	var names []string
	for _, m := range c.Members {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// changeConfig changes the configuration, unless another member changes it at the same time.
func (c *Cluster) changeConfig(ctx context.Context, change func(*config) error) error {
	r, err := c.read(ctx, configKey)
	if err != nil {
		return err
	}
	if len(r.Kvs) == 0 {
		return errors.New("the configuration is missing")
	}
	cfg := &config{}
	if err := json.Unmarshal(r.Kvs[0].Value, cfg); err != nil {
		return finalError{err}
	}
	if err := change(cfg); err != nil {
		return finalError{err}
	}
	b, err := json.Marshal(cfg)
	if err != nil {
		return finalError{err}
	}
	t, err := c.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(configKey), "=", r.Kvs[0].ModRevision)).Then(putConfig(b)...).Commit()
	if err != nil {
		return err
	}
	if !t.Succeeded {
		return refused("another change of the configuration was made at the same time: repeat this one if it is still needed")
	}
	cfg.revision = t.Header.Revision
	c.storeConfig(cfg)
	return nil
}

// watchConfig follows the configuration.
func (c *Cluster) watchConfig() {
	for c.ctx.Err() == nil {
		if err := c.followConfig(); err != nil && c.ctx.Err() == nil {
			c.opt.Log.Warn("the configuration of the cluster is not followed for a moment", "err", err)
		}
		backoff.Sleep(c.ctx, retryAfter)
	}
}

// followConfig reads the configuration and takes each change after it, until the watch ends. It reads
// first, because another member may have changed it since this one has read it last.
func (c *Cluster) followConfig() error {
	r, err := c.read(c.ctx, configKey)
	if err != nil {
		return err
	}
	for _, kv := range r.Kvs {
		if err := c.takeConfig(kv); err != nil {
			return err
		}
	}
	for w := range c.client.Watch(c.ctx, configKey, clientv3.WithRev(r.Header.Revision+1)) {
		for _, ev := range w.Events {
			if err := c.takeConfig(ev.Kv); err != nil {
				c.opt.Log.Warn("the configuration of the cluster has changed", "err", err)
			}
		}
		if err := w.Err(); err != nil {
			return err
		}
	}
	return nil
}
