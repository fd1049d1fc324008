package main

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/alecthomas/kong"

	"duplex/cmd/dx/cli"
)

// integerMappers makes kong read every integer of arguments, flags, variables and the settings file with
// cli.ParseUint. Kong's own mappers take 010 for 8.
func integerMappers() (options []kong.Option) {
	for kind := reflect.Int; kind <= reflect.Uint64; kind++ {
		options = append(options, kong.KindMapper(kind, kong.MapperFunc(decodeInteger)))
	}
	return options
}

func decodeInteger(ctx *kong.DecodeContext, target reflect.Value) error {
	t, err := ctx.Scan.PopValue("integer")
	if err != nil {
		return err
	}
	n, err := cli.ParseUint(fmt.Sprint(t.Value), target.Type().Bits())
	switch {
	case err != nil:
		return err
	case target.CanUint():
		target.SetUint(n)
	case n > math.MaxInt64 || target.OverflowInt(int64(n)):
		return errors.New("is too large")
	default:
		target.SetInt(int64(n))
	}
	return nil
}
