package journal

import (
	"encoding/binary"
	"fmt"
	"iter"
	"reflect"

	"duplex/core"
)

// CommandMax is the longest encoding of one command, in bytes.
const CommandMax = 1 << 20

// kinds has one line for each kind of command, at the number that the kind has on disk. Never
// reorder or reuse a number; 1 to 4 were kinds of format 1. A command whose encoding changes gets a
// new line, and the old line stays so that older journals can be read.
var kinds = [...]kind{
	5:  packed(appendClock, readClock),
	6:  packed(appendPostIndex, readPostIndex),
	7:  cborMap[core.ArmDeadman](nil),
	8:  cborMap[core.DisarmDeadman](nil),
	9:  cborMap[core.Redeem](nil),
	10: cborMap[core.RequestWithdrawal](nil),
	11: cborMap(checkSetSession),
	12: cborMap(checkSetRules),
	13: cborMap[core.SetFees](nil),
	14: cborMap[core.SetSchedule](nil),
	15: cborMap[core.CreateUser](nil),
	16: cborMap(checkCreateKey),
	17: cborMap[core.RevokeKey](nil),
	18: cborMap[core.ResealKey](nil),
	19: cborMap[core.SuspendUser](nil),
	20: cborMap[core.Deposit](nil),
	21: cborMap(checkDecideWithdrawal),
	22: cborMap[core.PauseMarket](nil),
	23: cborMap[core.VoidMarket](nil),
	24: cborMap[core.ProposePrice](nil),
	25: cborMap[core.Checkpoint](nil),

	// The commands that a key signs begin with the number of the key.
	26: packed(appendPlaceOrder, readPlaceOrder),
	27: packed(appendCancelOrder, readCancelOrder),
	28: packed(appendDecreaseOrder, readDecreaseOrder),
	29: packed(appendCancelAll, readCancelAll),
	30: cborMap(checkActivateRules),
	31: cborMap(checkCreateAgent),
	32: cborMap[core.Transfer](nil),
	33: cborMap(checkSetMandate),
	34: cborMap[core.HaltAgent](nil),
	35: cborMap[core.ResumeAgent](nil),
	36: cborMap[core.CloseAgent](nil),

	// Numbers 41 to 47 are free.
	48: cborMap(checkAddOperator),
	49: cborMap[core.RevokeOperator](nil),
	50: cborMap(checkRequestApproval),
	51: cborMap(checkDecideApproval),
	52: cborMap[core.ResetToken](nil),
	53: cborMap[core.CancelUserOrders](nil),

	// From core.RevisionReplace on.
	54: {read: readReplaceWithoutSeen}, // read only; 56 is written

	// From core.RevisionForecasts on.
	55: packed(appendSubmitForecast, readSubmitForecast),

	56: packed(appendReplaceOrder, readReplaceOrder),

	// From core.RevisionGrants on.
	57: cborMap[core.RenewGrant](nil),

	// From core.RevisionSteps on.
	58: cborMap[core.ChangeSetting](nil),
	59: cborMap[core.DropApproval](nil),

	// From core.RevisionMakers on.
	60: cborMap[core.SetGroup](nil),
	61: cborMap[core.ResetGroup](nil),
	62: cborMap[core.DeleteGroup](nil),

	37: packed(appendQuoteSide, readQuoteSide),
	38: cborMap[core.BindOrders](nil),
	39: cborMap[core.EndConnection](nil),
	40: cborMap[core.Beat](nil),

	// From core.RevisionAsks on.
	63: cborMap[core.DecideAsk](nil),

	// From 64 on: commands of a log of several machines.
	64: cborMap[core.Attest](nil),
	65: {}, // core.Marked: set by init, because its encoding holds that of another kind
}

// Format is the version of the journal's encoding (docs/rules/operation.md#journal). A new kind of
// command, or a new encoding of one, begins a new format.
const Format = formatVersion

// kind is the encoding of one kind of command, without the kind byte. The table has a zero kind
// at each number that no command uses.
type kind struct {
	empty func() core.Command
	// markable is set by init: a key sends the command, so a member of several can mark it.
	markable bool
	append   func(dst []byte, cmd core.Command) ([]byte, error)
	read     func(b []byte) (core.Command, error)
}

