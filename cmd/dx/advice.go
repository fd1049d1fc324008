package main

import (
	"errors"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"duplex/cmd/dx/cli"
	"duplex/core/journal"
)

// advice returns a pointer to the section of the runbook for an error of the disk or of the
// journal, or "" for other errors.
func advice(err error) string {
	var damage *journal.Damage
	damaged, section := errors.As(err, &damage), ""
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		section = "a-full-disk"
	case errors.Is(err, journal.ErrNoMark), damaged && strings.HasSuffix(damage.File, "MARK"):
		section = "a-lost-mark"
	case damaged && strings.HasSuffix(damage.File, ".snapshot"):
		section = "a-damaged-snapshot"
	case damaged:
		section = "a-damaged-journal"
	default:
		return ""
	}
	return "what to do: docs/operations/recovery.md#" + section
}

// keyAdvice returns the command that makes another key, for an error of a command whose key the venue does not have. It
// is "" if there is no dev file: then dx agent needs the address of a portal, which is not known here.
func keyAdvice(err error, cmd *kong.Context) string {
	if _, ok := errors.AsType[cli.UnauthorizedError](err); !ok {
		return ""
	}
	var devFile, profile string
	for _, f := range cmd.Flags() {
		switch f.Name {
		case "dev-file":
			devFile, _ = cmd.FlagValue(f).(string)
		case "profile":
			profile, _ = cmd.FlagValue(f).(string)
		}
	}
	command, ok := cli.NewKeyCommand(devFile, profile)
	if !ok {
		return ""
	}
	return "another key of an agent: " + command
}
