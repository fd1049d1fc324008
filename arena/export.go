package arena

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"duplex/core"
	"duplex/core/export"
	"duplex/core/replica"
	"duplex/core/venue"
	"duplex/internal/atomicfile"
)

// exportLevels is how many levels of each side of a book are exported.
const exportLevels = 10

// The tables of an export, by name.
var exportTables = []export.Table{
	{Name: "index", Columns: []export.Column{{Name: "ts", Kind: export.Time}, {Name: "second", Kind: export.Int}, {Name: "price", Kind: export.Uint}}},
	{Name: "rounds", Columns: []export.Column{
		{Name: "number", Kind: export.Uint}, {Name: "series", Kind: export.Uint}, {Name: "market_id", Kind: export.Uint}, {Name: "generation", Kind: export.Uint}, {Name: "status", Kind: export.Text}, {Name: "winner", Kind: export.Text},
		{Name: "strike", Kind: export.Uint}, {Name: "settle_price", Kind: export.Uint}, {Name: "open_ts", Kind: export.Time}, {Name: "close_ts", Kind: export.Time},
	}},
	{Name: "book", Columns: []export.Column{{Name: "ts", Kind: export.Time}, {Name: "market_id", Kind: export.Uint}, {Name: "round_number", Kind: export.Uint}, {Name: "side", Kind: export.Text}, {Name: "level", Kind: export.Int}, {Name: "tick_yes", Kind: export.Int}, {Name: "qty", Kind: export.Int}}},
	{Name: "trades", Columns: []export.Column{{Name: "ts", Kind: export.Time}, {Name: "seq", Kind: export.Uint}, {Name: "market_id", Kind: export.Uint}, {Name: "generation", Kind: export.Uint}, {Name: "tick_yes", Kind: export.Int}, {Name: "qty", Kind: export.Int}, {Name: "path", Kind: export.Text}}},
	{Name: "orders", Columns: []export.Column{
		{Name: "ts", Kind: export.Time}, {Name: "seq", Kind: export.Uint}, {Name: "seat", Kind: export.Text}, {Name: "client_order_id", Kind: export.Uint}, {Name: "market_id", Kind: export.Uint}, {Name: "generation", Kind: export.Uint},
		{Name: "side", Kind: export.Text}, {Name: "outcome", Kind: export.Text}, {Name: "tick", Kind: export.Int}, {Name: "qty", Kind: export.Int}, {Name: "code", Kind: export.Text},
	}},
	{Name: "fills", Columns: []export.Column{
		{Name: "ts", Kind: export.Time}, {Name: "seq", Kind: export.Uint}, {Name: "seat", Kind: export.Text}, {Name: "order_id", Kind: export.Uint}, {Name: "role", Kind: export.Text}, {Name: "market_id", Kind: export.Uint}, {Name: "generation", Kind: export.Uint},
		{Name: "side", Kind: export.Text}, {Name: "outcome", Kind: export.Text}, {Name: "tick_yes", Kind: export.Int}, {Name: "qty", Kind: export.Int}, {Name: "fee", Kind: export.Money},
	}},
	{Name: "forecasts", Columns: []export.Column{
		{Name: "ts", Kind: export.Time}, {Name: "seq", Kind: export.Uint}, {Name: "seat", Kind: export.Text}, {Name: "n", Kind: export.Uint}, {Name: "market_id", Kind: export.Uint}, {Name: "generation", Kind: export.Uint},
		{Name: "round_number", Kind: export.Uint}, {Name: "p", Kind: export.Int},
	}},
	{Name: "equity", Columns: []export.Column{{Name: "ts", Kind: export.Time}, {Name: "seat", Kind: export.Text}, {Name: "equity", Kind: export.Money}}},
}

// exporter collects the rows of one bundle, by table.
type exporter struct {
	rows map[string][]export.Row
}

func (x *exporter) add(table string, r ...any) { x.rows[table] = append(x.rows[table], r) }

// Export writes the tables of every bundle of a run to files, in a folder for each seed. The page that describes
// the columns is written last, and one that exists must be the same.
func Export(dir, out string, o export.Options, progress func(done, total int)) error {
	seeds, _, err := completeSeeds(dir)
	if err != nil {
		return err
	}
	if run, err := runAround(out); err != nil {
		return err
	} else if run != "" {
		return badConfig("%s is inside the run %s, which would then have files that are not its own: name another folder with --out", out, run)
	}
	page, readme := []byte(schemaPage()), filepath.Join(out, "README.md")
	old, err := os.ReadFile(readme)
	if err == nil && !bytes.Equal(old, page) {
		return badConfig("%s %w", readme, export.ErrExists)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i, seed := range seeds {
		at := seedDir(dir, seed)
		for _, bundle := range manifestsOf(at) {
			rel, err := filepath.Rel(dir, bundle)
			if err != nil {
				return err
			}
			if err := exportBundle(bundle, filepath.Join(out, rel), o); err != nil {
				return fmt.Errorf("%s: %w", bundle, err)
			}
		}
		if progress != nil {
			progress(i+1, len(seeds))
		}
	}
	return atomicfile.Write(readme, page)
}

func exportBundle(bundle, out string, o export.Options) (err error) {
	m, err := readManifest(bundle)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o700); err != nil {
		return err
	}
	files, err := export.Create(out, o)
	if err != nil {
		return badConfig("%w", err)
	}
	defer func() {
		if errors.Is(err, export.ErrExists) {
			err = badConfig("%w", err)
		}
		if err != nil {
			err = errors.Join(err, files.Abort())
		}
	}()
	x := &exporter{rows: map[string][]export.Row{}}
	f, err := analyze(bundle, m, x.fold, x.sample)
	if err != nil {
		return err
	}
	if before := files.Present(); before != nil && before.Chain != f.CommandsHash {
		return badConfig("%s has an export of another run: export into another folder", out)
	}
	for i := range exportTables {
		t := &exportTables[i]
		if err = files.Table(t, export.Always); err != nil { // the run has ended
			return err
		}
		for _, r := range x.rows[t.Name] {
			if err = files.Row(0, r); err != nil {
				return err
			}
		}
	}
	return files.Close(export.Manifest{FromSeq: 1, ToSeq: f.seq, Chain: f.CommandsHash}) // the journal's own chain depends on its groups
}

