package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"

	"duplex/core/engine"
)

// TestCheckMembers compares lists of --cluster with members that have changed since
// (docs/rules/operation.md#cluster).
func TestCheckMembers(t *testing.T) {
	c := &config{
		Members: []member{{Name: "a", Peer: "h1:7000"}, {Name: "b", Peer: "h2:7000"}, {Name: "d", Peer: "h4:7000"}},
		Former:  []member{{Name: "b", Peer: "h9:7000"}, {Name: "c", Peer: "h3:7000"}},
	}
	for list, of := range map[string]struct {
		missing []string
		refused bool
	}{
		"a=h1:7000,b=h2:7000,d=h4:7000":           {},
		"a=h1:7000,b=h2:7000,c=h3:7000":           {missing: []string{"d"}}, // of the start
		"a=h1:7000,b=h2:7000,c=h3:7000,d=h4:7000": {},
		"a=h1:7000":                     {missing: []string{"b", "d"}},
		"a=h1:7000,b=h9:7000,d=h4:7000": {refused: true}, // b is there, at another address
		"a=h1:7000,b=h2:7000,d=h5:7000": {refused: true},
		"a=h1:7000,c=h4:7001":           {refused: true}, // c was never there
		"a=h1:7000,b=h2:7000,e=h5:7000": {refused: true},
	} {
		addresses, err := ParseAddresses(list)
		if err != nil {
			t.Fatal(err)
		}
		missing, err := c.checkMembers(addresses)
		wrong := (*SettingError)(nil)
		if errors.As(err, &wrong) != of.refused || err == nil && !slices.Equal(missing, of.missing) {
			t.Errorf("%s: %v %v", list, missing, err)
		}
	}
}

// TestPendingChange checks after which errors of etcd a change may still be made, and which are refusals.
func TestPendingChange(t *testing.T) {
	for _, err := range []error{context.DeadlineExceeded, fmt.Errorf("it took long: %w", context.DeadlineExceeded), etcderrors.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrLeaderChanged, etcderrors.ErrNoLeader} {
		if got := refusedByEtcd(err); !errors.Is(got, engine.ErrPending) || errors.Is(got, engine.ErrRefused) {
			t.Errorf("%v: %v", err, got)
		}
	}
	for _, err := range []error{etcderrors.ErrLearnerNotReady, errors.New("anything else")} {
		if got := refusedByEtcd(err); !errors.Is(got, engine.ErrRefused) || errors.Is(got, engine.ErrPending) {
			t.Errorf("%v: %v", err, got)
		}
	}
	if err := refusedByEtcd(nil); err != nil {
		t.Error(err)
	}
	if err := refused("once"); refusedByEtcd(err) != err {
		t.Errorf("a refusal is refused again: %v", refusedByEtcd(err))
	}
}
