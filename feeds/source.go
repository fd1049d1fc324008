package feeds

import (
	"context"
	"time"

	"duplex/core"
)

// Source is one place that prices one feed.
type Source interface {
	// Name is the source's, unique within its feed and the same for good: it is
	// kept with the evidence of rounds.
	Name() string

	// Feed is what it prices.
	Feed() core.Feed

	// Run hands every price to out until ctx ends or the source fails, and
	// leaves no goroutine behind. It is one connection: whoever called it calls
	// again after a while, so that backoff is not the source's business; a
	// stalled socket is (contract oracle, Rule), and ends Run with an error.
	//
	// at is when the price was received, by this machine's clock. What a source
	// sent that is no price is counted by the source itself (Counter), or handed
	// on as 0, which is dropped and counted. out never blocks for long and may be
	// called from one goroutine at a time.
	Run(ctx context.Context, out func(price core.Price, at time.Time)) error
}

// Submit brings a command to the sequencer. It returns once ctx ends.
type Submit func(ctx context.Context, cmd core.Command) error
