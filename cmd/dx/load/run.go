package load

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// Options configure a run.
type Options struct {
	Conns    int           // connections that send requests
	Duration time.Duration // of the run; with Frames, of each of its three phases
	Batch    int           // orders per request, up to schemas.BatchCap; without Mix
	Frames   bool          // also measure when frames arrive; without Mix
	Mix      string        // one of Mixes; "": placements only
	Rate     float64       // requests per second over all connections; 0: a closed loop; with Mix
	Readers  *int          // connections of the event lane; nil: FullReaders with the mix full, else none; with Mix
	Progress cli.Progress
}

// Validate returns a cli.FlagError for the first option that cannot work.
func (o *Options) Validate() error {
	switch {
	case o.Batch < 1 || o.Batch > schemas.BatchCap:
		return cli.BadFlag("batch", errors.New("must be 1 to 20"))
	case !(o.Rate >= 0) || math.IsInf(o.Rate, 1) || o.Rate > 0 && o.Mix == "":
		return cli.BadFlag("rate", errors.New("requires --mix, and must not be negative"))
	case o.Readers != nil && o.Mix == "":
		return cli.BadFlag("readers", errors.New("requires --mix"))
	case o.Conns < 1:
		return cli.BadFlag("conns", errors.New("must be 1 or more"))
	case o.Duration <= 0:
		return cli.BadFlag("duration", errors.New("must be more than 0"))
	}
	return nil
}

// Report is the result of a run: a *PlacementReport or a *MixReport. It encodes to JSON.
type Report interface {
	Print(out io.Writer) error // for people
}

// Run loads a venue. The options must be valid. A rejected request is part of the report;
// a lost connection of a client is an error.
func Run(ctx context.Context, v *Venue, o Options) (Report, error) {
	if o.Mix != "" {
		return runMix(ctx, v, &o)
	}
	return runPlacements(ctx, v, &o)
}
