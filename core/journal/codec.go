package journal

import (
	"encoding/binary"
	"fmt"
	"iter"

	"duplex/core"
)

// CommandMax is the longest encoding of one command, in bytes.
const CommandMax = 1 << 20

// The kind byte of every command. The numbers are on disk: never reorder, reuse
// or drop one. A command whose form changes gets a new kind beside the old.
const (
	kindPlaceOrder        = 1
	kindCancelOrder       = 2
	kindDecreaseOrder     = 3
	kindCancelAll         = 4
	kindClock             = 5
	kindPostIndex         = 6
	kindArmDeadman        = 7
	kindDisarmDeadman     = 8
	kindRedeem            = 9
	kindRequestWithdrawal = 10
	kindSetSession        = 11
	kindSetRules          = 12
	kindSetFees           = 13
	kindSetSchedule       = 14
	kindCreateUser        = 15
	kindCreateKey         = 16
	kindRevokeKey         = 17
	kindResealKey         = 18
	kindSuspendUser       = 19
	kindDeposit           = 20
	kindDecideWithdrawal  = 21
	kindPauseMarket       = 22
	kindVoidMarket        = 23
	kindProposePrice      = 24
	kindCheckpoint        = 25
)

// kindOf gives the kind of a command, 0 if it has none.
func kindOf(cmd core.Command) byte {
	switch cmd.(type) {
	case *core.PlaceOrder:
		return kindPlaceOrder
	case *core.CancelOrder:
		return kindCancelOrder
	case *core.DecreaseOrder:
		return kindDecreaseOrder
	case *core.CancelAll:
		return kindCancelAll
	case *core.Clock:
		return kindClock
	case *core.PostIndex:
		return kindPostIndex
	case *core.ArmDeadman:
		return kindArmDeadman
	case *core.DisarmDeadman:
		return kindDisarmDeadman
	case *core.Redeem:
		return kindRedeem
	case *core.RequestWithdrawal:
		return kindRequestWithdrawal
	case *core.SetSession:
		return kindSetSession
	case *core.SetRules:
		return kindSetRules
	case *core.SetFees:
		return kindSetFees
	case *core.SetSchedule:
		return kindSetSchedule
	case *core.CreateUser:
		return kindCreateUser
	case *core.CreateKey:
		return kindCreateKey
	case *core.RevokeKey:
		return kindRevokeKey
	case *core.ResealKey:
		return kindResealKey
	case *core.SuspendUser:
		return kindSuspendUser
	case *core.Deposit:
		return kindDeposit
	case *core.DecideWithdrawal:
		return kindDecideWithdrawal
	case *core.PauseMarket:
		return kindPauseMarket
	case *core.VoidMarket:
		return kindVoidMarket
	case *core.ProposePrice:
		return kindProposePrice
	case *core.Checkpoint:
		return kindCheckpoint
	}
	return 0
}

// newCommand gives an empty command of a rare kind, nil for any other.
func newCommand(kind byte) core.Command {
	switch kind {
	case kindArmDeadman:
		return new(core.ArmDeadman)
	case kindDisarmDeadman:
		return new(core.DisarmDeadman)
	case kindRedeem:
		return new(core.Redeem)
	case kindRequestWithdrawal:
		return new(core.RequestWithdrawal)
	case kindSetSession:
		return new(core.SetSession)
	case kindSetRules:
		return new(core.SetRules)
	case kindSetFees:
		return new(core.SetFees)
	case kindSetSchedule:
		return new(core.SetSchedule)
	case kindCreateUser:
		return new(core.CreateUser)
	case kindCreateKey:
		return new(core.CreateKey)
	case kindRevokeKey:
		return new(core.RevokeKey)
	case kindResealKey:
		return new(core.ResealKey)
	case kindSuspendUser:
		return new(core.SuspendUser)
	case kindDeposit:
		return new(core.Deposit)
	case kindDecideWithdrawal:
		return new(core.DecideWithdrawal)
	case kindPauseMarket:
		return new(core.PauseMarket)
	case kindVoidMarket:
		return new(core.VoidMarket)
	case kindProposePrice:
		return new(core.ProposePrice)
	case kindCheckpoint:
		return new(core.Checkpoint)
	}
	return nil
}

