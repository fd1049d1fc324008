package admin

import (
	"context"
	"errors"

	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/server/cluster"
	"duplex/tools"
)

// The members of a cluster (docs/rules/operation.md#cluster). A single machine has none, which is
// invalid_transition.

func (l *lane) clusterStatus(context.Context, *gate.Call, *schemas.None) (schemas.ClusterStatus, error) {
	if l.Cluster == nil {
		return schemas.ClusterStatus{}, refused("a single machine has no members")
	}
	return l.Cluster.Overview(), nil
}

func (l *lane) addMember(ctx context.Context, _ *gate.Call, in *schemas.AddMember) (schemas.ClusterStatus, error) {
	return l.changeMembers("member added", in.Name, func() error {
		list, err := cluster.ParseAddresses(in.Name + "=" + in.Peer)
		if err != nil || len(list) != 1 {
			return tools.NewError("invalid_value")
		}
		return l.Cluster.Add(ctx, list[0])
	})
}

func (l *lane) removeMember(ctx context.Context, _ *gate.Call, in *schemas.MemberPath) (schemas.ClusterStatus, error) {
	return l.changeMembers("member removed", in.Name, func() error { return l.Cluster.Remove(ctx, in.Name) })
}

func (l *lane) promoteMember(ctx context.Context, _ *gate.Call, in *schemas.MemberPath) (schemas.ClusterStatus, error) {
	return l.changeMembers("member has a vote", in.Name, func() error { return l.Cluster.Promote(ctx, in.Name) })
}

func (l *lane) moveLeader(ctx context.Context, _ *gate.Call, in *schemas.MoveLeader) (schemas.ClusterStatus, error) {
	return l.changeMembers("lead moved", in.Name, func() error { return l.Cluster.MoveLeader(ctx, in.Name) })
}

func (l *lane) defrag(ctx context.Context, _ *gate.Call, _ *schemas.None) (out schemas.DefragResult, err error) {
	if l.Cluster == nil {
		return out, refused("a single machine has no members")
	}
	out.Members, err = l.Cluster.Defrag(ctx)
	return out, err
}

// changeMembers changes the members and returns them. A change that is not safe now is
// invalid_transition, and its details say why.
func (l *lane) changeMembers(what, name string, change func() error) (out schemas.ClusterStatus, err error) {
	if l.Cluster == nil {
		return out, refused("a single machine has no members")
	}
	err = change()
	if errors.Is(err, cluster.ErrRefused) {
		return out, refused(err.Error())
	}
	if err != nil {
		return out, err
	}
	l.Log.Info("the cluster has changed: "+what, "member", name)
	return l.Cluster.Overview(), nil
}

// refused is invalid_transition with a reason for the operator.
func refused(why string) error {
	wire := schemas.ErrorOf("invalid_transition")
	wire.Details = &schemas.Details{"reason": why}
	return tools.Error{Wire: wire}
}
