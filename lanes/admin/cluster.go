package admin

import (
	"context"
	"errors"
	"net/http"

	"duplex/core/engine"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// Cluster changes the members of a cluster; *cluster.Cluster is one. A change that is not safe now is
// engine.ErrRefused, and one that outlasts its time engine.ErrPending.
type Cluster interface {
	Overview() schemas.ClusterStatus
	Add(ctx context.Context, name, peer string) error // engine.ErrAddress if they are no name and address
	Remove(ctx context.Context, name string, loseHistory bool) error
	Promote(ctx context.Context, name string) error
	MoveLeader(ctx context.Context, name string) error
	Defrag(ctx context.Context) ([]schemas.Defragmented, error)
}

// The members of a cluster (docs/rules/operation.md#cluster). A single machine has none, which is
// invalid_transition.

func (l *lane) clusterStatus(context.Context, *gate.Call, *schemas.None) (schemas.ClusterStatus, error) {
	if l.Cluster == nil {
		return schemas.ClusterStatus{}, refused("a single machine has no members")
	}
	return l.Cluster.Overview(), nil
}

func (l *lane) addMember(ctx context.Context, c *gate.Call, in *schemas.AddMember) (int, any, error) {
	return l.changeMembers(ctx, 201, c, in.Name, in.Reason, func(ctx context.Context) error { return l.Cluster.Add(ctx, in.Name, in.Peer) })
}

func (l *lane) removeMember(ctx context.Context, c *gate.Call, in *schemas.RemoveMember) (int, any, error) {
	return l.changeMembers(ctx, 200, c, in.Name, in.Reason, func(ctx context.Context) error { return l.Cluster.Remove(ctx, in.Name, in.LoseHistory) })
}

func (l *lane) promoteMember(ctx context.Context, c *gate.Call, in *schemas.MemberPath) (int, any, error) {
	return l.changeMembers(ctx, 200, c, in.Name, in.Reason, func(ctx context.Context) error { return l.Cluster.Promote(ctx, in.Name) })
}

func (l *lane) moveLeader(ctx context.Context, c *gate.Call, in *schemas.MoveLeader) (int, any, error) {
	return l.changeMembers(ctx, 200, c, in.Name, in.Reason, func(ctx context.Context) error { return l.Cluster.MoveLeader(ctx, in.Name) })
}

func (l *lane) defrag(ctx context.Context, c *gate.Call, in *schemas.AuditReason) (out schemas.DefragResult, err error) {
	err = l.changeCluster(ctx, c, "", in.Reason, func(ctx context.Context) (err error) {
		out.Members, err = l.Cluster.Defrag(ctx)
		return err
	})
	return out, err
}

// changeMembers changes the members, and returns them with a status. A change that outlasts its time is
// pending, with 202.
func (l *lane) changeMembers(ctx context.Context, status int, c *gate.Call, member, reason string, change func(context.Context) error) (int, any, error) {
	err := l.changeCluster(ctx, c, member, reason, change)
	if errors.Is(err, engine.ErrPending) {
		return http.StatusAccepted, schemas.PendingChange{Status: "pending"}, nil
	}
	if err != nil {
		return 0, nil, err
	}
	return status, l.Cluster.Overview(), nil
}

// changeCluster changes the cluster. The log names the member, because the journal does not have the action;
// "" is all of them. The limits of the change apply in place of that of a request, and it goes on if nobody
// waits for it. One that is not safe now is invalid_transition, and its details say why.
func (l *lane) changeCluster(ctx context.Context, c *gate.Call, member, reason string, change func(context.Context) error) error {
	if l.Cluster == nil {
		return refused("a single machine has no members")
	}
	err := change(context.WithoutCancel(ctx))
	switch {
	case errors.Is(err, engine.ErrRefused):
		err = refused(err.Error())
	case errors.Is(err, engine.ErrAddress):
		err = tools.NewError("schema_violation")
	}
	l.logAction(c, 0, reason, err, "member", member)
	return err
}

// refused is invalid_transition with a reason for the operator.
func refused(why string) error {
	wire := schemas.ErrorOf("invalid_transition")
	wire.Details = &schemas.Details{"reason": why}
	return tools.Error{Wire: wire}
}
