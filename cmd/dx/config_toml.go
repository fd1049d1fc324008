package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
)

// tomlFlags reads a file whose lines are flags: `api = ":8080"`. A line that is no
// flag of the command is an error that names it.
func tomlFlags(r io.Reader) (kong.Resolver, error) {
	values := map[string]any{}
	if err := toml.NewDecoder(r).Decode(&values); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return &fileFlags{values}, nil
}

type fileFlags struct{ values map[string]any }

func (f *fileFlags) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, n := range append([]*kong.Node{app.Node}, app.Leaves(true)...) {
		for _, flag := range n.Flags {
			known[flag.Name] = true
		}
	}
	for name := range f.values {
		if !known[strings.ReplaceAll(name, "_", "-")] {
			return fmt.Errorf("config: no such setting: %s", name)
		}
	}
	return nil
}

// Resolve gives a setting of the file. The environment goes before it, and a flag of
// the command line before both.
func (f *fileFlags) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if setEnvName(flag) != "" {
		return nil, nil
	}
	for _, name := range []string{flag.Name, strings.ReplaceAll(flag.Name, "-", "_")} {
		if v, ok := f.values[name]; ok {
			switch v.(type) {
			case []any, map[string]any: // several values, which the flag reads itself
				return v, nil
			}
			return fmt.Sprint(v), nil
		}
	}
	return nil, nil
}

// setEnvName is the variable of the environment that sets a flag; "" if none does.
func setEnvName(flag *kong.Flag) string {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return name
		}
	}
	return ""
}
