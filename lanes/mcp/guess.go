package mcp

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// guess reads arguments as a model probably meant them. What it returns is never executed by itself: of an
// order it becomes a preview (docs/rules/agents.md#errors).
type guess struct {
	venue *tools.Venue
	sent  map[string]jsontext.Value
	meant map[string]any
	lost  bool // a member was sent whose name has no meaning here
}

// newGuess returns a guess with the arguments under the names that they probably stand for. Names without a
// meaning are left out; a name with one never takes the place of a member that is there.
func newGuess(v *tools.Venue, in any, arguments jsontext.Value) *guess {
	g := &guess{venue: v, sent: map[string]jsontext.Value{}, meant: map[string]any{}}
	named := map[string]jsontext.Value{}
	if json.Unmarshal(arguments, &named) != nil {
		return g
	}
	for name, v := range named {
		if v.Kind() == 'n' { // absent
			continue
		}
		meant, ok := schemas.Meant(in, name)
		if _, there := named[meant]; ok && (meant == name || !there) {
			g.sent[meant] = v
		} else {
			g.lost = true
		}
	}
	return g
}

// order returns the order that was probably meant, or nil. It has no values that only the caller can know:
// a side, an outcome, a quantity and the price of a limit order.
func (g *guess) order() *schemas.OrderArguments {
	g.words()
	unreadable := false // a bound that cannot be read is never dropped
	for name, read := range orderReaders {
		v, ok := g.sent[name]
		if !ok {
			continue
		}
		if x, ok := read(g, v); ok {
			g.meant[name] = x
		} else if !slices.Contains(replaceable, name) {
			unreadable = true
		}
	}
	if g.meant["client_order_id"] == nil {
		g.meant["client_order_id"] = "1" // a free one is chosen later
	}
	market, _ := g.meant["market_id"].(int64)
	g.venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if s, ok := v.Market(core.MarketID(market)); ok && g.meant["generation"] == nil {
			g.meant["generation"] = int64(s.Generation)
		}
	})
	g.agree()
	in := new(schemas.OrderArguments)
	if unreadable || schemas.DecodeArguments(mustEncode(g.meant), in) != nil {
		return nil
	}
	return in
}

// replaceable are members whose value is chosen anew if it cannot be read.
var replaceable = []string{"client_order_id", "generation"}

// orderReaders read one argument of an order each.
var orderReaders = map[string]func(*guess, jsontext.Value) (any, bool){
	"client_order_id": func(_ *guess, v jsontext.Value) (any, bool) {
		n, err := strconv.ParseUint(textOf(v), 10, 64)
		return strconv.FormatUint(n, 10), err == nil && n > 0
	},
	"market_id":  (*guess).market,
	"generation": whole(1, schemas.U32Max),
	"tick":       price,
	"worst_tick": price,
	"qty":        whole(1, schemas.QtyMax),
	"group_id":   whole(0, schemas.U32Max),
	"max_cost": func(_ *guess, v jsontext.Value) (any, bool) {
		n, ok := numberOf(v)
		if strings.Contains(textOf(v), "$") || n != math.Trunc(n) {
			n *= dollar
		}
		return strconv.FormatFloat(math.Floor(n), 'f', 0, 64), ok && n >= 1 && n < math.MaxInt64
	},
	"dollars": func(_ *guess, v jsontext.Value) (any, bool) {
		n, ok := numberOf(v)
		return strconv.FormatFloat(math.Floor(n*100)/100, 'f', 2, 64), ok && n >= 0.01
	},
	"expiry_ts": func(_ *guess, v jsontext.Value) (any, bool) {
		ns, ok := timeOf(v)
		return strconv.FormatInt(ns, 10), ok
	},
	"expires_in_ms":   duration,
	"post_only":       boolean,
	"reduce_only":     boolean,
	"cancel_on_pause": boolean,
	"stp_maker":       boolean,
}

// words reads side, outcome, type and tif, which models write in many ways and mix up.
func (g *guess) words() {
	text := ""
	for _, name := range []string{"side", "outcome", "type", "tif"} {
		text += " " + textOf(g.sent[name]) + " "
	}
	text = strings.NewReplacer("_", " ", "-", " ", "/", " ", "good till", "gtc", "fill or kill", "fok", "immediate or", "ioc").Replace(strings.ToLower(text))
	for _, w := range strings.Fields(text) {
		if m, ok := meanings[w]; ok && g.meant[m[0]] == nil {
			g.meant[m[0]] = m[1]
		}
	}
	if side := meanings[strings.ToLower(textOf(g.sent["side"]))]; side[0] == "outcome" && g.meant["side"] == nil {
		g.meant["side"] = "buy" // "side": "yes"
	}
}

