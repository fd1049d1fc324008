package journal

import (
	"fmt"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"duplex/core"
)

// The rare commands are maps of CBOR by field name: a field may be added later
// (an old log then reads it as zero), none may be renamed or change its meaning.

var adminEnc, adminDec = adminCodec()

func adminCodec() (cbor.EncMode, cbor.DecMode) {
	enc, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic(err) // the options are constant
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

// appendAdmin reads back what it wrote: a command that encodes but does not decode
// would poison the log for good.
func appendAdmin(dst []byte, kind byte, cmd core.Command) ([]byte, error) {
	b, err := adminEnc.Marshal(cmd)
	if err != nil {
		return dst, err
	}
	if _, err := readAdmin(kind, b); err != nil {
		return dst, err
	}
	return append(dst, b...), nil
}

func readAdmin(kind byte, b []byte) (core.Command, error) {
	cmd := newCommand(kind)
	if cmd == nil {
		return nil, fmt.Errorf("unknown kind %d", kind)
	}
	if err := adminDec.Unmarshal(b, cmd); err != nil {
		return nil, err
	}
	return cmd, checkAdmin(cmd)
}

// checkAdmin refuses enum values that have no name. Amounts, rates and rules are
// the venue's to judge.
func checkAdmin(cmd core.Command) error {
	switch c := cmd.(type) {
	case *core.SetSession:
		if c.Feed >= core.Feeds {
			return errEnum
		}
	case *core.CreateKey:
		if c.Scopes > core.ScopeRead|core.ScopeTrade|core.ScopeWithdraw {
			return errEnum
		}
	case *core.SetRules:
		if slices.ContainsFunc(c.Rules.Grid.Bands, func(b core.Band) bool { return b.Step <= 0 }) {
			return errRange // Legal divides by it
		}
		if c.Rules.Revision > core.RevisionNewest {
			return fmt.Errorf("rules of revision %d, this program knows up to %d: it was written by a newer version", c.Rules.Revision, core.RevisionNewest)
		}
	}
	return nil
}
