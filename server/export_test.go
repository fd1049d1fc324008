package server

import (
	"log/slog"
	"time"

	"duplex/core/engine"
	"duplex/core/view"
	"duplex/feeds/session"
	"duplex/tools"
)

// Internals for the tests of package server_test.
var (
	Fingerprint       = fingerprint
	MasterKeyPath     = masterKeyPath
	NextMasterKeyPath = nextMasterKeyPath
	GCPercentFor      = gcPercentFor
	MinSourcesRule    = minSourcesRule
)

// ShortenStart makes a start that cannot succeed end soon, until undo.
func ShortenStart(d time.Duration) (undo func()) {
	own, abandon := ownCommandTimeout, abandonTimeout
	ownCommandTimeout, abandonTimeout = d, d
	return func() { ownCommandTimeout, abandonTimeout = own, abandon }
}

func CheckPorts(o *Options) error { return o.checkPorts() }

func (o *Options) SharedRate(write int64) int64 {
	c := tools.Config{}
	c.AccountRate, c.AccountRateGrows = o.accountRate()
	return c.SharedRate(write)
}

func (o *Options) KeysOfAnAccount() int { return o.accountKeys() }

// Adopted returns the options of a follower that adopts the settings of a member with these options.
func (o *Options) Adopted() (f Options, err error) {
	err = f.adopt(map[string]string{settingReadRate: "100", settingWriteFloor: "20", settingAccountRate: o.accountRateSetting()})
	return f, err
}

const AccountKeyLabel = accountKeyLabel

func SessionHoursOf(c *session.Calendar) tools.SessionCalendar { return sessionHours{c} }

func FingerprintPath(data string) string { return (&masterKeys{data: data}).fingerprintFile() }

func Fingerprints(data string) ([]string, error) { return (&masterKeys{data: data}).fingerprints() }

func SetFingerprints(data string, masters ...[]byte) error {
	return (&masterKeys{data: data}).setFingerprints(masters...)
}

// ArchiveHold is the engine's Hold of a venue that is not open yet.
func ArchiveHold(o Options) func(below uint64) uint64 {
	v, e := &Venue{options: o}, engine.Options{}
	v.newArchive(&e)
	return e.Hold
}

// ClusterSettings are the settings that every member must have alike.
func ClusterSettings(o Options) map[string]string {
	return (&Venue{options: o}).clusterSettings(view.RetentionCaps{})
}

type StartProgress struct{ *startProgress }

func NewStartProgress(log *slog.Logger, report func(Progress)) StartProgress {
	return StartProgress{newStartProgress(log, report)}
}

func (s StartProgress) Update(p engine.Progress)        { s.update(p) }
func (s StartProgress) End(e *engine.Engine, err error) { s.end(e, err) }

// Elapse lets the time until the next line of the log pass.
func (s StartProgress) Elapse() { s.logged = s.logged.Add(-progressLogInterval) }
