package main

import (
	"errors"
	"strings"
	"syscall"

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
