package arena

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"duplex/core"
)

// The faults of a seat (docs/guides/arena.md). Those of requests strike a request with the chance
// 1/faultChance; those of the venue begin every faultEvery on average.
const (
	lostAnswer   = "lost_answer"        // the request is executed, and its connection is cut
	lostRequest  = "lost_request"       // the connection is cut before the request is executed
	lateAnswer   = "late_answer"        // milliseconds of venue time pass before the answer
	duplicate    = "duplicate_delivery" // the request is delivered twice
	refused      = "refused"            // shed or rate_limited, and not executed
	staleIndex   = "stale_index"        // no index for some seconds
	pauseMarket  = "pause_market"       // an operator pauses the seat's market for 10 s
	restartVenue = "restart_venue"      // the venue is closed and opened again
	revokeKey    = "revoke_key"         // the seat's key is revoked some time after the begin
	socketCut    = "socket_cut"         // every connection of the seat is closed

	faultEnded = " ended"

	askedToEnd = "asked_to_end" // no fault: a certification has asked the seat to end

	faultChance = 20
	faultEvery  = 60 // seconds of venue time

	aimedStrikes = 3 // placements that a fault of requests strikes in a certification, apart from those by chance
	aimedEvery   = 2 // after the first, one in so many at least
	pauseFor     = 10 * core.NsPerSec

	placedBeforeRevocation = 2 // accepted placements, in a certification
)

// fault is one kind of fault of one seat.
type fault struct {
	name  string
	code  string        // of refused
	value time.Duration // of late_answer, stale_index and revoke_key
}

// parseFault parses a fault of an arena.toml.
func parseFault(text string) (f fault, err error) {
	name, value, has := strings.Cut(text, " ")
	f.name = name
	bad := fmt.Errorf("fault %q", text)
	switch name {
	case lostAnswer, lostRequest, duplicate, pauseMarket, restartVenue, socketCut:
		if has {
			return f, fmt.Errorf("%w: it has no value", bad)
		}
	case refused:
		if value != "shed" && value != "rate_limited" {
			return f, fmt.Errorf("%w: refused shed, or refused rate_limited", bad)
		}
		f.code = value
	case lateAnswer:
		n, e := strconv.ParseUint(value, 10, 32)
		if e != nil || n < 1 || n > 86_400_000 {
			return f, fmt.Errorf("%w: a number of ms follows", bad)
		}
		f.value = time.Duration(n) * time.Millisecond
	case staleIndex:
		n, e := strconv.ParseUint(value, 10, 32)
		if e != nil || n < 1 || n > 3600 {
			return f, fmt.Errorf("%w: a number of seconds follows", bad)
		}
		f.value = time.Duration(n) * time.Second
	case revokeKey:
		d, e := time.ParseDuration(value)
		if e != nil || d < time.Second {
			return f, fmt.Errorf("%w: a time after the begin follows, such as 90s", bad)
		}
		f.value = d
	default:
		return f, fmt.Errorf("%w: unknown", bad)
	}
	return f, nil
}

// seatFaults draws the faults of one seat.
type seatFaults struct {
	list []fault
	r    []*rand.Rand // of each
	at   []int64      // when it begins next; never for those of requests
	ends []int64      // when a fault that lasts ends; 0: it is not on
	id   []core.MarketID

	// A revocation in a certification comes after some placements: an agent that had none to send shows nothing.
	needs []int   // accepted placements before the fault begins
	from  []int64 // its time, if it has had them by then

	// Of a fault of requests in a certification: few agents place so many orders that the chance alone
	// strikes one, and only a placement shows how an agent handles the fault.
	aim  []*rand.Rand
	left []int // placements that it still has to strike
	skip []int // placements that it passes over before the next; 0 for the first: an agent may place one alone
}

// newSeatFaults draws the faults of a seat. With aimed, those of requests strike placements, and a revocation waits
// for some.
func newSeatFaults(seed uint64, seat string, list []fault, start int64, aimed bool) *seatFaults {
	f := &seatFaults{list: list}
	for _, x := range list {
		r := stream(seed, "fault\n"+seat+"\n"+x.name+"\n"+x.code)
		at := never
		switch x.name {
		case staleIndex, pauseMarket, restartVenue, socketCut:
			at = start + (10+r.Int64N(faultEvery))*core.NsPerSec
		case revokeKey:
			at = start + int64(x.value)
		}
		needs, from := 0, at
		if aimed && x.name == revokeKey {
			needs, at = placedBeforeRevocation, never
		}
		f.needs, f.from = append(f.needs, needs), append(f.from, from)
		f.r, f.at, f.ends, f.id = append(f.r, r), append(f.at, at), append(f.ends, 0), append(f.id, 0)
		aim, left := stream(seed, "aim\n"+seat+"\n"+x.name+"\n"+x.code), 0
		if aimed && x.ofRequests() {
			left = aimedStrikes
		}
		f.aim, f.left, f.skip = append(f.aim, aim), append(f.left, left), append(f.skip, 0)
	}
	return f
}

// ofRequests reports whether a fault strikes requests.
func (f *fault) ofRequests() bool {
	switch f.name {
	case lostAnswer, lostRequest, lateAnswer, duplicate, refused:
		return true
	}
	return false
}

// ofRequest draws whether a fault strikes a request, which may place orders; nil: none does.
func (f *seatFaults) ofRequest(places bool) *fault {
	var hit *fault
	for i := range f.list {
		if !f.list[i].ofRequests() {
			continue
		}
		strikes := f.r[i].IntN(faultChance) == 0
		if places && f.left[i] > 0 {
			f.skip[i]--
			strikes = strikes || f.skip[i] < 0
		}
		if !strikes || hit != nil {
			continue
		}
		hit = &f.list[i]
		if places && f.left[i] > 0 {
			f.left[i]--
			f.skip[i] = f.aim[i].IntN(aimedEvery)
		}
	}
	return hit
}

// placed counts an accepted placement, after which faults may begin that have waited for it.
func (f *seatFaults) placed(now int64) {
	for i := range f.needs {
		if f.needs[i] == 0 {
			continue
		}
		if f.needs[i]--; f.needs[i] == 0 {
			f.at[i] = max(now, f.from[i])
		}
	}
}

// next returns the time of the next fault of the venue, or of the end of one.
func (f *seatFaults) next() int64 {
	at := never
	for i := range f.list {
		at = min(at, f.at[i])
		if f.ends[i] > 0 {
			at = min(at, f.ends[i])
		}
	}
	return at
}

// stop lets no fault of the venue begin any more, and aims none of requests. Those that are on end at
// their time.
func (f *seatFaults) stop() {
	for i := range f.at {
		f.at[i], f.left[i], f.needs[i] = never, 0, 0
	}
}

// indexIsStale reports whether a fault holds the index back.
func (f *seatFaults) indexIsStale() bool {
	for i := range f.list {
		if f.list[i].name == staleIndex && f.ends[i] > 0 {
			return true
		}
	}
	return false
}
