package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/line"
)

// parsers are the readers of all venues, by the name of their page in testdata.
var parsers = map[string]func([]byte) ([]line.Quote, error){
	"coinbase": parseCoinbase,
	"kraken":   parseKraken,
	"bitstamp": parseBitstamp,
	"gemini":   parseGemini,
	"binance":  func(m []byte) ([]line.Quote, error) { return parseBinance(m, "BTCUSDT") },
	"pyth":     func(m []byte) ([]line.Quote, error) { return parsePyth(m, pythGold), nil },
}

// page is the frames of a venue and what is expected of each.
func page(t testing.TB, venue string) (frames, want []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", venue+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(b)) {
		l = strings.TrimSuffix(l, "\n")
		if expected, found := strings.CutPrefix(l, "= "); found {
			want = append(want, expected)
		} else if l != "" && !strings.HasPrefix(l, "#") {
			frames = append(frames, l)
		}
	}
	if len(frames) != len(want) || len(frames) == 0 {
		t.Fatalf("%s: %d frames and %d expectations", venue, len(frames), len(want))
	}
	return frames, want
}

// shown is the meaning of a message on one line.
func shown(quotes []line.Quote, err error) string {
	switch {
	case errors.Is(err, line.ErrAsked):
		return "asked"
	case err != nil:
		return "refused: " + err.Error()
	case len(quotes) == 0:
		return "nothing"
	}
	var all []string
	for _, q := range quotes {
		all = append(all, shownQuote(q))
	}
	return strings.Join(all, "; ")
}

func shownQuote(q line.Quote) string {
	if q.Drop != feeds.Sound {
		return "drop " + q.Drop.String()
	}
	text := dollars(q.Price)
	if q.Stamp != 0 {
		text += fmt.Sprintf(" at %d.%09d", q.Stamp/core.NsPerSec, q.Stamp%core.NsPerSec)
	}
	if q.Seq != 0 {
		text += fmt.Sprintf(" no %d", q.Seq)
	}
	return text
}

func dollars(p core.Price) string { return fmt.Sprintf("%d.%08d", p/1e8, p%1e8) }

func TestFrames(t *testing.T) {
	for venue, parse := range parsers {
		frames, want := page(t, venue)
		for i, f := range frames {
			if got := shown(parse([]byte(f))); got != want[i] {
				t.Errorf("%s: %s\n got %s\nwant %s", venue, f, got, want[i])
			}
		}
	}
}

// Whatever a stranger sends: no panic, and what passes for sound is a price. A
// frame cut anywhere is no price at all.
func FuzzFrames(f *testing.F) {
	for venue := range parsers {
		frames, _ := page(f, venue)
		for _, frame := range frames {
			f.Add([]byte(frame), uint(len(frame)/2))
		}
	}
	f.Fuzz(func(t *testing.T, message []byte, cut uint) {
		for venue, parse := range parsers {
			quotes, err := parse(message)
			check(t, venue, message, quotes, err)
			if message = []byte(strings.TrimSpace(string(message))); len(message) > 0 {
				short := message[:cut%uint(len(message))]
				quotes, err = parse(short)
				check(t, venue, short, quotes, err)
			}
		}
	})
}

func check(t *testing.T, venue string, message []byte, quotes []line.Quote, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, line.ErrAsked) && !errors.Is(err, line.ErrRefused) {
		t.Fatalf("%s: %q: %v", venue, message, err)
	}
	if err != nil && (len(quotes) > 0 || len(err.Error()) > 700) {
		t.Fatalf("%s: %q: %v and %v", venue, message, quotes, err)
	}
	for _, q := range quotes {
		sound := q.Drop == feeds.Sound
		if sound != (q.Price > 0) || q.Drop >= feeds.Drops || q.Stamp < 0 {
			t.Fatalf("%s: %q: %+v", venue, message, q)
		}
		if sound && !strings.ContainsAny(string(message), "123456789") {
			t.Fatalf("%s: %q has no digit, and gave %s", venue, message, shownQuote(q))
		}
	}
}