// meanings maps a word to a member and the value that it means there.
var meanings = map[string][2]string{
	"buy": {"side", "buy"}, "bid": {"side", "buy"}, "long": {"side", "buy"}, "b": {"side", "buy"},
	"sell": {"side", "sell"}, "ask": {"side", "sell"}, "s": {"side", "sell"}, "short": {"side", "sell"},
	"yes": {"outcome", "yes"}, "y": {"outcome", "yes"}, "up": {"outcome", "yes"}, "true": {"outcome", "yes"}, "above": {"outcome", "yes"}, "over": {"outcome", "yes"},
	"no": {"outcome", "no"}, "n": {"outcome", "no"}, "down": {"outcome", "no"}, "false": {"outcome", "no"}, "below": {"outcome", "no"}, "under": {"outcome", "no"},
	"limit": {"type", "limit"}, "lmt": {"type", "limit"}, "market": {"type", "market"}, "mkt": {"type", "market"},
	"gtc": {"tif", "gtc"}, "day": {"tif", "gtc"}, "gtt": {"tif", "gtt"}, "gtd": {"tif", "gtt"}, "ioc": {"tif", "ioc"}, "fok": {"tif", "fok"},
}

// agree makes the members agree with each other, as the checks of an order require.
func (g *guess) agree() {
	m := g.meant
	is := func(name, value string) bool { return m[name] == value }
	move := func(from, to string) {
		if m[to] == nil && m[from] != nil {
			m[to] = m[from]
		}
		delete(m, from)
	}
	switch {
	case m["dollars"] != nil && is("side", "sell"):
		delete(m, "dollars")
	case m["dollars"] != nil:
		m["type"] = "market"
		delete(m, "qty")
		delete(m, "max_cost")
	}
	if is("side", "sell") {
		delete(m, "max_cost")
	}
	if is("type", "market") {
		move("tick", "worst_tick")
		for _, name := range []string{"tif", "expiry_ts", "expires_in_ms", "post_only"} {
			delete(m, name)
		}
		if m["dollars"] == nil && is("side", "buy") && m["max_cost"] == nil {
			g.setMaxCost()
		}
		return
	}
	move("worst_tick", "tick")
	if m["expires_in_ms"] != nil {
		delete(m, "expiry_ts")
	}
	timed := m["expiry_ts"] != nil || m["expires_in_ms"] != nil
	switch {
	case timed && (is("tif", "ioc") || is("tif", "fok")): // it does not rest
		delete(m, "expiry_ts")
		delete(m, "expires_in_ms")
	case timed:
		m["tif"] = "gtt"
	case is("tif", "gtt"):
		m["expires_in_ms"] = int64(time.Minute / time.Millisecond)
	}
	if m["post_only"] == true && (is("tif", "ioc") || is("tif", "fok")) {
		delete(m, "tif")
	}
}

// setMaxCost sets what a market buy costs at most at its worst price, by default the best one offered.
func (g *guess) setMaxCost() {
	n, _ := g.meant["qty"].(int64)
	id, _ := g.meant["market_id"].(int64)
	tick, bounded := g.meant["worst_tick"].(int64)
	no := g.meant["outcome"] == "no"
	g.venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if s, ok := v.Market(core.MarketID(id)); ok && !bounded {
			tick = int64(bestOffer(&s, no))
		}
		g.meant["max_cost"] = fmt.Sprint(uint64(core.Pips(n) * core.ReservationPerContract(v.Fees().Taker, core.Tick(tick))))
	})
	g.meant["worst_tick"] = tick
}

// bestOffer is the best price at which an outcome is offered, in its own pips, or the highest price.
func bestOffer(s *venue.MarketState, no bool) core.Tick {
	at, _ := s.BestLevel(no) // the bids for YES are the offers of NO
	switch {
	case at == 0:
		return core.TickMax
	case no:
		return at.Opposite()
	}
	return at
}

// market reads a market_id: a number, or the name of a series or of an asset, whose live market it is then.
func (g *guess) market(v jsontext.Value) (any, bool) {
	if n, ok := whole(1, schemas.U32Max)(g, v); ok {
		return n, true
	}
	s, ok := seriesNamed(textOf(v))
	if !ok {
		return nil, false
	}
	var id int64
	g.venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if x, ok := v.Market(m); ok && x.Status == core.Trading && x.Category == s.Category {
				id = int64(m)
			}
		}
	})
	return id, id != 0
}

// seriesNamed returns the series of a name like btc-60s, or the shortest of an asset.
func seriesNamed(text string) (core.Series, bool) {
	spelled := strings.NewReplacer("-", "", "_", "", " ", "", "/", "", "usd", "").Replace(strings.ToLower(text))
	for _, s := range core.AllSeries() {
		if name := strings.ReplaceAll(tools.SeriesName(s), "-", ""); spelled == name || spelled == strings.ToLower(s.Feed.String()) {
			return s, true
		}
	}
	return core.Series{}, false
}

// dollar is a dollar in pips; a cent is a hundredth.
const dollar = 10_000

