package cli

import (
	"time"

	"duplex/schemas"
)

// Zone is the time zone in which a command shows times to people: UTC, or with --local that of this
// machine. Programs get the venue's nanoseconds.
type Zone struct {
	Local bool `help:"Show times in the zone of this machine instead of UTC."`
}

// location is one offset for all times of a table, also where daylight saving begins or ends between
// them, so that its heading names the zone of every row.
func (z Zone) location() *time.Location {
	if !z.Local {
		return time.UTC
	}
	return time.FixedZone(time.Now().In(time.Local).Zone())
}

// String is the name of the zone.
func (z Zone) String() string { return z.location().String() }

// Column is the name of a column of times: its title and the zone.
func (z Zone) Column(title string) string { return title + " (" + z.String() + ")" }

// Format formats a time of the venue; 0 is a dash.
func (z Zone) Format(ts schemas.U64, layout string) string {
	if ts == 0 {
		return "-"
	}
	return z.In(time.Unix(0, ts.Int64())).Format(layout)
}

// In returns a time in the zone.
func (z Zone) In(t time.Time) time.Time { return t.In(z.location()) }
