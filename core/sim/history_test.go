package sim

import (
	"bytes"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// sample is the state of a slot after a command.
type sample struct {
	ts     int64
	number uint64
	trades bool
	row    view.RoundSecond
}

// recorder notes the state of every slot and every feed after each command, with nothing but
// the reads of the venue.
type recorder struct {
	slots  [venue.Slots + 1][]sample
	rounds map[uint64]core.Round
	ticks  [core.Feeds]map[int64]view.PriceTick // by second
}

func newRecorder() *recorder {
	r := &recorder{rounds: map[uint64]core.Round{}}
	for f := range r.ticks {
		r.ticks[f] = map[int64]view.PriceTick{}
	}
	return r
}

func (r *recorder) note(v *venue.Venue) {
	for f := range r.ticks {
		if t, ok, _, _ := v.Index(core.Feed(f)); ok {
			r.ticks[f][t.Second] = view.PriceTick{Second: t.Second, Price: t.Price, Sources: t.Count}
		}
	}
	for id := range core.MarketID(venue.Slots + 1) {
		s, ok := v.Market(id)
		if !ok {
			continue
		}
		r.rounds[s.Number] = s.Round
		x := sample{ts: v.Now().Ts, number: s.Number, trades: s.Status == core.Trading}
		if x.trades {
			tick, _, _, _ := v.Index(s.Feed)
			x.row = view.RoundSecond{Index: tick.Price, Last: s.LastTick, Volume: s.Volume}
			for l := range s.Book.Levels(true) {
				x.row.Bid = l.Tick
				break
			}
			for l := range s.Book.Levels(false) {
				x.row.Ask = l.Tick
				break
			}
		}
		r.slots[id] = append(r.slots[id], x)
	}
}

// rows returns the rows of a round, newest first: for each second that has ended, the last
// sample before its end, if the round was trading then. now is the stamp of the next command.
func (r *recorder) rows(x core.Round, now int64) (out []view.RoundSecond) {
	list := r.slots[x.Market]
	for at := x.OpenTs / core.NsPerSec; at < x.CloseTs/core.NsPerSec && (at+1)*core.NsPerSec <= now; at++ {
		i, _ := slices.BinarySearchFunc(list, (at+1)*core.NsPerSec, func(s sample, ts int64) int { return int(max(-1, min(1, s.ts-ts))) })
		if s := list[i-1]; s.number == x.Number && s.trades {
			s.row.Second = at
			out = append(out, s.row)
		}
	}
	slices.Reverse(out)
	return out
}

func copied[T any](seq iter.Seq[*T]) (out []T) {
	for x := range seq {
		out = append(out, *x)
	}
	return out
}

// pieces returns a snapshot of a view.
func pieces(t *testing.T, w *view.View) (list [][]byte) {
	t.Helper()
	m := w.Image()
	defer m.End(new(sync.Mutex))
	for b, err := range m.Pieces(new(sync.Mutex)) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, bytes.Clone(b))
	}
	return list
}

func restoreView(t *testing.T, list [][]byte, caps view.RetentionCaps) *view.View {
	t.Helper()
	w, err := view.Restore(func(yield func([]byte, error) bool) {
		for _, b := range list {
			if !yield(b, nil) {
				return
			}
		}
	}, caps)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestHistoryIsTheRecording compares the history of prices and rounds with a recording of the
// venue after every command. Days pass within seconds, operators void and pause rounds, and one
// of two views is restored from its snapshot again and again.
func TestHistoryIsTheRecording(t *testing.T) {
	rounds, rows, gaps, voids := 0, 0, 0, 0
	for seed := uint64(1); seed <= 6; seed++ {
		d, r := newDirectRun(seed), newRecorder()
		draw := rand.New(rand.NewPCG(seed, 0x415))
		caps := view.DefaultRetentionCaps()
		live, restored := view.New(caps), view.New(caps)
		d.before = func(at core.Stamp) {
			if draw.IntN(400) == 0 {
				restored = restoreView(t, pieces(t, restored), caps)
			}
			if was := d.v.Now().Ts; was > 0 && at.Ts-was > core.NsPerSec {
				gaps++
			}
			live.EndSeconds(at.Ts, d.v)
			restored.EndSeconds(at.Ts, d.v)
		}
		d.applied = func(at core.Stamp, _ core.Command, events []core.Event) {
			live.Fold(at, events)
			restored.Fold(at, events)
			r.note(d.v)
		}
		if err := d.run(6000, 6000); err != nil {
			t.Fatal(err)
		}
		hour := d.v.Now().Ts + 3600*core.NsPerSec // the venue is down for an hour
		d.before(core.Stamp{Seq: d.v.Now().Seq + 1, Ts: hour})
		if !slices.EqualFunc(pieces(t, live), pieces(t, restored), bytes.Equal) {
			t.Errorf("seed %d: the restored view has another snapshot", seed)
		}
		newest := map[uint16]int{} // rounds of a category that are newer
		for _, n := range slices.Backward(slices.Sorted(maps.Keys(r.rounds))) {
			x := r.rounds[n]
			want := r.rows(x, hour)
			if len(want) > 0 {
				newest[x.Category]++
			}
			if newest[x.Category] > 17 {
				want = nil
			}
			got := copied(live.RoundSeconds(&x, math.MaxInt64, math.MaxInt))
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d: round %d has %d rows, want %d:\n%v\n%v", seed, n, len(got), len(want), got, want)
			}
			if rounds, rows = rounds+1, rows+len(got); x.Status == core.Void && x.FreezeTs == 0 {
				voids++
			}
		}
		for f := range r.ticks {
			want := slices.SortedFunc(maps.Values(r.ticks[f]), func(a, b view.PriceTick) int { return int(b.Second - a.Second) })
			if got := copied(live.PriceTicks(core.Feed(f), math.MaxInt64, math.MaxInt)); !slices.Equal(got, want) || len(got) == 0 {
				t.Fatalf("seed %d: feed %d has %d ticks, want %d", seed, f, len(got), len(want))
			}
		}
	}
	t.Logf("%d rounds with %d rows, %d of them void while they traded; %d gaps between commands", rounds, rows, voids, gaps)
	if rows < 5000 || gaps == 0 || voids == 0 {
		t.Error("the runs lack cases")
	}
}
