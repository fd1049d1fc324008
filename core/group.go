package core

// Bounds of a group (docs/rules/orders.md#group-bounds), and how long after the last beat of a process what is
// bound to its connections is canceled (docs/rules/orders.md#cancel-on-disconnect).
const (
	GroupsMax      = 200 // rows of an account
	FillLimitMax   = QtyMax
	GroupWindowMin = 100       // ms
	GroupWindowMax = 3_600_000 // ms
	BeatLapseMs    = 4000
)

// Group is what an account has set for a group of orders: a bound of its fills, if FillLimit is not 0, a dead-man
// switch, if Deadline is not 0, and with Bound the end of a connection that cancels them. Filled counts the
// contracts that count at the stamp of the command, or of the read.
type Group struct {
	ID        uint32
	FillLimit Qty    // contracts
	WindowMs  uint32 // ms
	Filled    Qty
	Tripped   bool
	Deadline  int64 // ns
	Bound     bool
}

// GroupChange is what happened to a group.
type GroupChange uint8

const (
	GroupSet     GroupChange = iota // the bound is new or another, or the orders are bound to a connection or no more
	GroupTrip                       // its fills reached the bound
	GroupReset                      // it takes orders again, and counts from 0
	GroupDeleted                    // it has no bound any more, or nothing else either

	groupChanges
)

var groupChangeNames = [groupChanges]string{"set", "tripped", "reset", "deleted"}

// String is the name on the wire, or "" if there is no such change.
func (c GroupChange) String() string {
	if c >= groupChanges {
		return ""
	}
	return groupChangeNames[c]
}

// GroupChanges lists the name of every change.
func GroupChanges() []string { return groupChangeNames[:] }

// GroupChanged carries the row of a group after a command that changed more than its count.
type GroupChanged struct {
	User   UserID
	Change GroupChange
	Group  Group
}

func (*GroupChanged) event() {}
