package arena

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"path/filepath"
	"strings"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/replica"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// seedFigures is what the bundle of one seed shows. Money is in dollars.
type seedFigures struct {
	Seed         uint64
	CommandsHash string
	StateHash    string
	Reproducible bool
	Seats        []*seatFigures // by number
	Seconds      int            // of venue time
	Setup        *Manifest

	seq    uint64   // of the last command
	hashes []string // CommandsHash of each bundle: of several if each seat has its own venue
}

// seatFigures is what a seat did in one seed.
type seatFigures struct {
	Name, Kind string
	Number     int
	user       core.UserID

	Fund, Profit, MaxDrawdown float64
	Rounds                    []float64 // profit of each round of the series
	Equity                    []float64 // every equityStep seconds of venue time
	Fills, MakerFills         int
	Fees                      float64
	Volume                    float64 // contracts
	Placements, Violations    int
	Open                      int // resting orders and contracts at the end

	Calls      int
	Rejections map[string]int
	Tokens     int
	Models     map[string]ModelUsage // what the seat says that its models took
	ThinkingMs float64
	Stalls     int
	ExitStatus *int
	Digest     *string
	Output     string

	Forecasts []forecastOf // those that count, in the order in which their rounds ended
	Swing     float64      // the largest number of contracts held in one market, YES less NO: a round moves so many dollars
	Between   []between    // what it won from other seats, by their number

	peak, at, beforeRound core.Pips
}

// equityStep is the time between two points of an equity curve, in seconds.
const equityStep = 10

func inDollars(p core.Pips) float64 { return float64(p) / 10_000 }

// replayBundle replays the journal of a bundle.
type replayBundle struct {
	r      *replica.Replica
	f      *seedFigures
	series uint16
	start  int64
	second int64 // the next to sample, ns; 0: the seats have no money yet
	marks  map[uint64]roundForecasts
	open   map[uint64][]seatFill // fills between seats of rounds that are not final, by number of the round
}

