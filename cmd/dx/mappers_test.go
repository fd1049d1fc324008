package main

import (
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"duplex/schemas"
)

// TestIntegersAreDecimal gives texts to every argument and flag of the command tree that is an integer:
// 010 is ten, and what is not decimal digits is an error.
func TestIntegersAreDecimal(t *testing.T) {
	parser, err := kong.New(&commandLine{}, append(mappers(), kong.Name("dx"), kong.Vars{"version": "test"})...)
	if err != nil {
		t.Fatal(err)
	}
	integers := 0
	check := func(path string, v *kong.Value) {
		kind := v.Target.Type()
		for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
			kind = kind.Elem()
		}
		if !kind.ConvertibleTo(reflect.TypeFor[int64]()) || kind.Kind() == reflect.Float64 || kind == reflect.TypeFor[time.Duration]() || kind == reflect.TypeFor[slog.Level]() {
			return
		}
		integers++
		parse := func(text string) (int64, error) {
			target := reflect.New(v.Target.Type()).Elem()
			err := v.Parse(kong.ScanAsType(kong.FlagValueToken, text), target)
			for target.Kind() == reflect.Pointer && !target.IsNil() {
				target = target.Elem()
			}
			if target.Kind() == reflect.Slice && target.Len() == 1 {
				target = target.Index(0)
			}
			if err != nil || !target.CanConvert(reflect.TypeFor[int64]()) {
				return 0, err
			}
			return target.Convert(reflect.TypeFor[int64]()).Int(), nil
		}
		unit := ""
		if kind.Name() == "lifetime" {
			unit = "d"
		}
		ten, err := parse("10" + unit)
		if got, e := parse("010" + unit); err != nil || e != nil || got != ten || ten == 0 {
			t.Errorf("%s: 010 is %d (%v), and 10 is %d (%v)", path, got, e, ten, err)
		}
		for _, text := range []string{"0x10", "0b10", "0o10", "1_000", "+5", "-5", " 5", "5 ", "1e3", "٣", "99999999999999999999999"} {
			if got, err := parse(text + unit); err == nil {
				t.Errorf("%s: %q is %d", path, text+unit, got)
			}
		}
	}
	for _, leaf := range parser.Model.Leaves(false) {
		for _, p := range leaf.Positional {
			check(leaf.Path(), p)
		}
		for _, f := range leaf.Flags {
			check(leaf.Path()+" --"+f.Name, f.Value)
		}
	}
	if integers < 70 {
		t.Errorf("only %d integers", integers)
	}
}

// Variables and files have the same integers as arguments. An integer that is not one exits 2.
func TestIntegersOfVariablesAndFiles(t *testing.T) {
	show := func(args ...string) (int, string) {
		code, out, errs := runCommand(append([]string{"config", "show"}, args...)...)
		return code, out + errs
	}
	file := func(text string) string { return textFile(t, "dx.toml", text) }
	if code, text := show("--write-floor", "010"); code != 0 || !strings.Contains(strings.Join(strings.Fields(text), " "), "write-floor 10 --write-floor") {
		t.Errorf("exit %d: %s", code, text)
	}
	for _, text := range []string{"0x10", "1_000", "+5", "-5"} {
		if code, out := show("--config", file("write_floor = "+text)); code != 2 || !strings.Contains(out, "line 1: write_floor must be a whole number") {
			t.Errorf("a file with %s: exit %d: %.300s", text, code, out)
		}
		t.Setenv("DX_WRITE_FLOOR", text)
		if code, out := show(); code != 2 || !strings.Contains(out, "DX_WRITE_FLOOR") && !strings.Contains(out, "--write-floor") {
			t.Errorf("DX_WRITE_FLOOR=%s: exit %d: %.300s", text, code, out)
		}
		os.Unsetenv("DX_WRITE_FLOOR")
	}
	for text, want := range map[string]string{"[min_sources]\nBTC = 0x2": "line 2: BTC must be a whole number", "min_sources = {BTC = +2}": "line 1: min_sources must be a whole number"} {
		if code, out := show("--config", file(text)); code != 2 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d: %.300s, want %s", text, code, out, want)
		}
	}
	if code, out := show("--min-sources", "BTC=0x2"); code != 2 {
		t.Errorf("exit %d: %.300s", code, out)
	}
	const qty = "<qty>: must be a whole number from 1 to 1,000,000, and not "
	for _, text := range []string{"0x10", "0", "-5", "-0x10", "1000001", "18446744073709551616"} {
		expectCommand(t, 2, qty+strconv.Quote(text), "order", "buy", "yes", text, "@10", "--series", "btc-15m")
		expectCommand(t, 2, qty+strconv.Quote(text), "buy", "yes", text)
		expectCommand(t, 2, qty+strconv.Quote(text), "replace", "7", text, "@10")
	}
	expectCommand(t, 2, `--limit: must be a whole number from 1 to 1,000, and not "0"`, "orders", "--limit", "0")
	expectCommand(t, 2, `--group: must be at most 4,294,967,295, and not 4294967296`, "buy", "yes", "1", "--group", "4294967296")
	expectCommand(t, 2, "unknown flag -x", "buy", "yes", "-x")
}

