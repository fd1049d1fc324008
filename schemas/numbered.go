package schemas

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"duplex/core"
)

// A member that numbers a line of a table of core says which in its tag `table`, "feed" or "category". Its
// bounds, and {names} in its doc, come from that table, so that a new series changes no schema by hand.

// FromTable reports whether the bounds and the names of m come from a table of core, and not from its tags
// alone, which are all that other readers of the tags see.
func (m *Member) FromTable() bool { return m.tag.Get("table") != "" }

// fillFromTable adds to m what its table says. It panics on a table that does not exist.
func (m *Member) fillFromTable() {
	var names string
	var lo, hi int64
	switch table := m.tag.Get("table"); table {
	case "":
		return
	case "feed":
		names, hi = feedNames(), core.Feeds-1
	case "category":
		names, lo, hi = seriesNames(), 1, int64(core.SeriesCount)
	default:
		panic(fmt.Sprintf("schemas: %s: there is no table %q", m.Name, table))
	}
	m.Doc = strings.ReplaceAll(m.Doc, "{names}", names)
	one := m.Type
	if k := one.Kind(); k == reflect.Pointer || k == reflect.Slice {
		one = one.Elem()
	}
	if one != reflect.TypeFor[Int]() {
		return // of a response, which has no bounds
	}
	m.Min, m.Max = &lo, &hi
	if m.Type.Kind() == reflect.Slice {
		m.ItemsMin, m.ItemsMax = 1, int(hi)
	}
}

// feedNames lists the feeds, such as "0 BTC, 1 gold".
func feedNames() string {
	var list []string
	for f := range core.Feed(core.Feeds) {
		list = append(list, fmt.Sprintf("%d %s", f, f))
	}
	return strings.Join(list, ", ")
}

// seriesNames lists the series: those of one feed together, and feeds with rounds of the same lengths
// together, such as "1-3 BTC, 4-6 gold: rounds of 60s, 5m, 15m; 7 WTI: rounds of 1h".
func seriesNames() string {
	var text, before string // before is the lengths of the feed before
	all := core.AllSeries()
	for i := 0; i < len(all); {
		first, lengths := i, ""
		for ; i < len(all) && all[i].Feed == all[first].Feed; i++ {
			lengths += ", " + all[i].Length()
		}
		switch {
		case first > 0 && lengths == before:
			text += ", "
		case first > 0:
			text += ": rounds of " + before[2:] + "; "
		}
		text += strconv.Itoa(first + 1)
		if i > first+1 {
			text += "-" + strconv.Itoa(i)
		}
		text += " " + all[first].Feed.String()
		before = lengths
	}
	return text + ": rounds of " + before[2:]
}
