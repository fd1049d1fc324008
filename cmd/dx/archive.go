package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/mirror"
	"duplex/server"
)

// archiveFlags choose the archive of a venue (docs/rules/operation.md#archive).
type archiveFlags struct {
	ArchiveTo    string        `help:"Folder on another disk that gets a verified copy of the journal and its snapshots." placeholder:"DIR" type:"path"`
	ArchiveEvery time.Duration `help:"Time between two copies to the archive." default:"1m"`
	ArchiveHold  mirror.Size   `help:"Most of the journal to keep because the archive lacks it; beyond it the journal is trimmed." default:"20GiB"`
	ArchiveKeep  time.Duration `help:"How much of the journal a replay can cover at least; on a node of a cluster at least 25h, which is its default. 0: what the newest two snapshots need." default:"0s"`
}

// to sets the flags in the options of a venue.
func (f *archiveFlags) to(o *server.Options) {
	o.ArchiveTo, o.ArchiveEvery, o.ArchiveHold, o.ArchiveKeep = f.ArchiveTo, f.ArchiveEvery, int64(f.ArchiveHold), f.ArchiveKeep
}

// check checks the flags of a venue whose data is in data. several says that it is a node of a cluster.
func (f *archiveFlags) check(data string, several bool) error {
	if f.ArchiveKeep < 0 || several && f.ArchiveKeep != 0 && f.ArchiveKeep < server.MinArchiveKeep {
		return cli.BadFlag("archive-keep", fmt.Errorf("must be at least %v on a node of a cluster", server.MinArchiveKeep))
	}
	if f.ArchiveEvery < time.Second || f.ArchiveEvery > 24*time.Hour {
		return cli.BadFlag("archive-every", errors.New("must be 1s to 24h"))
	}
	if f.ArchiveTo == "" {
		return nil
	}
	inside, err := filepath.Rel(data, f.ArchiveTo)
	if err == nil && inside != ".." && !strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return cli.BadFlag("archive-to", errors.New("must be outside of the data directory, on another disk"))
	}
	return nil
}