// analyze replays the journal of a bundle and reads its trajectories. each and sampled may be nil.
func analyze(dir string, m *Manifest, each func(*replayBundle, *replica.Result) error, sampled func(*replayBundle, int64) error) (*seedFigures, error) {
	f := &seedFigures{Seed: m.Seed, Reproducible: m.Reproducible, Setup: m}
	var numbers []int
	for i := range m.Seats {
		e := &m.Seats[i]
		if e.Number < 1 || e.Number > len(m.Settings.Seats) || m.Settings.Seats[e.Number-1].Name != e.Name {
			return nil, fmt.Errorf("%s: seat %q is not in the settings", dir, e.Name)
		}
		s := &m.Settings.Seats[e.Number-1]
		numbers = append(numbers, e.Number)
		f.Seats = append(f.Seats, &seatFigures{Name: s.Name, Kind: s.kind(), Number: e.Number, Stalls: e.Stalls, ExitStatus: e.ExitStatus, Digest: e.Digest, Output: schemas.ForTerminal(e.Output), Rejections: map[string]int{}, Fund: inDollars(s.fund)})
	}
	accounts := accountCheck{accountCommands(m.Settings, numbers)}
	b := &replayBundle{r: replica.New(view.DefaultRetentionCaps()), f: f, series: m.Settings.series.Category, start: m.Settings.start, marks: map[uint64]roundForecasts{}, open: map[uint64][]seatFill{}}
	h := newCommandsHash()
	for at, err := range journal.Check(filepath.Join(dir, "journal"), journal.Position{}, 1) {
		if err != nil {
			if _, ok := errors.AsType[*journal.Torn](err); ok {
				return nil, fmt.Errorf("%s: the journal is cut", dir)
			}
			return nil, err
		}
		cmds, err := replica.Commands(&at.Group)
		if err != nil {
			return nil, err
		}
		if err := b.sample(at.Group.Stamp, sampled); err != nil {
			return nil, err
		}
		if at.Group.Proposal <= b.r.State.Proposals[at.Group.Node] {
			return nil, fmt.Errorf("%s: group %d is there twice", dir, at.Group.Number)
		}
		for i := range cmds {
			out, err := b.apply(&at.Group, cmds[i:i+1])
			if err != nil {
				return nil, err
			}
			for i := range out.Applied {
				a := &out.Applied[i]
				if err := h.add(a.Stamp, a.Command); err != nil {
					return nil, err
				}
				if err := accounts.add(a); err != nil {
					return nil, err
				}
				b.fold(a)
			}
			if each != nil {
				if err := each(b, &out); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := errors.Join(accounts.end(), b.sample(b.r.Venue.Now().Ts+core.NsPerSec, sampled)); err != nil {
		return nil, err
	}
	f.CommandsHash = h.String()
	state, err := b.r.Venue.Hash()
	if err != nil {
		return nil, err
	}
	f.seq = b.r.Venue.Now().Seq
	f.StateHash = hex.EncodeToString(state[:])
	b.end()
	for _, s := range f.Seats {
		if err := s.readTrajectory(filepath.Join(dir, trajectoriesDir, s.Name+".jsonl")); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// commandsHash is the SHA-256 over seq, stamp and command of each command, in order.
type commandsHash struct {
	sum hash.Hash
	row []byte
}

func newCommandsHash() commandsHash { return commandsHash{sum: sha256.New()} }

func (h *commandsHash) add(at core.Stamp, cmd core.Command) (err error) {
	h.row = binary.BigEndian.AppendUint64(h.row[:0], at.Seq)
	h.row = binary.BigEndian.AppendUint64(h.row, uint64(at.Ts))
	if h.row, err = journal.AppendCommand(h.row, cmd); err == nil {
		h.sum.Write(h.row)
	}
	return err
}

func (h *commandsHash) String() string { return hex.EncodeToString(h.sum.Sum(nil)) }

// apply applies one command of a group. The others have their own calls: the state that a figure is read
// from must not depend on how commands were grouped.
func (b *replayBundle) apply(g *journal.Group, cmd []core.Command) (replica.Result, error) {
	b.r.State.Proposals[g.Node] = g.Proposal - 1
	return b.r.Apply(g, cmd, nil)
}

// sample takes the equity of each seat at every second up to ts, before the command with that stamp.
func (b *replayBundle) sample(ts int64, sampled func(*replayBundle, int64) error) error {
	b.second = cmp.Or(b.second, b.start-b.start%core.NsPerSec+core.NsPerSec)
	for ; b.second <= ts; b.second += core.NsPerSec {
		n := b.f.Seconds
		b.f.Seconds++
		for _, s := range b.f.Seats {
			if s.user == 0 {
				continue
			}
			s.at = b.r.Venue.Equity(s.user)
			s.peak = max(s.peak, s.at)
			s.MaxDrawdown = max(s.MaxDrawdown, inDollars(s.peak-s.at))
			if n%equityStep == 0 {
				s.Equity = append(s.Equity, inDollars(s.at))
			}
		}
		if sampled != nil {
			if err := sampled(b, b.second); err != nil {
				return err
			}
		}
	}
	return nil
}

// seatOf returns the seat of an account; nil if it is none.
func (b *replayBundle) seatOf(u core.UserID) *seatFigures {
	for _, s := range b.f.Seats {
		if s.user == u && u != 0 {
			return s
		}
	}
	return nil
}

// fold counts what one command did. The state is that after it.
func (b *replayBundle) fold(a *replica.Applied) {
	switch c := a.Command.(type) {
	case *core.CreateKey:
		for _, s := range b.f.Seats {
			if c.Key == seatKey(s.Number) {
				s.user = c.User
				s.peak = b.r.Venue.Equity(c.User)
				s.beforeRound = s.peak
			}
		}
	}
	if o := core.PlacementOf(a.Command); o != nil {
		if s := b.seatOf(o.User); s != nil {
			s.Placements++
			if a.Reject == core.MandateViolation {
				s.Violations++
			}
		}
	}
	b.foldForecast(a)
	for _, e := range a.Events {
		switch e := e.(type) {
		case *core.Filled:
			b.foldFill(e)
			if s := b.seatOf(e.TakerUser); s != nil {
				s.Fills++
				s.Fees += inDollars(e.TakerFee)
				s.Volume += float64(e.Qty)
			}
			if s := b.seatOf(e.MakerUser); s != nil {
				s.Fills++
				s.MakerFills++
				s.Fees += inDollars(e.MakerFee - e.Rebate)
				s.Volume += float64(e.Qty)
			}
		case *core.RoundChanged:
			if !e.Round.Status.Final() {
				continue
			}
			b.endForecasts(&e.Round)
			b.endFills(&e.Round)
			if e.Round.Category != b.series {
				continue
			}
			for _, s := range b.f.Seats {
				now := b.r.Venue.Equity(s.user)
				s.Rounds = append(s.Rounds, inDollars(now-s.beforeRound))
				s.beforeRound = now
			}
		}
	}
}

// end computes what the state at the end shows.
func (b *replayBundle) end() {
	b.endOpenFills()
	for _, s := range b.f.Seats {
		if s.user == 0 {
			continue
		}
		end := b.r.Venue.Equity(s.user)
		s.MaxDrawdown = max(s.MaxDrawdown, inDollars(max(s.peak, end)-end))
		s.Profit = inDollars(end) - s.Fund
		s.Equity = append(s.Equity, inDollars(end))
		for id := core.MarketID(1); id <= venue.Slots; id++ {
			h := b.r.Venue.Holding(s.user, id)
			s.Open += int(h.Contracts(core.Yes)) + int(h.Contracts(core.No)) + int(h.Open)
		}
	}
}

// errorCode returns the code of an answer that is an error, of REST or of a tool; "" if it is none.
func errorCode(r *callRow) string {
	if r.Status < 400 && !strings.Contains(string(r.Answer), `"isError":true`) && !strings.Contains(string(r.Answer), `"error":{`) {
		return ""
	}
	var body struct {
		Error struct {
			Code any
			Data struct{ Error struct{ Code string } }
		}
		Result struct {
			StructuredContent struct{ Error struct{ Code string } }
		}
	}
	_ = json.Unmarshal(r.Answer, &body) // an answer of another form leaves the codes empty
	if code, ok := body.Error.Code.(string); ok && code != "" {
		return code
	}
	if code := body.Error.Data.Error.Code; code != "" {
		return code
	}
	if code := body.Result.StructuredContent.Error.Code; code != "" {
		return code
	}
	if body.Error.Code != nil {
		return fmt.Sprint("jsonrpc ", body.Error.Code)
	}
	if r.Status < 400 {
		return "" // a batch, of which an item failed
	}
	return fmt.Sprint("status ", r.Status)
}

// kind is the kind of a seat in a report.
func (s *Seat) kind() string {
	switch {
	case s.Kind != "":
		return s.Kind
	case s.MCP:
		return "mcp"
	}
	return "process"
}

// completeRead sets what a replay needs of settings that were read from a manifest, which somebody else may
// have made. It does not check that commands are there.
func (c *Config) completeRead() (err error) {
	if err := c.checkNames(); err != nil {
		return err
	}
	if c.series, err = seriesOf(c.Series); err != nil {
		return err
	}
	if c.start, err = timeOf(c.Start); err != nil {
		return err
	}
	if err = c.chooseSeeds(); err != nil {
		return err
	}
	if c.sealed == sealCommitted && c.count < 1 {
		return badConfig("seeds %s: seed_count %d", c.Seeds, c.count)
	}
	for i := range c.Seats {
		s := &c.Seats[i]
		fund := s.Fund
		if x, ok := fund.(float64); ok && x == float64(int64(x)) { // JSON has one kind of number
			fund = int64(x)
		}
		if s.fund, err = dollars(fund); err != nil {
			return err
		}
		if err := s.decodeMandate(); err != nil {
			return err
		}
	}
	return nil
}
