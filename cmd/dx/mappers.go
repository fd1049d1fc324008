package main

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"duplex/cmd/dx/cli"
)

// mappers makes kong read every integer of arguments, flags, variables and the settings file with
// cli.ParseUint, because kong's own mappers take 010 for 8, and every secret without the white space
// around it. A flag with a secret has type:"secret", or type:"token" where the venue makes it the
// operator's token.
func mappers() []kong.Option {
	options := []kong.Option{kong.NamedMapper("secret", kong.MapperFunc(decodeSecret)), kong.NamedMapper("token", kong.MapperFunc(decodeToken))}
	for kind := reflect.Int; kind <= reflect.Uint64; kind++ {
		options = append(options, kong.KindMapper(kind, kong.MapperFunc(decodeInteger)))
	}
	return options
}

// decodeSecret decodes a string, or several separated by commas.
func decodeSecret(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if ctx.Scan.PopValueInto("secret", &text) != nil { // the error quotes a secret that begins with -
		return errors.New("needs a value; one that begins with - goes behind a =")
	}
	if target.Kind() == reflect.String {
		target.SetString(strings.TrimSpace(text))
		return nil
	}
	for x := range strings.SplitSeq(text, ",") { // a flag may be there several times
		target.Set(reflect.Append(target, reflect.ValueOf(strings.TrimSpace(x))))
	}
	return nil
}

// minToken is the least length of the operator's token. Random hex digits of this length have 128 bits.
const minToken = 32

// decodeToken decodes a secret that nobody can guess, and that can be sent as a bearer token.
func decodeToken(ctx *kong.DecodeContext, target reflect.Value) error {
	if err := decodeSecret(ctx, target); err != nil {
		return err
	}
	text := target.String()
	if text != "" && (len(text) < minToken || strings.Trim(text, text[:1]) == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })) {
		return fmt.Errorf("must be at least %d random characters without spaces, such as the output of: openssl rand -hex 32", minToken)
	}
	return nil
}

// decodeInteger decodes an integer, which a tag such as within:"1,1000" bounds.
func decodeInteger(ctx *kong.DecodeContext, target reflect.Value) error {
	t, err := ctx.Scan.PopValue("integer")
	if err != nil {
		return err
	}
	bits := target.Type().Bits()
	if target.CanInt() {
		bits-- // that of the sign
	}
	n, err := parseInteger(ctx.Value.Tag, fmt.Sprint(t.Value), bits)
	switch {
	case err != nil:
		return err
	case target.CanUint():
		target.SetUint(n)
	default:
		target.SetInt(int64(n))
	}
	return nil
}

func parseInteger(tag *kong.Tag, text string, bits int) (uint64, error) {
	bounds := tag.Get("within")
	if bounds == "" {
		return cli.ParseUint(text, bits)
	}
	var least, most uint64
	if _, err := fmt.Sscanf(bounds, "%d,%d", &least, &most); err != nil {
		return 0, fmt.Errorf("has no bounds: %w", err)
	}
	return cli.ParseWithin(text, least, most)
}
