package line

import (
	"net/http"

	"duplex/core"
)

// Talk is how one venue speaks of one product.
type Talk struct {
	Name   string // the source's
	Feed   core.Feed
	URL    string      // ws or wss; of a Stream http or https
	Header http.Header // of the request; never shown
	Stream bool        // server-sent events instead of a socket

	Hello string // what is sent first: the subscription
	Beat  string // what is sent every 4 s so that a quiet venue answers; often nothing
	Limit int64  // bytes of one message; 0: 64 KiB

	// Parse reads one message. It gives the values in it, in order: none for a
	// heartbeat or an acknowledgement. An error ends the connection: ErrAsked,
	// or one by Refused.
	Parse func(message []byte) ([]Quote, error)
}

const usualLimit = 64 << 10

func (t *Talk) limit() int64 {
	if t.Limit == 0 {
		return usualLimit
	}
	return t.Limit
}
