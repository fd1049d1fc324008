package server

import (
	"log/slog"

	"duplex/core/engine"
	"duplex/feeds/session"
	"duplex/tools"
)

// Internals for the tests of package server_test.
var (
	LoadOrCreateSecret = loadOrCreateSecret
	Fingerprint        = fingerprint
	MasterKeyPath      = masterKeyPath
	NextMasterKeyPath  = nextMasterKeyPath
	GCPercentFor       = gcPercentFor
	MinSourcesRule     = minSourcesRule
)

const AccountKeyLabel = accountKeyLabel

func SessionHoursOf(c *session.Calendar) tools.SessionCalendar { return sessionHours{c} }

func FingerprintFile(data string) string { return (&masterKeys{data: data}).fingerprintFile() }

func Fingerprints(data string) ([]string, error) { return (&masterKeys{data: data}).fingerprints() }

func SetFingerprints(data string, masters ...[]byte) error {
	return (&masterKeys{data: data}).setFingerprints(masters...)
}

type StartProgress struct{ *startProgress }

func NewStartProgress(log *slog.Logger, report func(Progress)) StartProgress {
	return StartProgress{newStartProgress(log, report)}
}

func (s StartProgress) Update(p engine.Progress)        { s.update(p) }
func (s StartProgress) End(e *engine.Engine, err error) { s.end(e, err) }

// Elapse lets the time until the next line of the log pass.
func (s StartProgress) Elapse() { s.logged = s.logged.Add(-progressLogInterval) }
