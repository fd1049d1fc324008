package arena

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/internal/timeouts"
	"duplex/lanes/gate"
	"duplex/schemas"
)

// withFault serves a request that a fault strikes.
func (s *seedRun) withFault(w *recorder, r *http.Request, c *gate.Call, x *seat, f *fault, serve http.HandlerFunc, row *callRow) {
	row.Fault = f.name
	switch f.name {
	case lostRequest:
		w.held = true
	case lostAnswer:
		w.held = true
		serve(w, r)
	case lateAnswer:
		held := &recorder{ResponseWriter: w.ResponseWriter, held: true, whole: true}
		serve(held, r)
		until := s.now() + int64(f.value)
		for reached := false; !reached; {
			var err error
			if reached, err = s.turns.Await(r.Context(), x.key, until, nil); err != nil {
				break
			}
		}
		if held.status == 0 {
			return // the client has closed the connection
		}
		maps.Copy(w.Header(), held.header)
		w.WriteHeader(held.status)
		_, _ = w.Write(held.all) // the client may be gone
	case duplicate:
		first := &recorder{ResponseWriter: w.ResponseWriter, held: true}
		serve(first, r)
		serve(w, r)
	case refused:
		e := schemas.ErrorOf(f.code)
		if f.code == "rate_limited" {
			e = schemas.RateLimited(1000)
		}
		refuse(w, r, c, e, serve)
	}
}

// releaseWait bounds the wait for the ends of requests whose connections were cut.
const releaseWait = 30 * time.Second

// cutConnection closes the connection of a request whose answer is lost.
func cutConnection(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.Close()
	}
}

// beginFaults begins and ends the faults of the venue that are due.
func (s *seedRun) beginFaults(now int64) error {
	for _, x := range s.seats {
		f := x.faults
		for i := range f.list {
			if f.ends[i] > 0 && f.ends[i] <= now {
				f.ends[i] = 0
				x.log.add(&callRow{Ts: now, Done: now, Fault: f.list[i].name + faultEnded})
				if f.list[i].name == pauseMarket {
					if err := s.submit(&core.PauseMarket{Market: f.id[i], Lift: true, Audit: audit}); err != nil {
						return err
					}
				}
			}
			if f.at[i] > now {
				continue
			}
			f.at[i] = now + (faultEvery/2+f.r[i].Int64N(faultEvery))*core.NsPerSec
			if err := s.strike(x, i, now); err != nil {
				return err
			}
			x.log.add(&callRow{Ts: now, Done: now, Fault: f.list[i].name})
		}
	}
	return nil
}

// strike begins fault i of a seat.
func (s *seedRun) strike(x *seat, i int, now int64) error {
	f := x.faults
	switch f.list[i].name {
	case staleIndex:
		f.ends[i] = now + int64(f.list[i].value)
	case pauseMarket:
		var r liveRound
		found := false
		s.read(func(v *venue.Venue) { found = findLive(v, s.c.series.Category, x.user, &r) })
		if found {
			f.id[i], f.ends[i] = r.Market, now+pauseFor
			return s.submit(&core.PauseMarket{Market: r.Market, Audit: audit})
		}
	case revokeKey:
		f.at[i] = never
		s.turns.leaveSeat(x.waits) // its requests fail, so it cannot wait
		if err := s.submit(&core.RevokeKey{User: x.user, Key: x.key, Audit: audit}); err != nil {
			return err
		}
		x.seeRevocation()
	case socketCut:
		x.mu.Lock()
		remote := x.remote
		x.remote = map[string]struct{}{}
		x.mu.Unlock()
		s.api.cut(remote)
		if !s.turns.release(x.waits, releaseWait) {
			return fmt.Errorf("seat %q: its requests are still open %v after their connections were cut", x.Name, releaseWait)
		}
	case restartVenue:
		return s.restart()
	}
	return nil
}

// seeRevocation gives a process time to notice that its key is revoked: until it has ended, has sent
// more requests than a certification allows, or stopWait has passed. Otherwise the rest of the run,
// which waits for it no more, could end first.
func (x *seat) seeRevocation() {
	if x.process == nil {
		return
	}
	timeout := time.NewTimer(stopWait)
	defer timeout.Stop()
	for {
		select {
		case <-x.process.done:
			return
		case <-timeout.C:
			return
		case <-x.unauthorized:
			if x.failures.Load() > requestsRevoked+1 {
				return
			}
		}
	}
}

// restart closes the venue and opens it again at the same addresses.
func (s *seedRun) restart() error {
	s.mark()
	api, portal, admin := hostPort(s.venue.APIURL()), hostPort(s.venue.PortalURL()), hostPort(s.venue.AdminURL())
	s.turns.cut()
	ctx, cancel := context.WithTimeout(context.Background(), timeouts.Of(5*time.Second))
	defer cancel()
	if err := s.venue.Close(ctx); err != nil {
		return err
	}
	s.turns.uncut()
	s.options.API, s.options.Portal, s.options.Admin = api, portal, admin
	if err := s.open(context.Background()); err != nil {
		return err
	}
	for _, x := range s.seats {
		if x.builtin != nil {
			if err := s.newBuiltin(x); err != nil {
				return err
			}
		}
	}
	return nil
}
