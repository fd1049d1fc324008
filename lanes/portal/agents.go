package portal

import (
	"context"
	"net/http"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// registerAgents registers the routes of an owner about its agents
// (docs/rules/agent-accounts.md#owners-routes).
func (l *lane) registerAgents(m *gate.Routes) {
	register(l, m, "create_agent", "POST /agents", http.StatusCreated, l.createAgent)
	register(l, m, "list_agents", "GET /agents", http.StatusOK, l.listAgents)
	register(l, m, "get_mandate", "GET /agents/{agent_id}/mandate", http.StatusOK, l.getMandate)
	register(l, m, "set_mandate", "PUT /agents/{agent_id}/mandate", http.StatusOK, l.setMandate)
	register(l, m, "fund_agent", "POST /agents/{agent_id}/fund", http.StatusOK, l.fundAgent)
	register(l, m, "return_funds", "POST /agents/{agent_id}/return", http.StatusOK, l.returnFunds)
	register(l, m, "halt_agent", "POST /agents/{agent_id}/halt", http.StatusOK, l.changeState(func(u, agent core.UserID) core.Command {
		return &core.HaltAgent{Owner: u, Agent: agent, Audit: accountAudit("halted")}
	}))
	register(l, m, "resume_agent", "POST /agents/{agent_id}/resume", http.StatusOK, l.changeState(func(u, agent core.UserID) core.Command {
		return &core.ResumeAgent{Owner: u, Agent: agent, Audit: accountAudit("resumed")}
	}))
	register(l, m, "close_agent", "POST /agents/{agent_id}/close", http.StatusOK, l.changeState(func(u, agent core.UserID) core.Command {
		return &core.CloseAgent{Owner: u, Agent: agent, Audit: accountAudit("closed")}
	}))
	register(l, m, "create_agent_key", "POST /agents/{agent_id}/keys", http.StatusCreated, l.createAgentKey)
	register(l, m, "list_agent_keys", "GET /agents/{agent_id}/keys", http.StatusOK, l.listAgentKeys)
	register(l, m, "revoke_agent_key", "DELETE /agents/{agent_id}/keys/{api_key}", http.StatusOK, l.revokeAgentKey)
	l.registerApprovals(m)
	register(l, m, "list_activity", "GET /agents/{agent_id}/activity", http.StatusOK, l.listActivity)
}

// submit runs a command and returns its rejection as an error.
func (l *lane) submit(ctx context.Context, cmd core.Command) (engine.Receipt, error) {
	return tools.Accepted(l.Venue.Engine.Submit(ctx, cmd))
}

// readAgent calls f with an owner's agent. It returns unknown_agent if the account is not an agent of
// this owner, whether or not it exists.
func (l *lane) readAgent(owner core.UserID, path schemas.AgentPath, f func(v *venue.Venue, w *view.View, agent core.User)) (err error) {
	l.Venue.Engine.Read(func(v *venue.Venue, w *view.View) {
		agent, ok := v.Agent(owner, core.UserID(path.AgentID))
		if !ok {
			err = core.UnknownAgent
			return
		}
		f(v, w, agent)
	})
	return err
}

func (l *lane) createAgent(ctx context.Context, u core.UserID, in *schemas.CreateAgent) (out schemas.AgentCreated, err error) {
	mandate, fault := schemas.DecodeMandate(in.Mandate)
	if fault != nil {
		return out, fault
	}
	return l.newAgent(ctx, u, in.Name, in.Fund, mandate)
}

func (l *lane) newAgent(ctx context.Context, u core.UserID, name string, fund schemas.U64, mandate core.Mandate) (out schemas.AgentCreated, err error) {
	r, err := l.submit(ctx, &core.CreateAgent{Owner: u, Name: name, Fund: core.Pips(fund.Int64()), Mandate: mandate, Audit: accountAudit("created")})
	if err != nil {
		return out, err
	}
	for _, e := range r.Events {
		if e, ok := e.(*core.UserChanged); ok {
			return schemas.AgentCreated{UserID: uint32(e.User.ID), Rev: e.User.Agent.Rev, Seq: schemas.U64(r.Stamp.Seq)}, nil
		}
	}
	panic(core.InvariantViolation{Detail: "a new agent without an event"})
}

func (l *lane) listAgents(_ context.Context, u core.UserID, in *schemas.ListAgents) (schemas.AgentList, error) {
	return tools.AgentsOf(l.Venue, u, in)
}

func (l *lane) getMandate(_ context.Context, u core.UserID, in *schemas.AgentPath) (out schemas.AgentMandate, err error) {
	err = l.readAgent(u, *in, func(_ *venue.Venue, _ *view.View, agent core.User) {
		out = schemas.AgentMandate{Rev: agent.Agent.Rev, Mandate: schemas.MandateOf(&agent.Agent.Mandate)}
	})
	return out, err
}

func (l *lane) setMandate(ctx context.Context, u core.UserID, in *schemas.SetMandate) (out schemas.AgentCreated, err error) {
	mandate, fault := schemas.DecodeMandate(in.Mandate)
	if fault != nil {
		return out, fault
	}
	if in.Mandate.Kind() == 'n' { // only a new agent can do without a mandate
		return out, &schemas.Fault{Code: "schema_violation", Field: "mandate", Got: "null", Limit: "an object"}
	}
	r, err := l.submit(ctx, &core.SetMandate{Owner: u, Agent: core.UserID(in.AgentID), IfRev: uint32(in.IfRev), Mandate: mandate, Audit: accountAudit("mandate set")})
	return schemas.AgentCreated{UserID: uint32(in.AgentID), Rev: uint32(in.IfRev) + 1, Seq: schemas.U64(r.Stamp.Seq)}, err
}

func (l *lane) fundAgent(ctx context.Context, u core.UserID, in *schemas.Transfer) (schemas.Transferred, error) {
	return l.transfer(ctx, &core.Transfer{Owner: u, From: u, To: core.UserID(in.AgentID)}, in)
}

func (l *lane) returnFunds(ctx context.Context, u core.UserID, in *schemas.Transfer) (schemas.Transferred, error) {
	return l.transfer(ctx, &core.Transfer{Owner: u, From: core.UserID(in.AgentID), To: u}, in)
}

// transfer runs a transfer. A repeat returns the first one.
func (l *lane) transfer(ctx context.Context, c *core.Transfer, in *schemas.Transfer) (out schemas.Transferred, err error) {
	c.ClientID, c.Amount, c.Audit = in.ClientTransferID, core.Pips(in.Amount.Int64()), accountAudit("transfer")
	r, err := l.submit(ctx, c)
	if err != nil {
		return out, err
	}
	for _, e := range r.Events {
		if e, ok := e.(*core.Transferred); ok && e.ClientID == c.ClientID {
			return tools.TransferOf(e), nil
		}
	}
	panic(core.InvariantViolation{Detail: "a transfer without an event"})
}

// changeState returns a handler that runs a command and returns the agent's state, which may include
// later commands.
func (l *lane) changeState(command func(owner, agent core.UserID) core.Command) func(context.Context, core.UserID, *schemas.AgentPath) (schemas.AgentState, error) {
	return func(ctx context.Context, u core.UserID, in *schemas.AgentPath) (out schemas.AgentState, err error) {
		r, err := l.submit(ctx, command(u, core.UserID(in.AgentID)))
		if err != nil {
			return out, err
		}
		err = l.readAgent(u, *in, func(v *venue.Venue, _ *view.View, agent core.User) {
			out = schemas.AgentState{UserID: uint32(agent.ID), State: v.State(agent.ID).String(), Seq: schemas.U64(r.Stamp.Seq)}
		})
		return out, err
	}
}

// createAgentKey creates a key of an agent. Its family shares one limit of new keys.
func (l *lane) createAgentKey(ctx context.Context, u core.UserID, in *schemas.CreateAgentKey) (out schemas.NewKey, err error) {
	if err := l.readAgent(u, in.AgentPath, func(*venue.Venue, *view.View, core.User) {}); err != nil {
		return out, err
	}
	return l.issueKey(ctx, u, core.UserID(in.AgentID), &in.CreateKey)
}

func (l *lane) listAgentKeys(ctx context.Context, u core.UserID, in *schemas.AgentPath) (out schemas.KeyList, err error) {
	if err := l.readAgent(u, *in, func(*venue.Venue, *view.View, core.User) {}); err != nil {
		return out, err
	}
	return l.listKeys(ctx, core.UserID(in.AgentID), nil)
}

func (l *lane) revokeAgentKey(ctx context.Context, u core.UserID, in *schemas.RevokeAgentKey) (out schemas.Revoked, err error) {
	if err := l.readAgent(u, in.AgentPath, func(*venue.Venue, *view.View, core.User) {}); err != nil {
		return out, err
	}
	return l.revokeKey(ctx, core.UserID(in.AgentID), &in.RevokeKey)
}

func (l *lane) listActivity(_ context.Context, u core.UserID, in *schemas.ListActivity) (out schemas.ActivityList, err error) {
	if err := l.readAgent(u, in.AgentPath, func(*venue.Venue, *view.View, core.User) {}); err != nil {
		return out, err
	}
	return tools.ActivityListOf(l.Venue, core.UserID(in.AgentID), in)
}
