package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/feeds"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tape.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// watch plays a recording for the time d and returns a line for each price: its time,
// feed, source and value.
func watch(t *testing.T, tape *Recording, d time.Duration) (lines []string) {
	t.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	done := make(chan []string)
	for _, s := range tape.Sources() {
		go func() {
			var own []string
			err := s.Run(ctx, func(p core.Price, at time.Time) {
				own = append(own, fmt.Sprintf("%6s %s %s %s", at.Sub(start), s.Feed(), s.Name(), decimalText(p)))
				if at.After(time.Now()) {
					t.Errorf("price with the future time %s", at)
				}
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			done <- own
		}()
	}
	for range tape.Sources() {
		lines = append(lines, <-done...)
	}
	slices.Sort(lines)
	return lines
}

const tape = `ts_ns,feed,source,price
1700000000000000000,BTC,kraken,65000.125
1700000000500000000,1,x,2400
1700000002000000000,BTC,gemini,65001
1700000004000000000,0,kraken,65002
1700000003000000000,BTC,kraken,1
1700000009000000000,WTI,x,78.5
`

func TestPlay(t *testing.T) {
	path := file(t, tape)
	for _, c := range []struct {
		speed int
		want  []string
	}{
		{1, []string{
			"    0s BTC kraken 65000.12500000", "    2s BTC gemini 65001.00000000", "    3s BTC kraken 1.00000000", // out of order: the index drops it
			"    4s BTC kraken 65002.00000000", "    9s WTI x 78.50000000", " 500ms gold x 2400.00000000",
		}},
		{10, []string{
			"    0s BTC kraken 65000.12500000", "  50ms gold x 2400.00000000", " 200ms BTC gemini 65001.00000000", " 300ms BTC kraken 1.00000000",
			" 400ms BTC kraken 65002.00000000", " 900ms WTI x 78.50000000",
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			tape, err := Open(path, c.speed)
			if err != nil {
				t.Fatal(err)
			}
			if got := watch(t, tape, 20*time.Second); !slices.Equal(got, c.want) {
				t.Errorf("speed %d:\n%s\nwant\n%s", c.speed, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestPosterOfARecording checks the ticks of a recording; the index drops the price whose
// time is before the previous one.
func TestPosterOfARecording(t *testing.T) {
	path := file(t, tape)
	synctest.Test(t, func(t *testing.T) {
		tape, err := Open(path, 1)
		if err != nil {
			t.Fatal(err)
		}
		var ticks []string
		p, err := feeds.NewPoster(func(_ context.Context, cmd core.Command) error {
			if tick := cmd.(*core.PostIndex).Tick; tick.Feed == core.BTC {
				ticks = append(ticks, fmt.Sprintf("%d:%d", tick.Count, tick.Price/1e8))
			}
			return nil
		}, tape.Sources()...)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		p.Run(ctx)
		// Fresh for 5 s: kraken from 0 s and 4 s, gemini from 2 s.
		want := "[1:65000 1:65000 2:65000 2:65000 2:65001 2:65001 2:65001 1:65002 1:65002]"
		if got := fmt.Sprint(ticks); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if s := p.States()[0]; s.Source.Name != "kraken" || s.Dropped() != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestOpenRejects(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "has no price"},
		{"ts_ns,feed,source,price\n", "has no price"},
		{"1,BTC,x,1\n1,BTC,x\n", "line 2: wrong number of fields"},
		{"1,BTC,x,1\nnow,BTC,x,1\n", `line 2: "now" is not a time`},
		{"-1,BTC,x,1\n", `line 1: "-1" is not a time`},
		{"1,ETH,x,1\n", `line 1: there is no feed "ETH"`},
		{"1,3,x,1\n", `there is no feed "3"`},
		{"1,BTC,,1\n", "a source has a name"},
		{"1,BTC," + strings.Repeat("x", 65) + ",1\n", "a source has a name"},
		{"1,BTC,x,0\n", `"0" is not a price`},
		{"1,BTC,x,-1\n", `"-1" is not a price`},
		{"1,BTC,x,1e5\n", `"1e5" is not a price`},
		{"1,BTC,x,NaN\n", `"NaN" is not a price`},
		{"1,BTC,x,1\n1,BTC,\"x,1\n", "line"},
	} {
		if _, err := Open(file(t, c.text), 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	if _, err := Open(file(t, tape), 0); err == nil {
		t.Error("Open accepts speed 0")
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), 1); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// scripted sends a few prices, half a second apart.
type scripted struct {
	name   string
	feed   core.Feed
	prices []core.Price
}

func (s scripted) Name() string         { return s.name }
func (s scripted) Feed() core.Feed      { return s.feed }
func (s scripted) Counts() feeds.Counts { return feeds.Counts{Messages: 7} }
func (s scripted) Run(ctx context.Context, out func(core.Price, time.Time)) error {
	for _, p := range s.prices {
		out(p, time.Now())
		time.Sleep(500 * time.Millisecond)
	}
	return errors.New("done")
}

// TestRecordedThenPlayed checks that a recording plays the recorded prices to the last
// digit, and that values that are not prices are not recorded.
func TestRecordedThenPlayed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		r, err := NewRecorder(&b)
		if err != nil {
			t.Fatal(err)
		}
		var passed int
		for _, s := range []feeds.Source{scripted{"a", core.BTC, []core.Price{1, ^core.Price(0), 0, 5}}, scripted{"b,\"c", core.WTI, []core.Price{100_000_001}}} {
			s := r.Tee(s)
			if err := s.Run(t.Context(), func(core.Price, time.Time) { passed++ }); err == nil || s.(feeds.CountingSource).Counts().Messages != 7 {
				t.Errorf("%s: %v", s.Name(), err)
			}
		}
		if err := r.Flush(); err != nil || r.Rows() != 4 || passed != 5 {
			t.Fatal(err, r.Rows(), passed)
		}
		path := filepath.Join(dir, "tape.csv")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		tape, err := Open(path, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"    0s BTC a 0.00000001", "    2s WTI b,\"c 1.00000001", "  1.5s BTC a 0.00000005", " 500ms BTC a 184467440737.09551615"}
		if got := watch(t, tape, 5*time.Second); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestFlushReturnsWriteErrors(t *testing.T) {
	r, err := NewRecorder(full{})
	if err != nil {
		t.Fatal(err)
	}
	r.Record(core.BTC, "a", 1, time.Unix(1, 0))
	if err := r.Flush(); err == nil {
		t.Error("Flush returns no error")
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(tape)
	f.Add("1,BTC,\"x\n\",1\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows := readRows(strings.NewReader(text))
		for {
			r, err := rows.next()
			if err != nil {
				return
			}
			if r.at <= 0 || r.price == 0 || r.feed >= core.Feeds || r.source == "" {
				t.Fatalf("%+v", r)
			}
		}
	})
}
