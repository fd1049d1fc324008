package docs_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark/ast"
	"golang.org/x/time/rate"

	"duplex/core"
	"duplex/core/feed"
	"duplex/core/round"
	"duplex/core/view"
	"duplex/docs"
	"duplex/feeds/session"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

var update = flag.Bool("update", false, "rewrite the results of the worked examples")

const arrow = " → "

// block is a worked example of a page: a fenced block whose info string is "example NAME", where
// NAME is a key of computers. docs/rules/README.md#worked-examples describes the lines.
type block struct {
	name  string
	lines []string
	start int // byte offset of the first line in the page
}

func blocks(source []byte) (out []block) {
	for n := docs.Parse(source).FirstChild(); n != nil; n = n.NextSibling() {
		code, ok := n.(*ast.FencedCodeBlock)
		if !ok || code.Info == nil {
			continue
		}
		name, example := strings.CutPrefix(string(code.Info.Segment.Value(source)), "example ")
		if !example {
			continue
		}
		text := string(code.Lines().Value(source))
		out = append(out, block{name, strings.Split(strings.TrimSuffix(text, "\n"), "\n"), code.Lines().At(0).Start})
	}
	return out
}

// compute returns the program's result for the text before the arrow of a line. wanted has the
// names of the figures after the arrow; computers without named figures ignore it.
type compute func(in string, wanted []string) (string, error)

// computers has a constructor for each name of a block. Lines of one block share a compute, so
// that a line of a market block acts on the venue that the lines before it left.
var computers = map[string]func() compute{
	"complement": plainly(complement), "grid": plainly(grid), "fee": plainly(fee), "brier": plainly(brier), "hold": plainly(hold), "afford": plainly(afford), "share": plainly(share),
	"opening": plainly(opening), "twap": plainly(twap), "coverage": plainly(coverage), "winner": plainly(winner), "rate": plainly(writeRate), "tokens": plainly(bucket),
	"order": raw(order), "u64": raw(u64), "integer": raw(integer), "query": raw(query), "cursor": raw(cursor), "cost": raw(cost), "error": raw(errorBody), "sign": raw(sign), "price": raw(price),
	"index": raw(index), "jumps": raw(jumps), "session": raw(sessionAt),
	"market": func() compute { return newStory().line },
}

// figuresOf is a set of named values, such as those of the text "tick 4800, qty 10".
type figuresOf map[string]string

// plainly makes a compute of a function from named values to named values.
func plainly(do func(figuresOf) (figuresOf, error)) func() compute {
	return func() compute {
		return func(in string, wanted []string) (string, error) {
			out, err := do(parse(in))
			if err != nil {
				return "", err
			}
			return out.format(wanted)
		}
	}
}

// raw makes a compute of a function from text to text.
func raw(do func(string) (string, error)) func() compute {
	return func() compute { return func(in string, _ []string) (string, error) { return do(in) } }
}

func parse(s string) figuresOf {
	out := figuresOf{}
	for _, part := range strings.Split(s, ", ") {
		name, value, _ := strings.Cut(part, " ")
		out[name] = value
	}
	return out
}

// names returns the names in a text such as "fee 63, paid 5063", in order.
func names(s string) (out []string) {
	for _, part := range strings.Split(s, ", ") {
		name, _, _ := strings.Cut(part, " ")
		out = append(out, name)
	}
	return out
}

func (f figuresOf) format(wanted []string) (string, error) {
	var parts []string
	for _, name := range wanted {
		value, there := f[name]
		if !there {
			return "", fmt.Errorf("nothing computes %q", name)
		}
		parts = append(parts, strings.TrimSpace(name+" "+value))
	}
	return strings.Join(parts, ", "), nil
}

func (f figuresOf) int(name string) int64 {
	n, err := strconv.ParseInt(f[name], 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s is not a number: %q", name, f[name]))
	}
	return n
}

func (f figuresOf) tick() core.Tick { return core.Tick(f.int("tick")) }

// check returns the lines of a block with the results that the program computes.
func check(b block) (want []string, err error) {
	begin := computers[b.name]
	if begin == nil {
		return nil, fmt.Errorf("nothing computes examples of %q", b.name)
	}
	do := begin()
	for _, line := range b.lines {
		in, out, ok := strings.Cut(line, arrow)
		if !ok {
			return nil, fmt.Errorf("%q has no arrow", line)
		}
		is, err := guarded(do, in, names(out))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		want = append(want, in+arrow+is)
	}
	return want, nil
}

