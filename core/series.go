package core

import "fmt"

// Feed names the price of one asset. See docs/rules/prices-sources.md#feeds.
type Feed uint8

// A feed's number is part of the wire and of the journal: new feeds go last. A new one
// also needs a line in feedTable.
const (
	BTC Feed = iota
	Gold
	WTI

	Feeds = iota // the number of feeds
)

// feedTable has one line a feed.
var feedTable = [Feeds]struct {
	name    string
	freshNs int64 // the greatest age of a source's price that counts
}{
	BTC:  {"BTC", 5 * NsPerSec},
	Gold: {"gold", 15 * NsPerSec},
	WTI:  {"WTI", 15 * NsPerSec},
}

// String is the feed's name as the screens show it. It panics if f is not below Feeds.
func (f Feed) String() string { return feedTable[f].name }

// FreshNs is the greatest age, in ns, at which a source's last price still counts. It
// panics if f is not below Feeds. See docs/rules/prices-sources.md#freshness.
func (f Feed) FreshNs() int64 { return feedTable[f].freshNs }

// cadences are the lengths of rounds that every feed has.
var cadences = [...]struct {
	minutes int64
	window  int64 // seconds of the settle window
	name    string
}{
	{1, 10, "60s"},
	{5, 30, "5m"},
	{15, 60, "15m"},
}

// SeriesCount is the number of series: each feed at each cadence.
const SeriesCount = Feeds * len(cadences)

// Series is one feed at one cadence. See docs/rules/rounds.md#series.
type Series struct {
	Category uint16 // the number of the series, 1 to SeriesCount
	Feed     Feed
	Cadence  int64 // minutes
	Window   int64 // seconds of the settle window
}

var seriesTable = makeSeries()

func makeSeries() (all [SeriesCount]Series) {
	for i := range all {
		c := cadences[i%len(cadences)]
		all[i] = Series{uint16(i + 1), Feed(i / len(cadences)), c.minutes, c.window}
	}
	return all
}

// AllSeries returns every series in the order of its category.
func AllSeries() [SeriesCount]Series { return seriesTable }

// SeriesOf returns the series of a category; false if the venue has none of that number.
func SeriesOf(category uint16) (Series, bool) {
	if category < 1 || int(category) > SeriesCount {
		return Series{}, false
	}
	return seriesTable[category-1], true
}

// String is the feed and the length of the rounds, such as "BTC 5m". It panics if s is
// not one of AllSeries.
func (s Series) String() string {
	return fmt.Sprintf("%s %s", s.Feed, cadences[int(s.Category-1)%len(cadences)].name)
}
