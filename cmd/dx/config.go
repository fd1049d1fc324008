package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"duplex/cmd/dx/cli"
	"duplex/internal/address"
)

// configCmd is `dx config`.
type configCmd struct {
	Check configCheck `cmd:"" help:"Check the settings of dx serve without starting it."`
	Show  configShow  `cmd:"" help:"Show the settings of dx serve and where each comes from."`
}

type configCheck struct{ serveSettings }

func (c *configCheck) Help() string {
	return `Reads the file, the environment and the flags as dx serve does. It names a setting that cannot work, and exits with code 2.

Examples:
  dx config check --config dx.toml
  DX_DISPUTE=10s dx config check --config dx.toml`
}

func (c *configCheck) Run(out io.Writer) error {
	if _, err := c.options(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "sound")
	return err
}

type configShow struct{ serveSettings }

func (c *configShow) Help() string {
	return `Each line shows a setting, its value, and where it comes from: a flag, an environment variable, a line of the file of --config or of dx.toml in this folder, or the default. Secrets are not shown, nor are the user part and the query of a URL.

Example:
  dx config show --config dx.toml`
}

func (c *configShow) Run(k *kong.Context, out io.Writer) error {
	lines := map[string]string{}
	if err := addSettingLines(lines, folderConfig); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range k.Flags() {
		if f.Name != "config" || !f.Target.IsValid() || f.Target.IsZero() {
			continue
		}
		if err := addSettingLines(lines, fmt.Sprint(f.Target.Interface())); err != nil { // it goes before that of the folder
			return err
		}
	}
	t := cli.NewTable("SETTING", "VALUE", "FROM")
	for _, f := range k.Flags() {
		if !slices.Contains(noSettings, f.Name) {
			t.Row(f.Name, shownValue(f), valueOrigin(k, f, lines))
		}
	}
	return t.Print(out, "")
}

// noSettings are the flags of every command that a file cannot set.
var noSettings = []string{"help", "version", "config"}

// shownValue returns the value of a setting: of a secret only that it is set, and URLs as address.Show does.
func shownValue(f *kong.Flag) string {
	if f.Tag.Type == "secret" || f.Tag.Type == "token" {
		if f.Target.IsZero() {
			return "-"
		}
		return "(set)"
	}
	target := f.Target
	if target.Kind() == reflect.Pointer {
		if target.IsNil() {
			return "-"
		}
		target = target.Elem()
	}
	var shown []string
	switch target.Kind() {
	case reflect.Map:
		for name, v := range target.Seq2() {
			shown = append(shown, fmt.Sprintf("%v:%s", name, address.Show(fmt.Sprint(v))))
		}
		slices.Sort(shown)
	case reflect.Slice:
		for i := range target.Len() {
			shown = append(shown, address.Show(fmt.Sprint(target.Index(i))))
		}
	default:
		shown = []string{address.Show(fmt.Sprint(target))}
	}
	return cmp.Or(strings.Join(shown, " "), "-")
}

// valueOrigin returns where a value comes from. A flag takes precedence over the
// environment, and the environment over the file.
func valueOrigin(k *kong.Context, f *kong.Flag, lines map[string]string) string {
	if onCommandLine(k, f.Name) {
		return "--" + f.Name
	}
	if env := setEnvName(f); env != "" {
		return env
	}
	return cmp.Or(lines[f.Name], "default")
}

// onCommandLine reports whether the command line sets a flag.
func onCommandLine(k *kong.Context, name string) bool {
	return slices.ContainsFunc(k.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == name && !p.Resolved })
}

// folderConfig is the settings file that every command reads if the folder has one.
const folderConfig = "dx.toml"

var settingLine = regexp.MustCompile(`^\s*\[?\s*"?([A-Za-z0-9_-]+)"?\s*[=\]]`)

// addSettingLines adds the file and line of each setting in a file.
func addSettingLines(lines map[string]string, file string) error {
	text, err := os.ReadFile(file)
	for name, line := range settingLines(text) {
		lines[name] = fmt.Sprintf("%s:%d", file, line)
	}
	return err
}

