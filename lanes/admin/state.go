package admin

import (
	"context"
	"encoding/hex"

	"duplex/core"
	"duplex/core/venue"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// snapshot writes a snapshot now. It is not a command, since it does not change the state.
func (l *lane) snapshot(_ context.Context, c *gate.Call, in *schemas.AuditReason) (out schemas.Snapshotted, err error) {
	seq, hash, err := l.Venue.Engine.SnapshotHash()
	l.logAction(c, seq, in.Reason, err)
	return schemas.Snapshotted{Seq: schemas.U64(seq), StateHash: hex.EncodeToString(hash[:])}, err
}

// rotateMasterKey makes a new master key the current one. It returns invalid_transition if
// the master key is given from outside (docs/rules/operation.md#master-key).
func (l *lane) rotateMasterKey(ctx context.Context, c *gate.Call, in *schemas.AuditReason) (out schemas.Resealed, err error) {
	if l.RotateMasterKey == nil {
		return out, tools.NewError("invalid_transition")
	}
	n, err := l.RotateMasterKey(context.WithoutCancel(ctx), auditOf(c, in.Reason)) // a rotation that is cut off leaves some secrets under the old key
	l.logAction(c, 0, in.Reason, err)
	return schemas.Resealed{Resealed: n}, err
}

// state returns the terms of the money invariant at one seq, in pips
// (docs/rules/money.md#the-invariant).
func (l *lane) state(context.Context, *gate.Call, *schemas.None) (out schemas.AdminState, err error) {
	image, err := l.Venue.Engine.Image(func(v *venue.Venue) {
		s := v.Sums()
		out = schemas.AdminState{
			Seq: schemas.U64(v.Now().Seq), Cash: schemas.U64(s.Cash), Reserved: schemas.U64(s.Reserved), Collateral: schemas.U64(core.Pips(s.Pairs) * core.Payout),
			Fees: schemas.U64(s.Fees), Deposits: schemas.U64(s.Deposits), Withdrawals: schemas.U64(s.Withdrawals),
		}
	})
	if err != nil {
		return out, err
	}
	hash, err := image.Hash() // slow, so outside the venue's lock
	out.StateHash = hex.EncodeToString(hash[:])
	return out, err
}
