package core

import (
	"fmt"
	"slices"
	"strings"
)

// Feed names the price of one asset. See docs/rules/prices-sources.md#feeds.
type Feed uint8

// A feed's number is part of the wire and of the journal: new feeds go last. A new one also needs a line
// in feedTable, and a series.
const (
	BTC Feed = iota
	Gold
	WTI

	Feeds = iota // the number of feeds
)

// feedTable has one line a feed.
var feedTable = [Feeds]struct {
	name     string
	freshNs  int64 // the greatest age of a source's price that counts
	sessions bool  // its rounds open in trading sessions only
}{
	BTC:  {"BTC", 5 * NsPerSec, false},
	Gold: {"gold", 15 * NsPerSec, true},
	WTI:  {"WTI", 15 * NsPerSec, true},
}

// String is the feed's name as the screens show it. It panics if f is not below Feeds.
func (f Feed) String() string { return feedTable[f].name }

// FreshNs is the greatest age, in ns, at which a source's last price still counts. It
// panics if f is not below Feeds. See docs/rules/prices-sources.md#freshness.
func (f Feed) FreshNs() int64 { return feedTable[f].freshNs }

// HasSessions reports whether the feed's rounds open in trading sessions only. It panics if f is not below
// Feeds. See docs/rules/prices-sources.md#sessions.
func (f Feed) HasSessions() bool { return feedTable[f].sessions }

// AllFeeds returns every feed in the order of its number.
func AllFeeds() (list []Feed) {
	for f := range Feed(Feeds) {
		list = append(list, f)
	}
	return list
}

// FeedNamed returns the feed of a name, in any letters; false if there is none.
func FeedNamed(name string) (Feed, bool) {
	for f := range Feed(Feeds) {
		if strings.EqualFold(f.String(), name) {
			return f, true
		}
	}
	return 0, false
}

// FeedsWithSessions returns the feeds whose rounds open in trading sessions only, in the order of their numbers.
func FeedsWithSessions() (list []Feed) {
	return slices.DeleteFunc(AllFeeds(), func(f Feed) bool { return !f.HasSessions() })
}

// FeedNames lists feeds in a sentence, such as "BTC, gold and WTI".
func FeedNames(list []Feed) string {
	var text string
	for i, f := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			text += " and "
		default:
			text += ", "
		}
		text += f.String()
	}
	return text
}

// Series is the rounds of one length on one feed. See docs/rules/rounds.md#series.
type Series struct {
	Category uint16 // the number of the series, 1 to SeriesCount
	Feed     Feed
	Since    Revision // of the rules; before it the series opens no round
	Cadence  int64    // minutes
	Window   int64    // seconds of the settle window
}

// seriesTable has one line a series. A category is part of the wire and of the journal, and how many there are
// is part of the state's encoding: new series go last, since a revision that is new with them.
var seriesTable = [...]Series{
	{1, BTC, RevisionNone, 1, 10},
	{2, BTC, RevisionNone, 5, 30},
	{3, BTC, RevisionNone, 15, 60},
	{4, Gold, RevisionNone, 1, 10},
	{5, Gold, RevisionNone, 5, 30},
	{6, Gold, RevisionNone, 15, 60},
	{7, WTI, RevisionNone, 1, 10},
	{8, WTI, RevisionNone, 5, 30},
	{9, WTI, RevisionNone, 15, 60},
}

// SeriesCount is the number of series.
const SeriesCount = len(seriesTable)

// AllSeries returns every series in the order of its category.
func AllSeries() [SeriesCount]Series { return seriesTable }

// SeriesSince returns how many series exist under a revision of the rules, and how many feeds they have: the
// first ones of each.
func SeriesSince(r Revision) (series, feeds int) {
	for i := range seriesTable {
		if s := &seriesTable[i]; s.Since <= r {
			series, feeds = i+1, max(feeds, int(s.Feed)+1)
		}
	}
	return series, feeds
}

// SeriesOf returns the series of a category; false if the venue has none of that number.
func SeriesOf(category uint16) (Series, bool) {
	if category < 1 || int(category) > SeriesCount {
		return Series{}, false
	}
	return seriesTable[category-1], true
}

// String is the feed and the length of the rounds, such as "BTC 5m".
func (s Series) String() string {
	return s.Feed.String() + " " + s.Length()
}

// Length is the length of the rounds, such as "60s" or "5m".
func (s Series) Length() string {
	if s.Cadence == 1 {
		return "60s"
	}
	return fmt.Sprintf("%dm", s.Cadence)
}
