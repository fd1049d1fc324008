package journal

import (
	"fmt"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"duplex/core"
)

// The rare commands are maps of CBOR by field name. A field may be added later: an older
// journal then reads it as zero. No field may be renamed or change its meaning.

var cborEnc, cborDec = cborModes()

func cborModes() (cbor.EncMode, cbor.DecMode) {
	enc, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic(err) // cannot happen: the options are constant
	}
	dec, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		UTF8:              cbor.UTF8RejectInvalid,
		MaxNestedLevels:   8,
		MaxArrayElements:  1 << 16,
		MaxMapPairs:       64,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return enc, dec
}

// cborMap is a kind that is encoded as a map of CBOR. check refuses decoded commands with an
// enum value that has no name; nil accepts any. The venue checks amounts and rates.
func cborMap[T any, C command[T]](check func(C) error) kind {
	read := func(b []byte) (core.Command, error) {
		cmd := C(new(T))
		if err := cborDec.Unmarshal(b, cmd); err != nil {
			return nil, err
		}
		if check != nil {
			return cmd, check(cmd)
		}
		return cmd, nil
	}
	return kind{
		empty: func() core.Command { return C(new(T)) },
		append: func(dst []byte, cmd core.Command) ([]byte, error) {
			b, err := cborEnc.Marshal(cmd)
			if err == nil {
				// A command that encodes and does not decode would make the journal
				// unreadable for good.
				_, err = read(b)
			}
			if err != nil {
				return dst, err
			}
			return append(dst, b...), nil
		},
		read: read,
	}
}

func checkSetSession(c *core.SetSession) error {
	if c.Feed >= core.Feeds {
		return errEnum
	}
	return nil
}

func checkCreateKey(c *core.CreateKey) error {
	if c.Scopes > core.ScopeRead|core.ScopeTrade|core.ScopeWithdraw {
		return errEnum
	}
	return nil
}

// checkActivateRules refuses rules and environments that only another version of the program knows.
func checkActivateRules(c *core.ActivateRules) error {
	if err := c.Revision.Known(); err != nil {
		return err
	}
	return checkEnvironment(c.Environment)
}

func checkEnvironment(e core.Environment) error {
	if e != core.EnvironmentNone && e.String() == "" {
		return errEnum
	}
	return nil
}

func checkCreateAgent(c *core.CreateAgent) error { return checkMandate(&c.Mandate) }

func checkSetMandate(c *core.SetMandate) error { return checkMandate(&c.Mandate) }

// checkMandate refuses a mandate with a rule that has no name. The venue checks the bounds.
func checkMandate(m *core.Mandate) error {
	if m.Set>>len(core.MandateRules()) != 0 {
		return errEnum
	}
	return nil
}

func checkAddOperator(c *core.AddOperator) error {
	if c.Role.String() == "" {
		return errEnum
	}
	return nil
}

func checkDecideWithdrawal(c *core.DecideWithdrawal) error {
	if c.To.String() == "" {
		return errEnum
	}
	return nil
}

func checkRequestApproval(c *core.RequestApproval) error { return checkApprovalAction(&c.Action) }

func checkDecideApproval(c *core.DecideApproval) error { return checkApprovalAction(&c.Action) }

func checkApprovalAction(a *core.ApprovalAction) error {
	if a.Kind.String() == "" || a.Feed >= core.Feeds {
		return errEnum
	}
	return nil
}

func checkSetRules(c *core.SetRules) error {
	if slices.ContainsFunc(c.Rules.Grid.Bands, func(b core.Band) bool { return b.Step <= 0 }) {
		return errRange // Grid.Legal divides by the step
	}
	if err := checkEnvironment(c.Rules.Environment); err != nil {
		return err
	}
	if c.Rules.Revision != 0 {
		return fmt.Errorf("SetRules of revision %d: only ActivateRules sets one", c.Rules.Revision)
	}
	return nil
}
