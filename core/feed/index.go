package feed

import (
	"cmp"
	"slices"

	"duplex/core"
)

// MaxSources is how many sources one feed remembers. It bounds what an operator
// who posts under ever new names can make it hold: the one heard longest ago
// makes room.
const MaxSources = 32

// outlierQuorum is how many fresh sources it takes before one can be called
// wrong (contract oracle, Rule).
const outlierQuorum = 3

// FreshFor is how old a source's last price may be to count, in ns: 5 s for BTC,
// 15 s for the feeds of a single source (contract oracle, Rule).
func FreshFor(f core.Feed) int64 {
	if f == core.BTC {
		return 5 * core.NsPerSec
	}
	return 15 * core.NsPerSec
}

// Verdict says what became of a value given to Update.
type Verdict uint8

const (
	Taken       Verdict = iota
	Zero                // no price
	TimeTravel          // received before the source's last one
	UnknownFeed         // not one of the feeds
	Verdicts    = 4
)

func (v Verdict) String() string {
	return [...]string{"taken", "zero", "time_travel", "unknown_feed"}[v]
}

// SourceState is what the index knows of one source.
type SourceState struct {
	Name     string
	Price    core.Price       // the last one taken, 0 before the first
	At       int64            // when it was received, ns; 0 before the first
	Counts   [Verdicts]uint64 // values by verdict
	Outliers uint64           // ticks it was left out of for being off the median
}

// Index holds the last price of each source of each feed. One goroutine at a
// time; the zero Index is ready.
type Index struct {
	sources [core.Feeds][]SourceState // by name
	unknown uint64
}

// Update takes a source's price, received at ns, or drops and counts it.
func (x *Index) Update(f core.Feed, source string, price core.Price, at int64) Verdict {
	if f >= core.Feeds {
		x.unknown++
		return UnknownFeed
	}
	s := x.source(f, source)
	v := Taken
	switch {
	case price == 0:
		v = Zero
	case at < s.At:
		v = TimeTravel
	default:
		s.Price, s.At = price, at
	}
	s.Counts[v]++
	return v
}

// source finds the state of a name, or makes room for it.
func (x *Index) source(f core.Feed, name string) *SourceState {
	list := &x.sources[f]
	i, found := slices.BinarySearchFunc(*list, name, func(s SourceState, n string) int { return cmp.Compare(s.Name, n) })
	if found {
		return &(*list)[i]
	}
	if len(*list) >= MaxSources {
		oldest := stalest(*list)
		*list = slices.Delete(*list, oldest, oldest+1)
		if oldest < i {
			i--
		}
	}
	*list = slices.Insert(*list, i, SourceState{Name: name})
	return &(*list)[i]
}

func stalest(list []SourceState) int {
	at := 0
	for i := range list {
		if list[i].At < list[at].At {
			at = i
		}
	}
	return at
}

// Tick builds the index of a feed as known at ns, for the second that holds it;
// false if it has none. The count and the sources, sorted by name, are those the
// price is made of. Where the sources fall so far apart that each is an outlier
// there is no index: a price between two camps is nobody's.
func (x *Index) Tick(f core.Feed, at int64) (core.IndexTick, bool) {
	if f >= core.Feeds || at < 0 {
		return core.IndexTick{}, false
	}
	var fresh [MaxSources]core.Price
	prices := fresh[:0]
	for i := range x.sources[f] {
		if s := &x.sources[f][i]; isFresh(f, s, at) {
			prices = append(prices, s.Price)
		}
	}
	slices.Sort(prices)
	median, judge := middle(prices), len(prices) >= outlierQuorum
	prices = prices[:0]
	tick := core.IndexTick{Feed: f, Second: at / core.NsPerSec}
	for i := range x.sources[f] {
		s := &x.sources[f][i]
		if !isFresh(f, s, at) {
			continue
		}
		if judge && Outlier(s.Price, median) {
			s.Outliers++
			continue
		}
		prices = append(prices, s.Price)
		tick.Sources = append(tick.Sources, core.SourcePrice{Name: s.Name, Price: s.Price})
	}
	if len(prices) == 0 {
		return core.IndexTick{}, false
	}
	slices.Sort(prices)
	tick.Price, tick.Count = middle(prices), uint8(len(prices))
	return tick, true
}

// isFresh tells whether a source counts at ns. A price from after that moment
// does not: it was not known then.
func isFresh(f core.Feed, s *SourceState, at int64) bool {
	return s.Price > 0 && s.At <= at && s.At >= at-FreshFor(f)
}

// Sources copies the state of a feed's sources, by name.
func (x *Index) Sources(f core.Feed) []SourceState {
	if f >= core.Feeds {
		return nil
	}
	return slices.Clone(x.sources[f])
}
