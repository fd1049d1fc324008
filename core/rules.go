package core

import (
	"fmt"
	"slices"
)

// Rules are the settings that outcomes depend on. They are sequenced, so that a replay
// needs no configuration.
type Rules struct {
	Grid           Grid
	DisputeNs      int64  // time from a proposal to its settlement
	CoverageWaitNs int64  // time a frozen round without coverage waits for an operator's price
	StaleNs        int64  // age of a feed's last tick at which its markets pause
	OpenOrders     uint32 // most resting orders of an account
	Contracts      Qty    // most contracts held and bid for, per market, outcome and account

	// MinSources is the number of fresh sources that an index tick of each feed needs;
	// 0 means 1. The encoding omits the zero value, so that a state without this rule
	// keeps the hash that it had before the rule existed.
	MinSources SourceCounts `cbor:",omitzero"`

	// Revision selects the version of the venue's built-in behavior. ActivateRules raises
	// it; SetRules keeps it.
	Revision Revision `cbor:",omitempty"`

	// Environment is what the venue is for. ActivateRules sets it once; SetRules keeps it.
	Environment Environment `cbor:",omitempty"`
}

// SourceCounts is a number of sources for each feed.
type SourceCounts [Feeds]uint8

// MarshalCBOR encodes the counts as a byte string. It leaves out the zeros of feeds that came after the first
// revision, so that a state without them keeps its hash.
func (c SourceCounts) MarshalCBOR() ([]byte, error) {
	_, n := SeriesSince(RevisionNone)
	for f := n; f < Feeds; f++ {
		if c[f] != 0 {
			n = f + 1
		}
	}
	return append([]byte{0x40 | byte(n)}, c[:n]...), nil
}

// Environment is what a venue is for, for good (docs/rules/operation.md#environment). A venue of before
// environments were recorded has none and counts as live.
type Environment uint8

// The environments.
const (
	EnvironmentNone  Environment = iota
	EnvironmentDev               // play money
	EnvironmentLive              // for real users
	EnvironmentArena             // a virtual clock
)

var environmentNames = [...]string{"", "dev", "live", "arena"}

// String returns the name of the environment, "" for EnvironmentNone and what is none.
func (e Environment) String() string {
	if int(e) < len(environmentNames) {
		return environmentNames[e]
	}
	return ""
}

// EnvironmentOf returns the environment of a name, or EnvironmentNone.
func EnvironmentOf(name string) Environment {
	return Environment(max(0, slices.Index(environmentNames[:], name)))
}

// Revision numbers the versions of the behavior that is not a setting
// (docs/rules/operation.md#revision). A journal replays under the revision that was in
// force when it was written, so that an older journal keeps its outcomes and its state
// hashes. A server activates the newest revision when it starts.
type Revision uint8

const (
	// RevisionNone is the revision before the first ActivateRules. It behaves like
	// RevisionOldest.
	RevisionNone Revision = 0

	// RevisionOldest is the oldest revision that this program reads, that of dx 0.1.0.
	RevisionOldest Revision = 6

	// RevisionReplace adds ReplaceOrder. Before it a ReplaceOrder is UnknownOrder.
	RevisionReplace Revision = 7

	// RevisionForecasts adds SubmitForecast. Before it a SubmitForecast is UnknownMarket.
	RevisionForecasts Revision = 8

	// RevisionDeposits bounds a deposit by DepositMax. Before it only the sum of all deposits is bounded.
	RevisionDeposits Revision = 9

	// RevisionReplaceSeen adds ReplaceOrder.Seen. Before it the new order has Qty contracts.
	RevisionReplaceSeen Revision = 10

	// RevisionGrants adds grants of OAuth clients: CreateKey.Grant, which is UnknownKey before it, and
	// RenewGrant, which finds no grant before it.
	RevisionGrants Revision = 11

	// RevisionSteps adds the states of a withdrawal between its request and its end, sums of what one
	// operator does alone, ChangeSetting and DropApproval, which are InvalidTransition before it. A revoked
	// operator's requests are dropped.
	RevisionSteps Revision = 12

	// RevisionMakers adds PlaceOrder.NotAfter and the client_request_id of a decrease and a redeem, which
	// have no effect before it, and bounds of groups, which are UnknownGroup before it. When a feed falls silent, orders that are canceled on a pause are.
	RevisionMakers Revision = 13

	// RevisionAsks adds the mandate's ask_above, which is BadMandate before it, and DecideAsk.
	RevisionAsks Revision = 14

	// RevisionNewest is the newest revision that this program knows.
	RevisionNewest = RevisionAsks
)

// Known returns an error that names the program which knows the revision, unless this one does.
func (r Revision) Known() error {
	switch {
	case r > RevisionNewest:
		return fmt.Errorf("rules of revision %d, this program knows up to %d: it was written by a newer version", r, RevisionNewest)
	case r != RevisionNone && r < RevisionOldest:
		return fmt.Errorf("rules of revision %d, which this program does not read: dx 0.1.0 does", r)
	}
	return nil
}

// LeastSources is the number of fresh sources that an index tick of f needs, at least 1
// (docs/rules/prices-sources.md#minimum-of-sources).
func (r *Rules) LeastSources(f Feed) uint8 { return max(1, r.MinSources[f]) }

// DefaultRules are the settings of a new venue, without a revision, which SetRules keeps.
func DefaultRules() Rules {
	return Rules{Grid: Narrow(), DisputeNs: 5 * NsPerSec, CoverageWaitNs: 30 * NsPerSec, StaleNs: 5 * NsPerSec, OpenOrders: 200, Contracts: 1_000_000}
}