// TestBoundsAreTheVenues checks that the bounds of arguments are those of the venue.
func TestBoundsAreTheVenues(t *testing.T) {
	parser, err := kong.New(&commandLine{}, kong.Name("dx"), kong.Vars{"version": "test"})
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]int{}
	for _, leaf := range parser.Model.Leaves(false) {
		values := slices.Clone(leaf.Positional)
		for _, f := range leaf.Flags {
			values = append(values, f.Value)
		}
		for _, v := range values {
			if most, bounded := map[string]int{"qty": schemas.QtyMax, "limit": schemas.PageMax}[v.Name]; bounded {
				if checked[v.Name]++; v.Tag.Get("within") != fmt.Sprintf("1,%d", most) {
					t.Errorf("%s %s is within %q", leaf.Path(), v.Name, v.Tag.Get("within"))
				}
			}
		}
	}
	if checked["qty"] != 2 || checked["limit"] < 10 {
		t.Errorf("only %v", checked)
	}
}

// TestSecretsAreTrimmed checks that every secret of a flag, a variable, the settings file or a profile may
// have white space around it, as cat and editors leave it, and that the venue refuses a weak token.
func TestSecretsAreTrimmed(t *testing.T) {
	parser, err := kong.New(&commandLine{}, append(mappers(), kong.Name("dx"), kong.Vars{"version": "test"})...)
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{"key", "secret", "funding-secret", "master-key", "master-key-old", "operator-token", "pyth-key", "signup-token"}
	token, checked := strings.Repeat("0123456789abcdef", 2), map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		for _, f := range leaf.Flags {
			if !slices.Contains(secrets, f.Name) {
				continue
			}
			checked[f.Name] = true
			target := reflect.New(f.Target.Type()).Elem()
			err := f.Parse(kong.ScanAsType(kong.FlagValueToken, " "+token+" \r\n"), target)
			if got := strings.Trim(fmt.Sprint(target), "[]"); err != nil || got != token {
				t.Errorf("%s --%s with white space: %q, %v, want the token alone", leaf.Path(), f.Name, got, err)
			}
		}
	}
	if len(checked) != len(secrets) {
		t.Errorf("only %v", checked)
	}
	for _, weak := range []string{"open", strings.Repeat("x", 31), strings.Repeat("x", 64), token + " " + token, token + "é"} {
		expectCommand(t, 2, "--operator-token: must be at least 32 random characters", "config", "check", "--operator-token", weak)
	}
	t.Setenv("DX_OPERATOR_TOKEN", token+"\n")
	expectCommand(t, 0, "", "config", "check")
}