// fold adds the rows of a group.
func (x *exporter) fold(b *replayBundle, out *replica.Result) error {
	for i := range out.Applied {
		a := &out.Applied[i]
		ts, seq := a.Stamp.Ts, a.Stamp.Seq
		if e, ok := forecastIn(a); ok {
			if s := b.seatOf(e.User); s != nil {
				m, _ := b.r.Venue.Market(e.Market)
				x.add("forecasts", ts, seq, s.Name, e.N, uint64(e.Market), uint64(e.Generation), m.Number, int64(e.P))
			}
		}
		for _, e := range a.Events {
			switch e := e.(type) {
			case *core.Indexed:
				x.add("index", ts, e.Tick.Second, uint64(e.Tick.Price))
			case *core.RoundChanged:
				if r := &e.Round; r.Status.Final() {
					var winner any
					if r.Winner != core.NoOutcome {
						winner = r.Winner.String()
					}
					x.add("rounds", r.Number, uint64(r.Category), uint64(r.Market), uint64(r.Generation), r.Status.String(), winner, uint64(r.Strike), uint64(r.Settle), r.OpenTs, r.CloseTs)
				}
			case *core.OrderPlaced:
				p := e.Place
				var seat any
				if s := b.seatOf(p.User); s != nil {
					seat = s.Name
				}
				code := ""
				if e.Reject != core.OK {
					code = e.Reject.Error()
				}
				x.add("orders", ts, seq, seat, p.ClientID, uint64(p.Market), uint64(e.Generation), p.Side.String(), p.Outcome.String(), int64(e.Tick), int64(p.Qty), code)
			case *core.Filled:
				x.add("trades", ts, seq, uint64(e.Market), uint64(e.Generation), int64(e.TickYes), int64(e.Qty), e.Path.String())
				if s := b.seatOf(e.TakerUser); s != nil {
					x.add("fills", ts, seq, s.Name, uint64(e.Taker), "taker", uint64(e.Market), uint64(e.Generation), e.TakerSide.String(), e.TakerOutcome.String(), int64(e.TickYes), int64(e.Qty), int64(e.TakerFee))
				}
				if s := b.seatOf(e.MakerUser); s != nil {
					x.add("fills", ts, seq, s.Name, uint64(e.Maker), "maker", uint64(e.Market), uint64(e.Generation), e.MakerSide.String(), e.MakerOutcome.String(), int64(e.TickYes), int64(e.Qty), int64(e.MakerFee-e.Rebate))
				}
			}
		}
	}
	return nil
}

// sample adds the rows of a second of venue time.
func (x *exporter) sample(b *replayBundle, ts int64) error {
	for _, s := range b.f.Seats {
		if s.user != 0 {
			x.add("equity", ts, s.Name, int64(s.at))
		}
	}
	for id := core.MarketID(1); id <= venue.Slots; id++ {
		m, ok := b.r.Venue.Market(id)
		if !ok || m.Status != core.Trading {
			continue
		}
		for _, bid := range []bool{true, false} {
			side, level := "ask", int64(0)
			if bid {
				side = "bid"
			}
			for l := range m.Book.Levels(bid) {
				if level++; level > exportLevels {
					break
				}
				x.add("book", ts, uint64(id), m.Number, side, level, int64(l.Tick), int64(l.Qty))
			}
		}
	}
	return nil
}

// schemaPage describes the tables.
func schemaPage() string {
	var b strings.Builder
	b.WriteString("# Tables of a run of dx arena\n\nOne folder a seed, with one for each seat in it if each had a venue of its own. A table without rows has no file. Prices of contracts are in pips: 4700 is 47 cents. `tick_yes` is that of YES, the `tick` of an order that of its own outcome, and `p` of a forecast is in basis points. Index prices are at 1e8 scale. Money is in pips, and in dollars in columns that end in _usd. Times are in ns of venue time since the Unix epoch, and in CSV again as RFC 3339 in columns that end in _iso. An empty text is null. `book` has the best ten levels of each side every second, `equity` that of each seat. A seat is null for the market's own accounts. `chain` in the manifest of a folder is the commands_hash of the seed.\n")
	for i := range exportTables {
		t := &exportTables[i]
		fmt.Fprintf(&b, "\n## %s\n\n| column | kind |\n|---|---|\n", t.Name)
		for _, c := range t.Columns {
			fmt.Fprintf(&b, "| `%s` | %s |\n", c.Name, [...]string{"integer", "integer, not negative", "pips", "ns", "text", "true or false"}[c.Kind])
		}
	}
	return b.String()
}
