package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
)

// seen counts the kinds of commands and events in a run of the workload, by type name.
type seen struct {
	commands map[string]int
	emitting map[string]int // commands that emitted at least one event
	events   map[string]int
}

func (s *seen) note(cmd core.Command, events []core.Event) {
	s.commands[typeName(cmd)]++
	if len(events) > 0 {
		s.emitting[typeName(cmd)]++
	}
	for _, e := range events {
		s.events[typeName(e)]++
	}
}

// completeness is what the test knows of one kind of command.
type completeness struct {
	cmd   core.Command // nil: the journal has no kind of that name
	seen  *seen
	name  string
	audit bool // the command has an Audit
}

// engineOnly lists commands that only the engine creates; the workload draws none of them.
var engineOnly = []string{"Checkpoint", "Attest"}

// withoutEvent lists commands that emit no event.
var withoutEvent = []string{"Checkpoint", "Attest", "ActivateRules", "SetRules"}

// parts has a check for each file that a new command touches, as core/doc.go lists them. A
// check returns what is missing for the command in that file, or "".
var parts = map[string]func(c *completeness) string{
	"core/command.go": func(c *completeness) string {
		v := reflect.ValueOf(core.Unmarked(c.cmd)).Elem()
		field := v.FieldByName("User")
		if !field.IsValid() {
			field = v.FieldByName("Owner")
		}
		if field.IsValid() {
			field.SetUint(77)
		}
		switch class, user := core.ClassOf(c.cmd); {
		case class >= core.Classes:
			return "a class that core has"
		case class == core.ClassSystem && field.IsValid() && !c.audit:
			return "the class of an account's command: it has a User and no Audit, and would be queued before cancels"
		case class == core.ClassSystem && user != 0, class != core.ClassSystem && user != 77:
			return "the account that class names"
		}
		if key, signed := v.FieldByName("Key"), core.KeyField(core.Unmarked(c.cmd)) != nil; signed != (key.IsValid() && key.Type() == reflect.TypeFor[core.KeyNumber]()) {
			return "its case in KeyField, without which nobody checks its key"
		}
		return ""
	},
	"core/event.go": func(c *completeness) string {
		if c.seen.emitting[c.name] == 0 && !slices.Contains(withoutEvent, c.name) {
			return "an event"
		}
		return ""
	},
	"core/journal/codec.go": func(c *completeness) string {
		b, err := journal.Encode(nil, c.cmd)
		if err != nil && c.name != "SetRules" { // an empty grid has no step
			return err.Error()
		} else if err != nil {
			return ""
		}
		if back, err := journal.Decode(b); err != nil || !reflect.DeepEqual(back, c.cmd) {
			return "a decoding that returns what was encoded"
		}
		return ""
	},
	"core/venue/venue.go": func(c *completeness) string {
		if panics(func() { venue.New().Apply(core.Stamp{Seq: 1, Ts: 1}, c.cmd, &core.Events{}) }) {
			return "a case in apply"
		}
		return ""
	},
	"core/view/view.go": func(*completeness) string { return "" }, // workloadRun folds every event
	"core/view/activity.go": func(c *completeness) string {
		w := view.New(view.DefaultRetentionCaps())
		w.Fold(core.Stamp{Seq: 1}, []core.Event{&core.UserChanged{User: core.User{ID: 77, Agent: &core.Agent{Owner: 1}}}})
		w.Record(core.Stamp{Seq: 2}, c.cmd, core.OK, nil, nil)
		if core.KeyField(c.cmd) != nil && len(maps.Collect(w.Activity(77, 0))) == 0 {
			return "its operation, which a command has that a key signs"
		}
		return ""
	},
	"core/view/audit.go": func(c *completeness) string {
		w := view.New(view.DefaultRetentionCaps())
		w.Record(core.Stamp{Seq: 1}, c.cmd, core.OK, nil, nil)
		if recorded := w.ActionCount() == 1; recorded != c.audit {
			return "its action, which a command has if and only if it has an Audit"
		}
		return ""
	},
	"core/sim/model/model.go": func(c *completeness) string {
		if panics(func() { newDirectRun(1).m.Apply(core.Stamp{Seq: 1, Ts: 1}, c.cmd) }) {
			return "a case in apply"
		}
		return ""
	},
	"core/sim/workload.go": func(c *completeness) string {
		if c.seen.commands[c.name] == 0 && !slices.Contains(engineOnly, c.name) {
			return "a draw"
		}
		return ""
	},
}

// TestEveryCommandIsComplete fails for a command that is missing in one of the files of
// parts, for an event that no command emits, and if core/doc.go lists other files.
func TestEveryCommandIsComplete(t *testing.T) {
	seen := workloadRun(t)
	kinds := map[string]core.Command{}
	for _, cmd := range journal.Kinds() {
		kinds[typeName(cmd)] = cmd
	}
	commands := receivers(t, "class")
	for _, name := range commands {
		c := &completeness{cmd: kinds[name], seen: seen, name: name}
		if c.cmd == nil {
			t.Errorf("core.%s is missing in the table of kinds of core/journal/codec.go", name)
			continue
		}
		if audit := reflect.ValueOf(c.cmd).Elem().FieldByName("Audit"); audit.IsValid() {
			c.audit = true
			audit.Set(reflect.ValueOf(core.Audit{Who: "operator", Why: "a test"}))
		}
		for _, file := range slices.Sorted(maps.Keys(parts)) {
			if lacks := parts[file](c); lacks != "" {
				t.Errorf("core.%s: %s lacks %s", name, file, lacks)
			}
		}
	}
	for name := range kinds {
		if !slices.Contains(commands, name) {
			t.Errorf("core/journal/codec.go has a kind %s, but core has no such command", name)
		}
	}
	for _, name := range receivers(t, "event") {
		if seen.events[name] == 0 {
			t.Errorf("core.%s: no command of the workload emits this event", name)
		}
	}
	if got, want := listedFiles(t), slices.Sorted(maps.Keys(parts)); !slices.Equal(got, want) {
		t.Errorf("core/doc.go lists the files %q, but this test checks %q", got, want)
	}
}

// workloadRun runs the workload of a few seeds against venue, model and view.
func workloadRun(t *testing.T) *seen {
	t.Helper()
	s := &seen{commands: map[string]int{}, emitting: map[string]int{}, events: map[string]int{}}
	for seed := uint64(1); seed <= 8; seed++ {
		d := newDirectRun(seed)
		w := view.New(view.DefaultRetentionCaps())
		d.applied = func(at core.Stamp, cmd core.Command, events []core.Event) {
			s.note(cmd, events)
			w.Fold(at, events)
		}
		if err := d.run(4000, 4000); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func typeName(x any) string { return reflect.TypeOf(x).Elem().Name() }

func panics(f func()) (is bool) {
	defer func() { is = recover() != nil }()
	f()
	return false
}

// receivers returns the types in the sources of core that have a method.
func receivers(t *testing.T, method string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == method {
				names = append(names, fn.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name)
			}
		}
	}
	if len(names) < 15 {
		t.Fatalf("only %d types with the method %s", len(names), method)
	}
	return names
}

// listedFiles returns the files in the list of core/doc.go.
func listedFiles(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, m := range regexp.MustCompile(`(?m)^//\t(core/\S+\.go) `).FindAllSubmatch(text, -1) {
		files = append(files, string(m[1]))
		if _, err := os.Stat(filepath.Join("../..", string(m[1]))); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(files)
	return files
}