// command is the pointer to a command of type T.
type command[T any] interface {
	*T
	core.Command
}

// packed is a kind with a packed encoding (codec_packed.go).
func packed[T any, C command[T]](appendTo func([]byte, C) ([]byte, error), read func([]byte) (C, error)) kind {
	return kind{
		empty:  func() core.Command { return C(new(T)) },
		append: func(dst []byte, cmd core.Command) ([]byte, error) { return appendTo(dst, cmd.(C)) },
		read: func(b []byte) (core.Command, error) {
			c, err := read(b)
			return c, err
		},
	}
}

var kindByType = map[reflect.Type]byte{}

func init() {
	kinds[65] = kind{empty: func() core.Command { return &core.Marked{Command: new(core.CancelAll)} }, append: appendMarked, read: readMarked}
	for n, k := range kinds {
		if k.empty != nil {
			kindByType[reflect.TypeOf(k.empty())] = byte(n)
			kinds[n].markable = n != 65 && core.KeyField(k.empty()) != nil
		}
	}
}

// Kinds yields each kind that is written, by its number on disk, with an empty command.
func Kinds() iter.Seq2[byte, core.Command] {
	return func(yield func(byte, core.Command) bool) {
		for n, k := range kinds {
			if k.empty != nil && !yield(byte(n), k.empty()) {
				return
			}
		}
	}
}

// kindOf returns the number of a command's kind, 0 if it has none.
func kindOf(cmd core.Command) byte {
	switch cmd.(type) { // the frequent commands: the map takes 16 ns, encoding a cancel takes 14
	case *core.PlaceOrder:
		return 26
	case *core.CancelOrder:
		return 27
	case *core.DecreaseOrder:
		return 28
	case *core.CancelAll:
		return 29
	case *core.ReplaceOrder:
		return 56
	case *core.QuoteSide:
		return 37
	}
	return kindByType[reflect.TypeOf(cmd)]
}

// Encode appends one command to dst: its kind byte and its payload. It refuses a command
// that Decode would refuse, and then returns dst unchanged.
func Encode(dst []byte, cmd core.Command) ([]byte, error) {
	n := kindOf(cmd)
	if n == 0 {
		return dst, fmt.Errorf("journal: encode %T: no kind of command", cmd)
	}
	out, err := kinds[n].append(append(dst, n), cmd)
	if err == nil && len(out)-len(dst) > CommandMax {
		err = errTooLong
	}
	if err != nil {
		return dst, fmt.Errorf("journal: encode %T: %w", cmd, err)
	}
	return out, nil
}

// Decode reads one command that fills b exactly. It returns an error, and never panics, for
// an unknown kind, a field or enum value out of range, a missing byte or a byte left over.
func Decode(b []byte) (core.Command, error) {
	switch {
	case len(b) == 0:
		return nil, fmt.Errorf("journal: decode: %w", errShort)
	case len(b) > CommandMax:
		return nil, fmt.Errorf("journal: decode: %w", errTooLong)
	case int(b[0]) >= len(kinds) || kinds[b[0]].read == nil:
		return nil, fmt.Errorf("journal: decode kind %d: unknown kind %d", b[0], b[0])
	}
	cmd, err := kinds[b[0]].read(b[1:])
	if err != nil {
		return nil, fmt.Errorf("journal: decode kind %d: %w", b[0], err)
	}
	return cmd, nil
}

// AppendCommand appends a command to the body of a group: its length as a uvarint, then its
// encoding. On an error it returns body unchanged. Errors: those of Encode.
func AppendCommand(body []byte, cmd core.Command) ([]byte, error) {
	// Nearly every command is shorter than 128 bytes, so that its length takes one byte. A
	// longer command is moved to make room.
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
	out = append(out, head[1:h]...) // grows out; the bytes are overwritten
	copy(out[at+h:], out[at+1:at+1+n])
	copy(out[at:], head[:h])
	return out, nil
}

// Commands yields the commands of a group's body in order. If the body is damaged, the last
// pair has the error.
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
