package cluster

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"

	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"duplex/core/journal"
)

// Recover and Detach read etcd's data in a process of their own: this program again, with a
// readerTask in the variable readerVariable. etcd exits or panics, on goroutines of its own, when it
// meets a damaged database or snapshot, and so does the database. The process writes the groups as
// frames of the log and then one beat, whose head is the next number of a node.

const readerVariable = "DX_ETCD_READER"

type readerTask struct {
	Dir       string   `json:"dir"` // has etcd's data in etcd/, which are changed
	Name      string   `json:"name"`
	ClusterID ID       `json:"cluster_id"`
	Base      uint64   `json:"base"`
	After     position `json:"after"` // of the last group that is known
}

// RunReader runs this process if it is a reader of etcd's data that Recover or Detach has started. The
// main function of a program that calls them must call it first, and exit with the code if is is true.
func RunReader() (code int, is bool) {
	text, is := os.LookupEnv(readerVariable)
	if !is {
		return 0, false
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := bufio.NewWriter(os.Stdout)
	if err := errors.Join(readEtcd(ctx, text, out), out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
		return slog.Attr{}
	}
	return a
}

// readerSaid is why a reader failed: what it wrote first, without what follows a panic.
func readerSaid(text string, waited error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return cmp.Or(line, fmt.Sprint(waited))
}

// readEtcd starts etcd on the data of a task, as a cluster of its own, and writes what comes after the
// position of the task.
func readEtcd(ctx context.Context, text string, out io.Writer) (err error) {
	var task readerTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		return err
	}
	last, err := task.After.journal()
	if err != nil {
		return err
	}
	host := fmt.Sprintf("127.%d.%d.%d:0", 1+rand.N(254), rand.N(255), 1+rand.N(254))
	o := Options{Dir: task.Dir, Name: task.Name, Members: []Address{{task.Name, host}}, PeerListen: "127.0.0.1:0", forceNew: true, MasterKeys: [][]byte{{}}}
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError, ReplaceAttr: withoutTime}))
	if err := o.complete(); err != nil {
		return err
	}
	c := &Cluster{opt: o, id: task.ClusterID, base: task.Base, logKey: logKey}
	c.ctx, c.cancel = context.WithCancel(ctx)
	defer c.cancel()
	if c.etcd, err = startEtcd(&c.opt); err != nil {
		return err
	}
	defer func() { closeEtcd(c.etcd) }()
	c.client = v3client.New(c.etcd.Server)
	defer func() { err = errors.Join(err, ignoreCanceled(c.client.Close())) }()
	var head uint64
	err = c.retry(ctx, "etcd does not lead yet", func(ctx context.Context) error {
		r, err := c.client.Get(ctx, logKey, clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		head = c.base
		if len(r.Kvs) > 0 {
			head = c.number(r.Kvs[0].Version)
		}
		cfg, err := c.client.Get(ctx, configKey)
		if err != nil {
			return err
		}
		if len(cfg.Kvs) == 0 {
			return finalError{errors.New("it has no configuration of a cluster")}
		}
		return c.takeConfig(cfg.Kvs[0])
	})
	if err != nil {
		return err
	}
	if head > last.Number {
		if err := c.writeGroups(ctx, last, head, out); err != nil {
			return err
		}
	}
	end := binary.LittleEndian.AppendUint64([]byte{frameBeat}, uint64(c.config.Load().NextNode))
	_, err = out.Write(append(end, make([]byte, beatBytes-8)...))
	return err
}

// writeGroups writes the groups after a position, up to a number.
func (c *Cluster) writeGroups(ctx context.Context, last journal.Position, upto uint64, out io.Writer) error {
	rev, err := c.revisionOf(ctx, last.Number+1)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var frame []byte
	for w := range c.client.Watch(ctx, logKey, clientv3.WithRev(rev), clientv3.WithFragment()) {
		if err := w.Err(); err != nil {
			return err
		}
		for _, ev := range w.Events {
			if ev.Type != mvccpb.Event_PUT {
				return errors.New("the log was deleted from etcd")
			}
			g, err := c.groupOf(ev.Kv, last)
			if err != nil {
				return err
			}
			if g == nil {
				continue
			}
			last = g.After()
			frame = journal.AppendRecord(append(frame[:0], frameGroup), g)
			if _, err := out.Write(frame); err != nil {
				return err
			}
			if last.Number == upto {
				return nil
			}
		}
	}
	return errors.Join(errors.New("etcd sends nothing more"), ctx.Err())
}
