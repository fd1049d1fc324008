package admin

import (
	"context"
	"encoding/hex"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// snapshot writes the state to disk now. It is no command: it changes nothing.
func (l *lane) snapshot(_ context.Context, c *gate.Call, in *schemas.Why) (out schemas.Snapshotted, err error) {
	seq, hash, err := l.Venue.Engine.SnapshotHash()
	l.note(c, seq, in.Reason, err)
	return schemas.Snapshotted{Seq: schemas.U64(seq), StateHash: hex.EncodeToString(hash[:])}, err
}

// rotate puts a new master key in force. A venue that is given its key from outside
// cannot: `invalid_transition`.
func (l *lane) rotate(ctx context.Context, c *gate.Call, in *schemas.Why) (out schemas.Resealed, err error) {
	if l.Rotate == nil {
		return out, tools.Refuse("invalid_transition")
	}
	n, err := l.Rotate(ctx, by(in.Reason))
	l.note(c, 0, in.Reason, err)
	return schemas.Resealed{Resealed: n}, err
}

// state sums the venue up at one seq, in pips: the terms of THE INVARIANT (contract
// core, Money).
func (l *lane) state(context.Context, *gate.Call, *schemas.None) (out schemas.AdminState, err error) {
	var image *venue.Image
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if image, err = v.Image(); err != nil {
			return
		}
		s := v.Sums()
		out = schemas.AdminState{
			Seq: schemas.U64(v.Now().Seq), Cash: schemas.U64(s.Cash), Reserved: schemas.U64(s.Reserved), Collateral: schemas.U64(core.Pips(s.Pairs) * core.Payout),
			Fees: schemas.U64(s.Fees), Deposits: schemas.U64(s.Deposits), Withdrawals: schemas.U64(s.Withdrawals),
		}
	})
	if err != nil {
		return out, err
	}
	hash, err := image.Hash() // takes a while, and no lock
	out.StateHash = hex.EncodeToString(hash[:])
	return out, err
}