// guarded calls do and returns its panic, which an invalid line causes, as an error.
func guarded(do compute, in string, wanted []string) (out string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return do(in, wanted)
}

// TestExamples compares every worked example of the rulebook with the program's results. With
// -update it writes these results to the pages.
func TestExamples(t *testing.T) {
	used := map[string]int{}
	for _, name := range docs.Pages {
		source := []byte(read(t, name))
		found := blocks(source)
		for i := len(found) - 1; i >= 0; i-- { // from the end, so that an update does not move the blocks before it
			b := found[i]
			used[b.name] += len(b.lines)
			want, err := check(b)
			if err != nil {
				t.Errorf("%s: a block of examples fails: %v", name, err)
				continue
			}
			for j, line := range want {
				if line != b.lines[j] && !*update {
					t.Errorf("%s: the program says\n%s\nand the page\n%s", name, line, b.lines[j])
				}
			}
			if *update {
				end := b.start + len(strings.Join(b.lines, "\n"))
				source = append(source[:b.start:b.start], append([]byte(strings.Join(want, "\n")), source[end:]...)...)
			}
		}
		if *update && !t.Failed() {
			if err := os.WriteFile(name, source, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range computers {
		if used[name] == 0 {
			t.Errorf("no page has an example of %q", name)
		}
	}
}

// TestExamplesFindWhatIsWrong checks that a wrong figure is corrected and that an invalid line
// is an error.
func TestExamplesFindWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"fee", "rate 250, qty 1, tick 5000 → fee 62", "rate 250, qty 1, tick 5000 → fee 63"},
		{"grid", "tick 4750 → legal yes", "tick 4750 → legal no"},
		{"order", `"qty":0 → ok`, `"qty":0 → bad_qty`},
		{"market", "Ann buys 10 yes at 4800 → status executed, reserved 48000", "Ann buys 10 yes at 4800 → status resting, reserved 48000"},
	} {
		text := "# A page\n\n```example " + c.name + "\n" + c.line + "\n```\n"
		found := blocks([]byte(text))
		if len(found) != 1 {
			t.Fatalf("%d blocks in %q", len(found), text)
		}
		if got, err := check(found[0]); err != nil || len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %v %v, want %s", c.line, got, err, c.want)
		}
	}
	for name, line := range map[string]string{
		"fee": "rate 250, qty 1 → fee 62", "rate": "volume 1 → speed 1", "nothing": "a → b", "coverage": "window 10", "market": "Ann dances → status resting", "cost": "shout → 1", "order": "without wings → ok",
	} {
		if got, err := check(block{name: name, lines: []string{line}}); err == nil {
			t.Errorf("%s is accepted: %v", line, got)
		}
	}
}

func complement(in figuresOf) (figuresOf, error) {
	return figuresOf{"other": fmt.Sprint(in.tick().Opposite())}, nil
}

