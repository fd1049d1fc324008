package feeds

import (
	"context"
	"time"

	"duplex/core"
)

// Source is one source of prices of one feed (docs/rules/prices-sources.md#sources).
type Source interface {
	// Name is unique within the feed and never changes; the evidence of rounds
	// contains it.
	Name() string

	// Feed is the feed that the source prices.
	Feed() core.Feed

	// Run passes every price to out until ctx ends or the source fails, and leaves no
	// goroutine behind. One Run is one connection: it returns an error if the
	// connection stalls, and the caller runs it again after a backoff
	// (docs/rules/prices-sources.md#connections).
	//
	// at is the time of receipt by this machine's clock. A source counts values that
	// are not prices itself (CountingSource), or passes them on as 0, which the index
	// drops and counts. out does not block for long; calls of it must not overlap.
	Run(ctx context.Context, out func(price core.Price, at time.Time)) error
}

// Continuer is a source of prices of its own making, which go on from the venue's last index. Continue is called before
// Run.
type Continuer interface{ Continue(last core.Price) }

// Submit passes a command to the sequencer. It returns when ctx ends, at the latest.
type Submit func(ctx context.Context, cmd core.Command) error