// pipsOf reads a price or a probability: 0.47, 47, "47 cents", "$0.47", "47%" and 4700 are 4700.
func pipsOf(v jsontext.Value) (int64, bool) {
	n, ok := numberOf(v)
	text := strings.ToLower(textOf(v))
	switch {
	case strings.Contains(text, "pip"), strings.Contains(text, "tick"):
	case strings.ContainsAny(text, "%c¢"), n >= 1 && n < 100:
		n *= dollar / 100
	case n < 1, strings.Contains(text, "$"), strings.Contains(text, "usd"), strings.Contains(text, "dollar"):
		n *= dollar
	}
	return int64(math.Round(n)), ok
}

// oneNumber is a number alone, or with a unit of chances.
var oneNumber = regexp.MustCompile(`^([0-9]*\.?[0-9]+) ?(%|percent|c|cents|bp|bps)?$`)

// forecastOf reads a probability that has one meaning, in basis points: a forecast is not previewed, so a guess
// would be recorded. "0,6", "not 60" and 0.99999 have none, nor has 1.0, which is a percent or certain.
func forecastOf(v jsontext.Value) (int64, bool) {
	text := strings.ToLower(textOf(v))
	found := oneNumber.FindStringSubmatch(text)
	if found == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(found[1], 64)
	switch {
	case err != nil, found[2] == "" && n == 1 && text != "1":
		return 0, false
	case strings.HasPrefix(found[2], "b"):
	case found[2] != "", n >= 1 && n < 100:
		n *= 100
	case n < 1:
		n *= dollar // a chance of 1 is a dollar in pips
	}
	whole := math.Round(n)
	return int64(whole), math.Abs(n-whole) < 1e-6 && whole >= 100 && whole <= dollar
}

func price(_ *guess, v jsontext.Value) (any, bool) {
	n, ok := pipsOf(v)
	return n, ok && n >= schemas.TickMin && n <= schemas.TickMax
}

// whole reads an integer, rounded down, and at most hi. Below lo there is none.
func whole(lo, hi int64) func(*guess, jsontext.Value) (any, bool) {
	return func(_ *guess, v jsontext.Value) (any, bool) {
		n, ok := numberOf(v)
		return int64(math.Floor(min(n, float64(hi)))), ok && n >= float64(lo)
	}
}

var durationText = regexp.MustCompile(`^([0-9]*\.?[0-9]+) ?(ms|s|sec|secs|seconds)?$`)

// duration reads how long an order rests, in ms. A number under 1000 without a unit is of seconds.
func duration(_ *guess, v jsontext.Value) (any, bool) {
	found := durationText.FindStringSubmatch(strings.ToLower(textOf(v)))
	if found == nil {
		return nil, false
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if strings.HasPrefix(found[2], "s") || found[2] == "" && n < 1000 {
		n *= 1000
	}
	return int64(min(n, 86_400_000)), err == nil && n >= 1000
}

func boolean(_ *guess, v jsontext.Value) (any, bool) {
	switch strings.ToLower(textOf(v)) {
	case "true", "1", "yes", "on", "y", "t":
		return true, true
	case "false", "0", "no", "off", "n", "f", "":
		return false, true
	}
	return nil, false
}

// timeOf reads a time, in ns: an integer in s, ms, µs or ns by its length, or a date of RFC 3339.
func timeOf(v jsontext.Value) (int64, bool) {
	text := textOf(v)
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UnixNano(), true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	for unit := range []int{10, 13, 16} {
		if digits := 10 + 3*unit; len(text) == digits {
			for range 9 - 3*unit {
				n *= 10
			}
		}
	}
	return n, err == nil && n > 0
}

var number = regexp.MustCompile(`[0-9]*\.?[0-9]+`)

var thousands = regexp.MustCompile(`^[^0-9]*[0-9]{1,3}(,[0-9]{3})+([^0-9,]|$)`)

// numberOf reads the one number in a value, which may stand among words.
func numberOf(v jsontext.Value) (n float64, ok bool) {
	if v.Kind() == '{' || v.Kind() == '[' {
		return 0, false
	}
	text := textOf(v)
	if thousands.MatchString(text) {
		text = strings.ReplaceAll(text, ",", "")
	} else if strings.Contains(text, ",") { // 0,6 is a decimal elsewhere
		return 0, false
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil { // with an exponent, too
		return n, n >= 0 && !math.IsInf(n, 0)
	}
	found := number.FindAllString(text, 2)
	if len(found) != 1 || strings.Contains(text, "-"+found[0]) {
		return 0, false
	}
	n, err := strconv.ParseFloat(found[0], 64)
	return n, err == nil
}

// textOf returns the text of a string, or the JSON text of any other value.
func textOf(v jsontext.Value) string {
	if s, ok := stringOf(v); ok {
		return strings.TrimSpace(s)
	}
	return string(v)
}
