package portal

import (
	"context"
	"net/http"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// registerApprovals registers the routes by which an owner decides what its agents ask
// (docs/rules/agent-accounts.md#approvals). The account token alone opens them.
func (l *lane) registerApprovals(m *gate.Routes) {
	register(l, m, "list_approvals", "GET /approvals", http.StatusOK, l.listApprovals)
	register(l, m, "get_approval", "GET /approvals/{approval_id}", http.StatusOK, l.getApproval)
	register(l, m, "approve_order", "POST /approvals/{approval_id}/approve", http.StatusOK, l.decide(true))
	register(l, m, "reject_order", "POST /approvals/{approval_id}/reject", http.StatusOK, l.decide(false))
}

func (l *lane) listApprovals(_ context.Context, u core.UserID, in *schemas.ListAgentApprovals) (schemas.AgentApprovalList, error) {
	return tools.ApprovalsOfOwner(l.Venue, u, in)
}

func (l *lane) getApproval(_ context.Context, u core.UserID, in *schemas.AgentApprovalPath) (schemas.AgentApprovalRead, error) {
	return tools.FindApproval(l.Venue, u, uint64(in.ApprovalID))
}

func (l *lane) decide(approve bool) func(context.Context, core.UserID, *schemas.AgentApprovalPath) (schemas.AgentApprovalDecided, error) {
	return func(ctx context.Context, u core.UserID, in *schemas.AgentApprovalPath) (schemas.AgentApprovalDecided, error) {
		return tools.DecideApproval(ctx, l.Venue, u, uint64(in.ApprovalID), approve)
	}
}
