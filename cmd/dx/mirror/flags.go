package mirror

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"duplex/cmd/dx/cli"
	"duplex/core/mirror"
	"duplex/server"
)

// Flags choose the mirror of a venue.
type Flags struct {
	Mirror     string `help:"Database of the whole history: sqlite (a file in the data directory), postgres://USER:PASSWORD@HOST/DATABASE or off." default:"sqlite"`
	MirrorHold Size   `help:"Most of the journal to keep for a mirror that is behind, such as 500MiB; beyond it the mirror stops until dx mirror rebuild." default:"20GiB"`
}

// To sets the flags in the options of a venue.
func (f *Flags) To(o *server.Options) error {
	o.Mirror, o.MirrorHold = f.Mirror, int64(f.MirrorHold)
	return f.Check()
}

// Check checks the flags.
func (f *Flags) Check() error {
	if _, _, err := server.MirrorOptions("", f.Mirror); err != nil {
		return cli.BadFlag("mirror", err)
	}
	return nil
}

// Size is a number of bytes, written as 20GiB, 500MiB, 64KiB or a plain number.
type Size int64

var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}

// UnmarshalText parses a size of at least 1 byte.
func (s *Size) UnmarshalText(text []byte) error {
	for _, u := range units {
		digits, ok := strings.CutSuffix(string(text), u.name)
		if !ok {
			continue
		}
		n, err := cli.ParseUint(digits, 64)
		if err != nil || n < 1 || n > uint64(math.MaxInt64/u.bytes) {
			break
		}
		*s = Size(int64(n) * u.bytes)
		return nil
	}
	return errors.New("a number of bytes is wanted, such as 20GiB, 500MiB or 1073741824")
}

// String writes the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range units {
		if int64(s)%u.bytes == 0 {
			return fmt.Sprint(int64(s)/u.bytes, u.name)
		}
	}
	return ""
}

// source names a data folder and its mirror, for the commands.
type source struct {
	Data   string `help:"Data directory of the venue, which may be running." default:"dx-data" type:"existingdir" env:"DX_DATA"`
	Mirror string `help:"Its mirror: sqlite or postgres://USER:PASSWORD@HOST/DATABASE." default:"sqlite" env:"DX_MIRROR"`
}

func (s *source) options() (mirror.Options, error) {
	o, ok, err := server.MirrorOptions(s.Data, s.Mirror)
	if err == nil && !ok {
		err = errors.New("there is no mirror to look at")
	}
	if err != nil {
		return o, cli.BadFlag("mirror", err)
	}
	return o, nil
}
