package trading

import (
	"errors"
	"strings"
	"testing"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

func TestPrintForecasts(t *testing.T) {
	var out strings.Builder
	err := printForecasts(&out, cli.Zone{}, []schemas.Forecast{
		{N: 3, Ts: 1_800_000_001_000_000_000, MarketID: 1, Generation: 2, RoundNumber: 7, Category: 1, P: 625, Counts: true},
		{N: 2, Ts: 1_800_000_000_000_000_000, MarketID: 12, Generation: 1, RoundNumber: 6, Category: 3, P: 10_000, Counts: true, Winner: schemas.Ptr("no"), Brier: schemas.Ptr(int64(100_000_000))},
		{N: 1, Ts: 1_800_000_000_000_000_000, MarketID: 12, Generation: 1, RoundNumber: 6, Category: 3, P: 6200, Winner: schemas.Ptr("no"), Brier: schemas.Ptr(int64(38_440_000))},
	}, "")
	want := `N  TIME (UTC)           SERIES   MARKET  ROUND      YES  COUNTS  WINNER       BRIER
3  2027-01-15 08:00:01  btc-60s       1      7    6.25%  yes     -                -
2  2027-01-15 08:00:00  btc-15m      12      6  100.00%  yes     NO      1.00000000
1  2027-01-15 08:00:00  btc-15m      12      6   62.00%  no      NO      0.38440000
`
	if err != nil || out.String() != want {
		t.Errorf("%v, the table is\n%s\nwant\n%s", err, out.String(), want)
	}
}

func TestParsePercent(t *testing.T) {
	for text, want := range map[string]int64{"62": 6200, "62.5%": 6250, "0": 0, "100%": 10_000, "7.25": 725, "0.01%": 1, "0.62%": 62, "1": 100} {
		if got, err := parsePercent(text); err != nil || got != want {
			t.Errorf("%q: %d %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "-1", "100.01", "0.001", "x", "1e2", "62 %"} {
		if got, err := parsePercent(text); err == nil {
			t.Errorf("%q is accepted as %d", text, got)
		}
	}
	_, err := parsePercent("0.62")
	const want = "0.62 may mean 0.62 % or 62 %: write 62% for 62 %, or 0.62% for 0.62 %"
	if _, ok := errors.AsType[cli.FlagError](err); !ok || !strings.Contains(err.Error(), want) {
		t.Errorf("0.62: %v, want an error of the flag (exit 2): %s", err, want)
	}
}
