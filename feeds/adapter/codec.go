package adapter

import (
	"errors"
	"fmt"
	"net/http"

	"duplex/core"
	"duplex/feeds"
)

// Codec is the protocol of one venue for one product.
type Codec struct {
	Name             string // of the source
	Feed             core.Feed
	URL              string      // ws or wss; http or https for server-sent events
	Header           http.Header // of the request; may contain a key, never logged
	ServerSentEvents bool        // whether to use server-sent events instead of a WebSocket

	Subscribe       string // the first message to send; empty for none
	Heartbeat       string // sent every 4 s so that a quiet venue answers; empty for none
	MaxMessageBytes int64  // of a received message; 0 means 64 KiB

	// Parse returns the values of one message, in order; none for a heartbeat or an
	// acknowledgement. An error ends the connection: ErrReconnectRequested, or one
	// from Rejected.
	Parse func(message []byte) ([]Quote, error)
}

const defaultMaxMessageBytes = 64 << 10

func (t *Codec) maxMessageBytes() int64 {
	if t.MaxMessageBytes == 0 {
		return defaultMaxMessageBytes
	}
	return t.MaxMessageBytes
}

// Errors that end a Run, besides those of the network.
var (
	ErrStalled            = errors.New("adapter: no message for 10 s")
	ErrReconnectRequested = errors.New("adapter: the venue requested a new connection")
	ErrRejected           = errors.New("adapter: rejected")
	ErrMaxAge             = errors.New("adapter: the connection reached its maximum age")
	ErrTooManyDrops       = errors.New("adapter: too many bad values in a row")
)

// Quote is one value of a message: a price, or the reason to drop it.
type Quote struct {
	Price core.Price
	Drop  feeds.DropReason
	Stamp int64  // the venue's time in ns; 0 if the message has none
	Seq   uint64 // the venue's sequence number; 0 if the message has none
}

// Dropped returns one value to drop.
func Dropped(why feeds.DropReason) []Quote { return []Quote{{Drop: why}} }

// Rejected returns ErrRejected with the venue's message, cut to 120 bytes.
func Rejected(message string) error { return fmt.Errorf("%w: %.120q", ErrRejected, message) }
