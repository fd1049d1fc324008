package server

import (
	"errors"
	"path/filepath"
	"strings"

	"duplex/core/engine"
	"duplex/core/mirror"
	"duplex/core/view"
)

// MirrorOptions returns the options of the mirror of a data folder, which Options.Mirror names. ok is
// false if there is none.
func MirrorOptions(data, name string) (o mirror.Options, ok bool, err error) {
	o = mirror.Options{DSN: name, Dir: filepath.Join(data, "mirror"), Journal: filepath.Join(data, "journal")}
	switch {
	case name == "" || name == "off":
		return o, false, nil
	case name == "sqlite":
		o.DSN = mirror.SQLitePath(data)
	case !strings.HasPrefix(name, "postgres://") && !strings.HasPrefix(name, "postgresql://"):
		return o, false, errors.New("off, sqlite or postgres://user:password@host:5432/database")
	}
	return o, true, mirror.CheckDSN(o.DSN)
}

// newMirror creates the mirror, so that the journal keeps what it has not read.
func (v *Venue) newMirror(e *engine.Options) error {
	o, ok, err := MirrorOptions(v.options.Data, v.options.Mirror)
	if err != nil {
		return &OptionError{"Mirror", err}
	}
	if !ok {
		return nil
	}
	o.Journal, o.HoldBytes, o.Logf = v.keys.journal(), v.options.MirrorHold, e.Logf
	o.Copied = v.options.Follow != nil
	o.Busy = func() bool { return v.engine.QueueDepth() > 0 }
	v.mirror = mirror.New(o)
	e.Hold = v.mirror.Hold
	if e.Caps == (view.RetentionCaps{}) {
		e.Caps = view.MirroredRetentionCaps()
	}
	return nil
}

// startMirror starts the mirror. Its errors never stop the venue.
func (v *Venue) startMirror() error {
	if v.mirror == nil {
		return nil
	}
	l, ok := v.engine.Log().(mirror.Log)
	if !ok {
		return &OptionError{"Mirror", errors.New("the log of this venue cannot be read by a mirror")}
	}
	v.mirror.Start(l)
	return nil
}