func grid(in figuresOf) (figuresOf, error) {
	g := core.Narrow()
	below, above := g.Nearest(in.tick())
	some := func(t core.Tick) string {
		if t == 0 {
			return "none"
		}
		return fmt.Sprint(t)
	}
	return figuresOf{"legal": yes(g.Legal(in.tick())), "below": some(below), "above": some(above)}, nil
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func fee(in figuresOf) (figuresOf, error) {
	return figuresOf{"fee": fmt.Sprint(core.Fee(core.Rate(in.int("rate")), core.Qty(in.int("qty")), in.tick()))}, nil
}

func brier(in figuresOf) (figuresOf, error) {
	f := view.Forecast{P: core.Probability(in.int("p")), Winner: core.No}
	if in.int("outcome") == 1 {
		f.Winner = core.Yes
	}
	score, _ := f.Brier()
	return figuresOf{"brier": fmt.Sprint(score)}, nil
}

func hold(in figuresOf) (figuresOf, error) {
	return figuresOf{"reserved": fmt.Sprint(core.Pips(in.int("qty")) * core.ReservationPerContract(core.Rate(in.int("rate")), in.tick()))}, nil
}

func afford(in figuresOf) (figuresOf, error) {
	rate := core.Rate(in.int("rate"))
	n := core.Affordable(core.Pips(in.int("budget")), rate, in.tick())
	return figuresOf{"qty": fmt.Sprint(n), "cost": fmt.Sprint(core.Pips(n)*core.Pips(in.tick()) + core.Fee(rate, n, in.tick()))}, nil
}

func share(in figuresOf) (figuresOf, error) {
	fee := core.Pips(in.int("fee"))
	rebate, referral := core.Percent(fee, uint8(in.int("rebate_pct"))), core.Percent(fee, uint8(in.int("referral_pct")))
	return figuresOf{"rebate": fmt.Sprint(rebate), "referral": fmt.Sprint(referral), "venue": fmt.Sprint(fee - rebate - referral)}, nil
}

// opening computes for a series that has had no round in the current period.
func opening(in figuresOf) (figuresOf, error) {
	s := core.AllSeries()[in.int("category")-1]
	at, err := time.Parse("15:04:05.000", in["at"])
	if err != nil {
		return nil, err
	}
	ts := time.Date(2027, 1, 15, at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC).UnixNano()
	clock := func(ns int64) string { return time.Unix(0, ns).UTC().Format("15:04:05") }
	_, end := round.Period(s, ts)
	ok, next := round.MayOpen(s, ts, -1)
	out := figuresOf{"opens": yes(ok), "freezes": clock(end)}
	if !ok {
		out["again"] = clock(next)
	}
	return out, nil
}

// scaled parses a decimal price and returns it scaled by 1e8.
func scaled(text string) core.Price {
	p, err := feed.ParsePrice(text)
	if err != nil {
		panic(err)
	}
	return p
}

// decimal formats a price, which is scaled by 1e8, with at least two decimals and no trailing
// zeros after these.
func decimal(p core.Price) string {
	text := fmt.Sprintf("%d.%08d", p/100_000_000, p%100_000_000)
	for strings.HasSuffix(text, "0") && len(text)-strings.Index(text, ".") > 3 {
		text = text[:len(text)-1]
	}
	return text
}

// twap computes the mean of the window that ends at second 60. A whole number has no decimals.
func twap(in figuresOf) (figuresOf, error) {
	const base = 1_800_000_000
	var ticks []core.IndexTick
	for _, one := range strings.Fields(in["ticks"]) {
		second, price, _ := strings.Cut(one, "=")
		n, err := strconv.ParseInt(second, 10, 64)
		if err != nil {
			return nil, err
		}
		ticks = append(ticks, core.IndexTick{Second: base + n, Price: scaled(price)})
	}
	mean, covered := feed.TWAP(ticks, base+60, in.int("window"))
	return figuresOf{"mean": strings.TrimSuffix(decimal(mean), ".00"), "covered": fmt.Sprint(covered)}, nil
}

func coverage(in figuresOf) (figuresOf, error) {
	return figuresOf{"required": fmt.Sprint(round.RequiredSeconds(in.int("window")))}, nil
}

func winner(in figuresOf) (figuresOf, error) {
	r := core.Round{Strike: scaled(in["strike"])}
	round.Propose(&r, scaled(in["settle"]), false, 1)
	return figuresOf{"winner": r.Winner.String()}, nil
}

func writeRate(in figuresOf) (figuresOf, error) {
	terms := tools.DefaultConfig(nil)
	write := terms.WriteRate(core.Qty(in.int("volume")))
	return figuresOf{"write": fmt.Sprint(write), "cancel": fmt.Sprint(2 * write)}, nil
}

// bucket takes tokens from a bucket that has some left.
func bucket(in figuresOf) (figuresOf, error) {
	now, burst := time.Unix(1_800_000_000, 0), int(in.int("burst"))
	b := gate.NewTokenBucket(rate.Limit(in.int("rate")), burst)
	if err := b.Take(now, burst-int(in.int("left"))); err != nil {
		return nil, errors.New("more are left than the burst")
	}
	err := b.Take(now, int(in.int("want")))
	if err == nil {
		return figuresOf{"taken": "yes"}, nil
	}
	ms, ok := tools.ErrorOf(err).RetryAfterMs()
	if !ok {
		return nil, err
	}
	return figuresOf{"taken": "no", "retry_after_ms": fmt.Sprint(ms)}, nil
}

// codeOf returns the error code of a decoded request: the fault of decoding, else the rejection
// that the decoded order carries for the core, else "ok".
func codeOf(f *schemas.Fault, carried core.Reject) string {
	switch {
	case f != nil:
		return f.Code
	case carried != core.OK:
		return carried.String()
	default:
		return "ok"
	}
}

// plainOrder is the order to which the lines of a block named order apply their changes.
const plainOrder = `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","tick":4700,"qty":10}`

// order reads a whole body in braces, or changes to plainOrder: any number of "without NAME, "
// and then members to add or replace.
func order(line string) (string, error) {
	body := line
	if !strings.HasPrefix(line, "{") {
		members := map[string]json.RawMessage{}
		change := func(text string) error { return json.Unmarshal([]byte(text), &members) }
		if err := change(plainOrder); err != nil {
			return "", err
		}
		for strings.HasPrefix(line, "without ") {
			var name string
			name, line, _ = strings.Cut(strings.TrimPrefix(line, "without "), ", ")
			if _, there := members[name]; !there {
				return "", fmt.Errorf("the order has no %q", name)
			}
			delete(members, name)
		}
		if line != "as it is" {
			if err := change("{" + line + "}"); err != nil {
				return "", err
			}
		}
		b, err := json.Marshal(members)
		if err != nil {
			return "", err
		}
		body = string(b)
	}
	var o schemas.PlaceOrder
	f := schemas.Decode([]byte(body), &o)
	return codeOf(f, o.Fault), nil
}

func u64(text string) (string, error) {
	var r struct {
		N schemas.U64 `json:"n"`
	}
	if f := schemas.Decode([]byte(`{"n":`+text+`}`), &r); f != nil {
		return f.Code, nil
	}
	return r.N.String(), nil
}

func integer(text string) (string, error) {
	var r struct {
		N schemas.Int `json:"n"`
	}
	if f := schemas.Decode([]byte(`{"n":`+text+`}`), &r); f != nil {
		return f.Code, nil
	}
	return fmt.Sprint(int64(r.N)), nil
}

// listing returns an empty request for the list with a short name.
func listing(name string) (any, error) {
	switch name {
	case "orders":
		return &schemas.ListOrders{}, nil
	case "fills":
		return &schemas.ListFills{}, nil
	}
	return nil, fmt.Errorf("no list %q", name)
}

func query(line string) (string, error) {
	name, text, _ := strings.Cut(line, " ")
	in, err := listing(name)
	if err != nil {
		return "", err
	}
	return codeOf(schemas.DecodeQuery(text, in), core.OK), nil
}

// cursor reads "made by LIST [QUERY] of account N, sent to LIST [QUERY] of account M", with an "in
// another venue" at the end of either.
func cursor(line string) (string, error) {
	made, sent, ok := strings.Cut(strings.TrimPrefix(line, "made by "), ", sent to ")
	if !ok {
		return "", errors.New("nothing is sent")
	}
	binding := func(text string) (schemas.CursorBinding, error) {
		text, elsewhere := strings.CutSuffix(text, " in another venue")
		venue := map[bool]uint64{false: 1, true: 2}[elsewhere]
		list, account, _ := strings.Cut(text, " of account ")
		name, filter, _ := strings.Cut(list, " ")
		in, err := listing(name)
		if err != nil {
			return schemas.CursorBinding{}, err
		}
		if f := schemas.DecodeQuery(filter, in); f != nil {
			return schemas.CursorBinding{}, f
		}
		n, err := strconv.ParseUint(account, 10, 32)
		return schemas.BindCursor(venue, name, uint32(n), in), err
	}
	from, err := binding(made)
	if err != nil {
		return "", err
	}
	to, err := binding(sent)
	if err != nil {
		return "", err
	}
	var place uint64
	return codeOf(schemas.DecodeCursor(to, schemas.EncodeCursor(from, 184), &place), core.OK), nil
}

// cost reads an operation and how many items it has.
func cost(line string) (string, error) {
	name, items, _ := strings.Cut(line, " ")
	n, err := strconv.Atoi(items)
	if items != "" && err != nil {
		return "", err
	}
	switch name {
	case "place_order":
		return fmt.Sprint(tools.PlaceOrder.Tokens(&schemas.PlaceOrder{})), nil
	case "place_orders":
		return fmt.Sprint(tools.PlaceOrders.Tokens(&schemas.PlaceOrders{Orders: make([]schemas.PlaceOrder, n)})), nil
	case "put_quotes":
		return fmt.Sprint(tools.PutQuotes.Tokens(&schemas.PutQuotes{Quotes: make([]schemas.Quote, n)})), nil
	case "cancel_orders":
		return fmt.Sprint(tools.CancelOrders.Tokens(&schemas.CancelOrders{OrderIDs: make([]schemas.U64, n)})), nil
	}
	return "", fmt.Errorf("no operation %q", name)
}

// errorBody reads a code, or "rate_limited after N ms".
func errorBody(line string) (string, error) {
	code, rest, limited := strings.Cut(line, " after ")
	e := schemas.ErrorOf(code)
	if limited {
		ms, err := strconv.ParseInt(strings.TrimSuffix(rest, " ms"), 10, 64)
		if err != nil {
			return "", err
		}
		e = schemas.RateLimited(ms)
	}
	b, err := schemas.Append(nil, schemas.ErrorBody{Error: e})
	return string(b), err
}

// sign reads "secret HEX | timestamp | method | target | body".
func sign(line string) (string, error) {
	part := strings.SplitN(strings.TrimPrefix(line, "secret "), " | ", 5)
	if len(part) == 4 {
		part[3] = strings.TrimSuffix(part[3], " |")
		part = append(part, "")
	}
	if len(part) != 5 {
		return "", fmt.Errorf("%d parts", len(part))
	}
	secret, err := hex.DecodeString(part[0])
	return schemas.Sign(secret, part[1], part[2], part[3], []byte(part[4])), err
}

func price(text string) (string, error) {
	p, err := feed.ParsePrice(text)
	if err != nil {
		return "refused", nil
	}
	return fmt.Sprint(uint64(p)), nil
}

var feedNames = map[string]core.Feed{"BTC": core.BTC, "gold": core.Gold, "WTI": core.WTI}

// index reads "FEED: source=price@age …", ages in seconds.
func index(line string) (string, error) {
	const now = int64(1_800_000_000) * core.NsPerSec
	name, sources, _ := strings.Cut(line, ": ")
	f, ok := feedNames[name]
	if !ok {
		return "", fmt.Errorf("no feed %q", name)
	}
	var x feed.Index
	for _, one := range strings.Fields(sources) {
		source, quote, _ := strings.Cut(one, "=")
		text, age, _ := strings.Cut(quote, "@")
		old, err := strconv.ParseFloat(age, 64)
		if err != nil {
			return "", err
		}
		x.Update(f, source, scaled(text), now-int64(old*1000)*core.NsPerMs)
	}
	tick, gap := x.Tick(f, now)
	if gap != feed.NoGap {
		return "none", nil
	}
	return fmt.Sprintf("index %s, sources %d", decimal(tick.Price), tick.Count), nil
}

// jumps reads "FEED, limit PERCENT, minimum N: SECOND, SECOND, …". A SECOND is the prices of one
// second, "source=price …", or a duration without prices.
func jumps(line string) (string, error) {
	settings, seconds, _ := strings.Cut(line, ": ")
	name, rest, _ := strings.Cut(settings, ", limit ")
	f, ok := feedNames[name]
	if !ok {
		return "", fmt.Errorf("no feed %q", name)
	}
	var limit feed.Limit
	if _, err := fmt.Sscan(strings.ReplaceAll(rest, ", minimum", "")+" 0", &limit.JumpPct, &limit.MinSources); err != nil {
		return "", err
	}
	var x feed.Index
	x.SetLimit(f, limit)
	now := int64(1_800_000_000) * core.NsPerSec
	var out []string
	for second := range strings.SplitSeq(seconds, ", ") {
		if d, err := time.ParseDuration(second); err == nil {
			now += int64(d)
			continue
		}
		now += core.NsPerSec
		for _, one := range strings.Fields(second) {
			source, text, _ := strings.Cut(one, "=")
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return "", err
			}
			x.Update(f, source, core.Price(n), now)
		}
		tick, gap := x.Tick(f, now)
		if gap != feed.NoGap {
			out = append(out, "none")
			continue
		}
		out = append(out, fmt.Sprintf("%d of %d", tick.Price, tick.Count))
	}
	return strings.Join(out, ", "), nil
}

// sessionAt reads "FEED at DATE TIME", in New York time.
func sessionAt(line string) (string, error) {
	const layout = "2006-01-02 15:04"
	name, text, _ := strings.Cut(line, " at ")
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		return "", err
	}
	at, err := time.ParseInLocation(layout, text, zone)
	if err != nil {
		return "", err
	}
	calendar, err := session.Load()
	if err != nil {
		return "", err
	}
	open, until, err := calendar.At(feedNames[name], at)
	end := "never"
	if !until.IsZero() {
		end = until.In(zone).Format(layout)
	}
	return fmt.Sprintf("open %s, until %s", yes(open), end), err
}
