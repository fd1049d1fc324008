package schemas

// ClusterStatus is the result of `GET /admin/cluster`: the members as the one that was asked sees
// them (docs/rules/operation.md#cluster).
type ClusterStatus struct {
	ClusterID string          `json:"cluster_id"`
	Leader    string          `json:"leader"` // "": none is known
	Members   []ClusterMember `json:"members"`
	CAEndTs   U64             `json:"ca_end_ts"` // ns; end of the authority of the certificates, the first if there are several; 0: no certificates
}

// ClusterMember is one member of a cluster.
type ClusterMember struct {
	Node          string  `json:"node"`
	Role          string  `json:"role"`  // leader, voter or learner
	State         string  `json:"state"` // down if it does not answer
	Number        U64     `json:"number"`
	Seq           U64     `json:"seq"`
	AttestedSeq   U64     `json:"attested_seq"`
	StateHash     string  `json:"state_hash"`      // at attested_seq; "": none is attested yet
	ClockOffsetMs float64 `json:"clock_offset_ms"` // ahead of the member that was asked
	Version       string  `json:"version"`
	DiskFree      U64     `json:"disk_free"` // bytes
	Peer          string  `json:"peer"`
	Follow        string  `json:"follow"`
	CertEndTs     U64     `json:"cert_end_ts"` // ns; end of the certificate that it uses; 0 if it has none, or is down

	// Behind is how many groups of the log it has not applied that the leader has; null if one of the two
	// does not answer.
	Behind *U64 `json:"behind"`
	// HistorySinceSeq is the seq after which its history is whole, 0 for all of it; null if it has no
	// mirror, or has not opened it yet.
	HistorySinceSeq *U64 `json:"history_since_seq"`
}

// AddMember is `POST /admin/cluster/members`.
type AddMember struct {
	Name string `json:"name" minLength:"1" maxLength:"32"`
	Peer string `json:"peer" minLength:"3" maxLength:"300"` // HOST:PORT
	AuditReason
}

// MemberPath names a member in a path.
type MemberPath struct {
	Name string `json:"name" in:"path" minLength:"1" maxLength:"32"`
	AuditReason
}

// RemoveMember is `DELETE /admin/cluster/members/{name}`.
type RemoveMember struct {
	MemberPath
	LoseHistory bool `json:"lose_history,omitempty" in:"query" doc:"Remove it although no other member has as much of the history"`
}

// PendingChange is the answer, with 202, to a change of the members that outlasts its time. It may still happen:
// the status of the cluster tells.
type PendingChange struct {
	Status string `json:"status"` // pending
}

// MoveLeader is `POST /admin/cluster/leader`.
type MoveLeader struct {
	Name string `json:"name" minLength:"1" maxLength:"32"`
	AuditReason
}

// DefragResult is the result of `POST /admin/cluster/defrag`.
type DefragResult struct {
	Members []Defragmented `json:"members"`
}

// Defragmented is the size of etcd's database of one member, in bytes, before and after.
type Defragmented struct {
	Node   string `json:"node"`
	Before U64    `json:"before"`
	After  U64    `json:"after"`
}