// Encode appends one command to dst: a kind byte and its payload. It refuses what
// Decode would not read back, and then leaves dst as it was.
func Encode(dst []byte, cmd core.Command) ([]byte, error) {
	kind := kindOf(cmd)
	out, err := appendPayload(append(dst, kind), kind, cmd)
	if err == nil && len(out)-len(dst) > CommandMax {
		err = errTooLong
	}
	if err != nil {
		return dst, fmt.Errorf("journal: encode %T: %w", cmd, err)
	}
	return out, nil
}

func appendPayload(dst []byte, kind byte, cmd core.Command) ([]byte, error) {
	switch c := cmd.(type) {
	case *core.PlaceOrder:
		return appendPlaceOrder(dst, c)
	case *core.CancelOrder:
		return appendCancelOrder(dst, c), nil
	case *core.DecreaseOrder:
		return appendDecreaseOrder(dst, c), nil
	case *core.CancelAll:
		return appendCancelAll(dst, c), nil
	case *core.Clock:
		return dst, nil
	case *core.PostIndex:
		return appendPostIndex(dst, c)
	default:
		return appendAdmin(dst, kind, cmd)
	}
}

// Decode reads one command that fills b exactly. It errs, and never panics, on an
// unknown kind, a field or enum value out of range, a missing or a left-over byte.
func Decode(b []byte) (core.Command, error) {
	switch {
	case len(b) == 0:
		return nil, fmt.Errorf("journal: decode: %w", errShort)
	case len(b) > CommandMax:
		return nil, fmt.Errorf("journal: decode: %w", errTooLong)
	}
	cmd, err := readPayload(b[0], b[1:])
	if err != nil {
		return nil, fmt.Errorf("journal: decode kind %d: %w", b[0], err)
	}
	return cmd, nil
}

func readPayload(kind byte, b []byte) (cmd core.Command, err error) {
	p := payload{b: b}
	switch kind {
	case kindPlaceOrder:
		cmd = readPlaceOrder(&p)
	case kindCancelOrder:
		cmd = readCancelOrder(&p)
	case kindDecreaseOrder:
		cmd = readDecreaseOrder(&p)
	case kindCancelAll:
		cmd = readCancelAll(&p)
	case kindClock:
		cmd = new(core.Clock)
	case kindPostIndex:
		cmd = readPostIndex(&p)
	default:
		return readAdmin(kind, b)
	}
	return cmd, p.end()
}

// AppendCommand appends a command to a group's body: its length as a uvarint, then
// its encoding. On an error body is as it was.
func AppendCommand(body []byte, cmd core.Command) ([]byte, error) {
	// Nearly every command is shorter than 128 bytes, so its length is one byte:
	// leave room for it and move only what is longer.
	at := len(body)
	out, err := Encode(append(body, 0), cmd)
	if err != nil {
		return body, err
	}
	n := len(out) - at - 1
	if n < 0x80 {
		out[at] = byte(n)
		return out, nil
	}
	var head [binary.MaxVarintLen64]byte
	h := binary.PutUvarint(head[:], uint64(n))
	out = append(out, head[1:h]...) // any bytes: room for the move
	copy(out[at+h:], out[at+1:at+1+n])
	copy(out[at:], head[:h])
	return out, nil
}

// Commands yields the commands of a group's body in order. A body that is damaged
// yields its error last.
func Commands(body []byte) iter.Seq2[core.Command, error] {
	return func(yield func(core.Command, error) bool) {
		p := payload{b: body}
		for len(p.b) > 0 {
			n := p.u(CommandMax)
			if p.err == nil && n > uint64(len(p.b)) {
				p.fail(errShort)
			}
			if p.err != nil {
				yield(nil, fmt.Errorf("journal: length of a command: %w", p.err))
				return
			}
			cmd, err := Decode(p.b[:n])
			if !yield(cmd, err) || err != nil {
				return
			}
			p.b = p.b[n:]
		}
	}
}
