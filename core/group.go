package core

// Bounds of a group (docs/rules/orders.md#group-bounds).
const (
	GroupsMax      = 200 // rows of an account
	FillLimitMax   = QtyMax
	GroupWindowMin = 100       // ms
	GroupWindowMax = 3_600_000 // ms
)

// Group is the bound of an account's fills in a group of orders. Filled counts the contracts that count at the
// stamp of the command, or of the read.
type Group struct {
	ID        uint32
	FillLimit Qty    // contracts
	WindowMs  uint32 // ms
	Filled    Qty
	Tripped   bool
}

// GroupChange is what happened to a group.
type GroupChange uint8

const (
	GroupSet     GroupChange = iota // the bound is new, or another
	GroupTrip                       // its fills reached the bound
	GroupReset                      // it takes orders again, and counts from 0
	GroupDeleted                    // it has no bound

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