// settingLines returns the line of each setting in the text of a file, from 1.
func settingLines(text []byte) map[string]int {
	lines := map[string]int{}
	for i, line := range strings.Split(strings.TrimPrefix(string(text), byteOrderMark), "\n") {
		if m := settingLine.FindStringSubmatch(line); m != nil {
			if name := settingName(m[1]); lines[name] == 0 {
				lines[name] = i + 1
			}
		}
	}
	return lines
}

// settingName returns the flag of a setting, which may be written with underscores.
func settingName(text string) string { return strings.ReplaceAll(text, "_", "-") }

// byteOrderMark is at the begin of a file that some editors write.
const byteOrderMark = "\ufeff"

// tomlFlags reads a TOML file whose settings are flags, such as `api = ":8080"`. An error has the line, and the file,
// which kong adds to what the parser finds. A setting that is not a flag of the command is an error.
func tomlFlags(r io.Reader) (kong.Resolver, error) {
	values := map[string]any{}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if err := toml.Unmarshal(text, &values); err != nil {
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := at.Position()
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		return nil, err
	}
	out := &fileFlags{values: values, lines: settingLines(text)}
	if f, ok := r.(interface{ Name() string }); ok {
		out.file = f.Name()
	}
	if name, err := checkIntegers(text); err != nil {
		return nil, fmt.Errorf("line %d: %s %w", out.lines[settingName(name)], name, err)
	}
	return out, nil
}

// checkIntegers checks that the integers of a settings file are decimal digits, as those of arguments
// are: TOML has 0x10 and 1_000, too. It returns the setting that is at fault.
func checkIntegers(text []byte) (name string, err error) {
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		if e := p.Expression(); e.Kind == unstable.KeyValue {
			k := e.Key()
			k.Next()
			if err := checkInteger(e.Value()); err != nil {
				return string(k.Node().Data), err
			}
		}
	}
	return "", nil
}

// checkInteger checks the integers of a value, or of a key and its value.
func checkInteger(n *unstable.Node) error {
	if n.Kind == unstable.KeyValue {
		n = n.Value()
	}
	switch n.Kind {
	case unstable.Integer:
		_, err := cli.ParseUint(string(n.Data), 64)
		return err
	case unstable.Array, unstable.InlineTable:
		for c := n.Children(); c.Next(); {
			if err := checkInteger(c.Node()); err != nil {
				return err
			}
		}
	}
	return nil
}

type fileFlags struct {
	values map[string]any
	file   string
	lines  map[string]int // of each
}

// place returns the file and line of a setting.
func (f *fileFlags) place(name string) string {
	return fmt.Sprintf("%s:%d", f.file, f.lines[settingName(name)])
}

func (f *fileFlags) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, n := range append([]*kong.Node{app.Node}, app.Leaves(true)...) {
		for _, flag := range n.Flags {
			known[flag.Name] = true
		}
	}
	for name := range f.values {
		flag := settingName(name)
		if !known[flag] {
			return fmt.Errorf("%s: no such setting: %s", f.place(name), name)
		}
		if flag != name && f.values[flag] != nil {
			return fmt.Errorf("%s: %s is set twice, also as %s", f.place(name), flag, name)
		}
	}
	return nil
}

// Resolve implements kong.Resolver. It returns a setting of the file, or nil if the
// environment has it too; kong prefers a flag of the command line by itself.
func (f *fileFlags) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if setEnvName(flag) != "" {
		return nil, nil
	}
	for _, name := range []string{flag.Name, strings.ReplaceAll(flag.Name, "-", "_")} {
		if v, ok := f.values[name]; ok {
			switch v.(type) {
			case []any, map[string]any: // several values, which the flag decodes itself
				if !flag.IsSlice() && !flag.IsMap() {
					return nil, fmt.Errorf("%s: one value is needed", f.place(flag.Name))
				}
				return v, nil
			}
			return fmt.Sprint(v), nil
		}
	}
	return nil, nil
}

// setEnvName returns the environment variable that sets a flag, or "" if none is set.
func setEnvName(flag *kong.Flag) string {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return name
		}
	}
	return ""
}
