package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"duplex/cluster"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/replica"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/atomicfile"
)

// EnvironmentFile is the name of the file beside the log of a journal that says what its venue is for:
// dev, live or arena, and a line feed (docs/rules/operation.md#environment). The log records the same.
const EnvironmentFile = "environment"

// checkEnvironment returns an OptionError if the data folder belongs to a venue of another environment.
// It changes no byte.
func checkEnvironment(o *Options) error {
	if o.Follow != nil {
		settings, err := cluster.RecordedSettings(o.Data)
		if damage := (*journal.Damage)(nil); settings[settingEnvironment] == "" || errors.As(err, &damage) {
			return nil // a new follower learns it from the members, and the start reports damage
		}
		if err != nil {
			return err
		}
		o.Environment = settings[settingEnvironment]
	}
	dir := filepath.Join(o.Data, "journal")
	name, err := markedEnvironment(dir)
	if err == nil {
		return sameEnvironment(o, name)
	}
	if damage := (*journal.Damage)(nil); !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &damage) {
		return err
	}
	if !engine.HasJournal(dir) {
		return nil // a new venue
	}
	recorded, empty, err := recordedEnvironment(dir)
	if damage := (*journal.Damage)(nil); errors.As(err, &damage) {
		return nil // the engine reports it
	}
	if o.Follow != nil && (err != nil || recorded == core.EnvironmentNone) {
		return nil // a follower replaces a log that nothing continues, and its cluster may be about to record it
	}
	if err != nil || empty {
		return err
	}
	return sameEnvironment(o, nameOf(recorded))
}

// markedEnvironment reads the file that says what the venue of a journal is for. Errors: fs.ErrNotExist, a
// *journal.Damage if it names no environment, or one of the disk.
func markedEnvironment(dir string) (string, error) {
	file := filepath.Join(dir, EnvironmentFile)
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	name, ended := strings.CutSuffix(string(b), "\n")
	if core.EnvironmentOf(name) == core.EnvironmentNone || !ended {
		return "", &journal.Damage{File: file, Err: fmt.Errorf("%.40q is not an environment", b)}
	}
	return name, nil
}

// nameOf returns the name of a recorded environment. A venue without one is live.
func nameOf(e core.Environment) string {
	if e == core.EnvironmentNone {
		e = core.EnvironmentLive
	}
	return e.String()
}

// sameEnvironment compares the environment of the data folder with that of the options.
func sameEnvironment(o *Options, recorded string) error {
	if recorded == o.Environment {
		return nil
	}
	return &OptionError{"Data", fmt.Errorf("%s holds a %s venue, and this command runs a %s venue: name another folder", o.Data, recorded, o.Environment)}
}

// recordedEnvironment returns the environment in the newest snapshot of a journal or, if it has none, in
// the log behind it. empty reports whether there is no command at all.
func recordedEnvironment(dir string) (e core.Environment, empty bool, err error) {
	r, err := replica.Restore(dir, view.DefaultRetentionCaps(), nil)
	if err != nil {
		return e, false, err
	}
	if e := r.Venue.Rules().Environment; e != core.EnvironmentNone {
		return e, false, nil
	}
	empty = r.Snapshot.Seq == 0
	for at, err := range journal.Check(dir, r.Snapshot.Position, r.Snapshot.Number+1) {
		if torn := (*journal.Torn)(nil); errors.As(err, &torn) {
			break
		}
		if err != nil {
			return e, false, err
		}
		for cmd, err := range journal.Commands(at.Body) {
			if err != nil {
				return e, false, err
			}
			empty = false
			if m, ok := cmd.(*core.Marked); ok {
				cmd = m.Command
			}
			if c, ok := cmd.(*core.ActivateRules); ok && c.Environment != core.EnvironmentNone {
				return c.Environment, false, nil
			}
		}
	}
	return e, empty, nil
}

// checkRecordedEnvironment compares the environment of the log with that of the options, for a journal
// beside a file that is not its own.
func (v *Venue) checkRecordedEnvironment() error {
	var recorded core.Environment
	var at core.Stamp
	v.engine.Read(func(s *venue.Venue, _ *view.View) { recorded, at = s.Rules().Environment, s.Now() })
	if at.Seq == 0 || v.follower != nil && recorded == core.EnvironmentNone {
		return nil
	}
	return sameEnvironment(&v.options, nameOf(recorded))
}

// markEnvironment writes the file that says what the venue is for, if there is none or it is damaged.
func (v *Venue) markEnvironment() error {
	_, err := markedEnvironment(v.keys.journal())
	damage := (*journal.Damage)(nil)
	switch {
	case errors.As(err, &damage):
		v.options.Log.Warn("a damaged file is written anew from the journal", "file", damage.File, "err", damage.Err)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return atomicfile.Write(filepath.Join(v.keys.journal(), EnvironmentFile), []byte(v.options.Environment+"\n"))
}
