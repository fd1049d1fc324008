package schemas

import "github.com/go-json-experiment/json"

// Waiting is the answer of a placement that waits for the owner of the agent (docs/rules/agent-accounts.md#approvals).
type Waiting struct {
	Status        string `json:"status" enum:"waiting"`
	ApprovalID    U64    `json:"approval_id" pattern:"^[0-9]+$"`
	ClientOrderID U64    `json:"client_order_id" pattern:"^[0-9]+$"`
	Cost          U64    `json:"cost" pattern:"^[0-9]+$" doc:"Most that it can cost, pips; nothing is reserved"`
	ExpiresTs     U64    `json:"expires_ts" pattern:"^[0-9]+$" doc:"ns"`
	ApproveURL    string `json:"approve_url" doc:"Where the owner decides"`
	Seq           U64    `json:"seq" pattern:"^[0-9]+$"`
}

// Placed is the result of a placement: the outcome of the order, or that it waits. Of an order that waits, Outcome has
// what Waiting has too, and nothing else.
type Placed struct {
	Outcome
	Waiting *Waiting
}

// Append appends the JSON of the member that is set to dst.
func (p *Placed) Append(dst []byte) []byte {
	if p.Waiting == nil {
		return p.Outcome.Append(dst)
	}
	dst, _ = Append(dst, p.Waiting) // its text is the venue's own address
	return dst
}

// MarshalJSON encodes the member that is set.
func (p *Placed) MarshalJSON() ([]byte, error) { return p.Append(nil), nil }

// UnmarshalJSON decodes the member that is sent. An order that waits has an approval_id.
func (p *Placed) UnmarshalJSON(raw []byte) error {
	var w Waiting
	if err := json.Unmarshal(raw, &w); err != nil {
		return err
	}
	if *p = (Placed{}); w.ApprovalID == 0 {
		return json.Unmarshal(raw, &p.Outcome)
	}
	p.Await(&w)
	return nil
}

// Await sets what a placement that waits has.
func (p *Placed) Await(w *Waiting) {
	p.Waiting, p.Outcome = w, Outcome{Status: w.Status, ClientOrderID: w.ClientOrderID, Seq: w.Seq}
}

// HTTPStatus is the status of the answer, 0 for that of the route.
func (p *Placed) HTTPStatus() int {
	if p.Waiting != nil {
		return 202
	}
	return 0
}

// AgentApproval is an order of an agent that waits for its owner or has ended waiting
// (docs/rules/agent-accounts.md#approvals).
type AgentApproval struct {
	ApprovalID    U64    `json:"approval_id" pattern:"^[0-9]+$"`
	UserID        uint32 `json:"user_id" doc:"The agent"`
	Agent         string `json:"agent" doc:"Its name"`
	Status        string `json:"status" enum:"waiting,placed,refused,rejected,expired,canceled"`
	Reason        string `json:"reason" doc:"Of refused the code, of canceled the reason; else empty"`
	ClientOrderID U64    `json:"client_order_id" pattern:"^[0-9]+$"`
	MarketID      uint32 `json:"market_id"`
	Generation    uint32 `json:"generation"`
	RoundNumber   U64    `json:"round_number" pattern:"^[0-9]+$"`
	Category      uint16 `json:"category"`
	Side          string `json:"side" enum:"buy,sell"`
	Outcome       string `json:"outcome" enum:"yes,no"`
	Type          string `json:"type" enum:"limit,market"`
	Tick          int64  `json:"tick" doc:"Pips in the order's own outcome; a market order's worst_tick"`
	Qty           int64  `json:"qty"`
	TIF           string `json:"tif" enum:"gtc,gtt,ioc,fok"`
	MaxCost       U64    `json:"max_cost" pattern:"^[0-9]+$" doc:"Pips; 0 when unset"`
	GroupID       uint32 `json:"group_id"`
	Flags         uint8  `json:"flags" doc:"As of orders"`
	Cost          U64    `json:"cost" pattern:"^[0-9]+$" doc:"Most that it can cost, pips"`
	OpenCost      U64    `json:"open_cost" pattern:"^[0-9]+$" doc:"What was at stake in the round, pips"`
	CreatedTs     U64    `json:"created_ts" pattern:"^[0-9]+$" doc:"ns"`
	ExpiresTs     U64    `json:"expires_ts" pattern:"^[0-9]+$" doc:"ns"`
	DecidedTs     U64    `json:"decided_ts" pattern:"^[0-9]+$" doc:"ns; 0 while it waits"`
	OrderID       *U64   `json:"order_id" pattern:"^[0-9]+$" doc:"Null unless placed"`
}

// ListAgentApprovals is the query of `GET /v1/portfolio/approvals` and of `GET /approvals`.
type ListAgentApprovals struct {
	Status string `json:"status,omitempty" in:"query" list:"waiting,placed,refused,rejected,expired,canceled" doc:"waiting, placed, refused, rejected, expired, canceled"`
	Page
	MinSeqQuery
}

// AgentApprovalList is a page of approvals, the newest first.
type AgentApprovalList struct {
	Approvals []AgentApproval `json:"approvals" nullable:"false"`
	PageEnd
}

// AgentApprovalPath names the approval of a route.
type AgentApprovalPath struct {
	ApprovalID U64 `json:"approval_id" in:"path" fault:"unknown_approval" pattern:"^[0-9]+$"`
}

// AgentApprovalRead is one approval with its as_of_seq.
type AgentApprovalRead struct {
	AgentApproval
	AsOf
}

// AgentApprovalDecided is the response of `POST /approvals/{approval_id}/approve` and `/reject`. Order is what became of
// an order that this request placed.
type AgentApprovalDecided struct {
	Approval AgentApproval `json:"approval"`
	Order    *Outcome      `json:"order,omitempty"`
	Seq      U64           `json:"seq" pattern:"^[0-9]+$"`
}

// ApprovalEvent is an approval of an agent after a change. Its owner gets it too.
type ApprovalEvent struct {
	EventHead
	Approval AgentApproval `json:"approval"`
}
