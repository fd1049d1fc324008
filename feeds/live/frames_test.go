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
	"duplex/feeds/adapter"
)

// parsers are the parsers of all venues, by the name of their file in testdata.
var parsers = map[string]func([]byte) ([]adapter.Quote, error){
	"coinbase": parseCoinbase,
	"kraken":   parseKraken,
	"bitstamp": parseBitstamp,
	"gemini":   parseGemini,
	"binance":  func(m []byte) ([]adapter.Quote, error) { return parseBinance(m, "BTCUSDT") },
	"pyth":     func(m []byte) ([]adapter.Quote, error) { return parsePyth(m, pythGold), nil },
}

// page reads the messages of a venue and the expected result of each.
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

// shown formats the result of a parser on one line.
func shown(quotes []adapter.Quote, err error) string {
	switch {
	case errors.Is(err, adapter.ErrReconnectRequested):
		return "reconnect"
	case err != nil:
		return "rejected: " + err.Error()
	case len(quotes) == 0:
		return "nothing"
	}
	var all []string
	for _, q := range quotes {
		all = append(all, shownQuote(q))
	}
	return strings.Join(all, "; ")
}

func shownQuote(q adapter.Quote) string {
	if q.Drop != feeds.NotDropped {
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

// FuzzFrames checks that no message makes a parser panic, that accepted values have a
// price, and that a truncated message has none of its prices.
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

func check(t *testing.T, venue string, message []byte, quotes []adapter.Quote, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, adapter.ErrReconnectRequested) && !errors.Is(err, adapter.ErrRejected) {
		t.Fatalf("%s, message %q: %v, want ErrReconnectRequested or ErrRejected as the only errors", venue, message, err)
	}
	if err != nil && (len(quotes) > 0 || len(err.Error()) > 700) {
		t.Fatalf("%s: %q: %v and %v", venue, message, quotes, err)
	}
	for _, q := range quotes {
		accepted := q.Drop == feeds.NotDropped
		if accepted != (q.Price > 0) || q.Drop >= feeds.DropReasons || q.Stamp < 0 {
			t.Fatalf("%s, message %q: %+v, want a price if and only if it is accepted, and a stamp", venue, message, q)
		}
		if accepted && !strings.ContainsAny(string(message), "123456789") {
			t.Fatalf("%s: %q has no digit, but the price %s", venue, message, shownQuote(q))
		}
	}
}
