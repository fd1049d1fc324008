package venue

import (
	"github.com/fxamacker/cbor/v2"

	"duplex/core"
	"duplex/core/ledger"
)

// state is the whole venue as a snapshot holds it: one CBOR array in deterministic encoding. The
// commands alone decide the order of everything in it, so that equal venues have equal bytes. New
// fields are only added at the end; a snapshot of an older program lacks them and leaves them zero.
type state struct {
	_           struct{} `cbor:",toarray"`
	Now         core.Stamp
	Rules       core.Rules
	Fees        core.Fees
	Windows     []core.Window
	Ledger      ledger.State
	Accounts    []accountState
	Keys        []core.Key
	Markets     []marketState
	Free        []core.MarketID
	Feeds       [core.Feeds]feedState
	Trading     [core.SeriesCount]core.MarketID
	Last        [core.SeriesCount]int64
	Rounds      uint64
	Orders      []orderState // by market, bids before asks, each side in price-time order
	Deposits    []core.Deposited
	Withdrawals []core.Withdrawal

	// The state before the first ActivateRules ends here, if it has no accounts.
	LastKey     uint64 // the newest key's number
	Performance []ledger.PerformanceState
	Transfers   []core.Transferred
	Marks       [][]byte        // the marks that are kept, see encodeMarks
	Operators   []core.Operator // by name
	Approvals   []core.Approval // by id

	// From core.RevisionSteps on.
	AloneDay int32 // UTC day of Alone
	Alone    []core.AloneSum
	Settings []core.Setting // by name

	// From core.RevisionMakers on. A list at the end that is empty is left out.
	Requests []requestState // by account
	Groups   []groupState   // by account, then by group
	Switches []switchState  // by account, then by group
	Members  []memberState  // by node

	// From core.RevisionAsks on.
	Asks []core.Ask // by id
}

// Numbers of encoded fields of a state: of the newest revision, before core.RevisionMakers, before
// core.RevisionSteps, and before the first ActivateRules.
const stateFields, stateFieldsBeforeMakers, stateFieldsBeforeSteps, stateFieldsBefore = 30, 25, 22, 16

// groupState is a group with a bound.
type groupState struct {
	_       struct{} `cbor:",toarray"`
	User    core.UserID
	Group   uint32
	Limit   core.Qty
	Window  uint32
	Tripped bool
	Newest  int64
	Sums    [groupSlices]core.Qty
}

// switchState is what cancels the orders of a group: a dead-man switch, if Deadline is not 0, and the end of a
// connection, if Line is not zero.
type switchState struct {
	_        struct{} `cbor:",toarray"`
	User     core.UserID
	Group    uint32
	Timeout  uint32
	Deadline int64
	Line     core.Line
}

// memberState is a machine that sends beats.
type memberState struct {
	_       struct{} `cbor:",toarray"`
	Node    uint32
	Session uint64
	Beat    int64
}

// requestState is the client_request_ids of an account.
type requestState struct {
	_    struct{} `cbor:",toarray"`
	User core.UserID
	IDs  []byte // an encoded idSet
}

type accountState struct {
	_        struct{} `cbor:",toarray"`
	User     core.User
	IDs      []byte // the encoded idSet; nil if no id is used
	Timeout  uint32
	Deadline int64
}

type marketState struct {
	_        struct{} `cbor:",toarray"`
	Round    core.Round
	Halted   bool
	LastTick core.Tick
	Volume   core.Qty
}

type orderState struct {
	_         struct{} `cbor:",toarray"`
	ID        core.OrderID
	User      core.UserID
	Market    core.MarketID
	Side      core.Side
	Outcome   core.Outcome
	Flags     core.Flags // with flagClipped if the order is clipped
	TickYes   core.Tick
	Left      uint32
	Unit      uint16
	MakerRate core.Rate
	Group     uint32
	Expiry    int64
}

// flagClipped marks a clipped order, see book.Order.Clip.
const flagClipped core.Flags = 1 << 7

var encoding, _ = cbor.CoreDetEncOptions().EncMode()
