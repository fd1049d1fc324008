package feeds

import (
	"log/slog"
	"time"
)

// firstPriceWait is the time that a source has for its first price before the log calls it down.
const firstPriceWait = 30 * time.Second

// sourceLog logs when a source becomes fresh and when it no longer is. A source that reconnects while its
// last price is fresh is not mentioned, so that one that often loses its connection does not fill the
// log. A sourceLog belongs to one goroutine.
type sourceLog struct {
	log   *slog.Logger
	begun time.Time
	known []knownSource
}

// knownSource is what the log has said of a source.
type knownSource struct{ said, fresh bool }

func (l *sourceLog) update(now time.Time, states []State) {
	if l.known == nil {
		l.known = make([]knownSource, len(states))
	}
	for i := range states {
		s, k := &states[i], &l.known[i]
		if k.said && k.fresh == s.Fresh || !k.said && !s.Fresh && now.Sub(l.begun) < firstPriceWait {
			continue
		}
		*k = knownSource{said: true, fresh: s.Fresh}
		if s.Fresh {
			l.log.Info("source up", "feed", s.Feed.String(), "source", s.Source.Name)
			continue
		}
		fields := []any{"feed", s.Feed.String(), "source", s.Source.Name}
		if s.Err != nil {
			fields = append(fields, "err", s.Err.Error())
		}
		l.log.Warn("source down", fields...)
	}
}
