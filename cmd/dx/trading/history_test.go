package trading

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

const someTime = 1_800_000_001_000_000_000 // 2027-01-15 08:00:01

func TestHistoryTables(t *testing.T) {
	orders := []schemas.Order{
		{OrderID: schemas.Ptr(schemas.U64(1850)), CreatedTs: someTime, MarketID: 3, Generation: 2, Side: "buy", Outcome: "yes", Tick: 4700, Qty: 5500, FilledQty: 4000, RemainingQty: 1500, TIF: "gtc", Status: "partially_filled"},
		{CreatedTs: someTime, MarketID: 3, Generation: 1, Side: "sell", Outcome: "no", Tick: 9999, Qty: 5, TIF: "ioc", Status: "rejected", Reason: "insufficient_position"},
	}
	fills := []schemas.Fill{{N: 3, Ts: someTime, MarketID: 3, RoundNumber: 12, Category: 1, OrderID: 185, Role: "taker", Side: "buy", Outcome: "no", Qty: 40, TickYes: 4750, Fee: 616}}
	won, profit := "yes", schemas.Signed(-12_300)
	rounds := []schemas.Round{
		{RoundNumber: 13, Category: 2, MarketID: 4, CloseTs: someTime, Status: "trading", Strike: 65000_00000000},
		{RoundNumber: 12, Category: 1, MarketID: 3, CloseTs: someTime, Status: "settled", Strike: 65000_00000000, SettlePrice: 65000_00000001, Winner: &won},
		{RoundNumber: 11, Category: 7, MarketID: 3, CloseTs: someTime, Status: "void", Strike: 75_12500000},
	}
	own := []schemas.AccountRound{
		{RoundNumber: 13, Category: 2, MarketID: 4, Status: "trading", BoughtYes: 5, SoldYes: 2, Paid: 20_000},
		{RoundNumber: 12, Category: 1, MarketID: 3, Status: "settled", Winner: &won, BoughtNo: 40, BoughtYes: 10, Redeemed: 10, Paid: 250_000, Fees: 616, Profit: &profit},
	}
	for name, c := range map[string]struct {
		print func(*strings.Builder) error
		want  string
	}{
		"orders": {func(out *strings.Builder) error {
			return printOrders(out, cli.Zone{}, orders, lives{{3, 2}: 1}, map[schemas.U64]int64{1850: 1042}, "")
		}, `
ORDER  TIME (UTC)           SERIES   MARKET  SIDE  OUTCOME   PRICE    QTY  FILLED   LEFT  AHEAD  TIF  STATUS
1850   2027-01-15 08:00:01  btc-60s       3  buy   YES         47¢  5,500   4,000  1,500  1,042  gtc  partially filled
-      2027-01-15 08:00:01  -             3  sell  NO       99.99¢      5       0      0      -  ioc  rejected: insufficient position
`},
		"fills": {func(out *strings.Builder) error { return printFills(out, cli.Zone{}, fills, "") }, `
N  TIME (UTC)           SERIES   MARKET  ROUND  SIDE  OUTCOME  QTY  PRICE  AMOUNT      FEE  ROLE   ORDER
3  2027-01-15 08:00:01  btc-60s       3     12  buy   NO        40  52.5¢  $21.00  $0.0616  taker  185
`},
		"rounds": {func(out *strings.Builder) error { return printRounds(out, cli.Zone{}, rounds, own, "") }, `
ROUND  SERIES   MARKET  CLOSES (UTC)         STATUS      STRIKE       SETTLED AT  RESULT  YES  NO  PROFIT
   13  btc-5m        4  2027-01-15 08:00:01  trading  65,000.00                -  -         3   0       -
   12  btc-60s       3  2027-01-15 08:00:01  settled  65,000.00  65,000.00000001  YES       0  30  -$1.23
   11  wti-60s       3  2027-01-15 08:00:01  void        75.125                -  void      -   -       -
`},
		"settlements": {func(out *strings.Builder) error {
			return printSettlements(out, cli.Zone{}, []schemas.Settlement{
				{Ts: someTime, Category: 1, MarketID: 3, RoundNumber: 12, OutcomeStatus: "settled", Winner: &won, YesQty: 30, NoQty: 5, Payout: 300_000, Cost: schemas.Ptr(schemas.U64(312_300)), Profit: &profit},
				{Ts: someTime, MarketID: 3, RoundNumber: 2, OutcomeStatus: "void", YesQty: 3, Payout: 15_000},
			}, "")
		}, `
TIME (UTC)           SERIES   MARKET  ROUND  RESULT  YES  NO  PAYOUT    COST  PROFIT
2027-01-15 08:00:01  btc-60s       3     12  YES      30   5  $30.00  $31.23  -$1.23
2027-01-15 08:00:01  -             3      2  void      3   0   $1.50       -       -
`},
		"prices": {func(out *strings.Builder) error {
			return printPrices(out, cli.Zone{}, []schemas.PriceRow{{Ts: someTime, Open: 65000_00000000, High: 65001_50000000, Low: 64999_00000000, Close: 65000_12300000, Sources: 3}})
		}, `
TIME (UTC)                OPEN       HIGH        LOW       CLOSE  SOURCES
2027-01-15 08:00:01  65,000.00  65,001.50  64,999.00  65,000.123        3
`},
		"own rounds": {func(out *strings.Builder) error { return printOwnRounds(out, own, "") }, `
ROUND  SERIES   MARKET  STATUS   RESULT    PAID  RECEIVED     FEES  PAYOUT  YES  NO  PROFIT
   13  btc-5m        4  trading  -        $2.00     $0.00    $0.00   $0.00    3   0       -
   12  btc-60s       3  settled  YES     $25.00     $0.00  $0.0616   $0.00    0  30  -$1.23
`},
		"nothing": {func(out *strings.Builder) error {
			return printFills(out, cli.Zone{}, nil, (&rowFlags{Series: "btc-5m"}).nothing("fills"))
		}, `
No fills in btc-5m.
`},
	} {
		var out strings.Builder
		if err := c.print(&out); err != nil || "\n"+out.String() != c.want {
			t.Errorf("%s: %v, the table is\n%s\nwant%s", name, err, out.String(), c.want)
		}
	}
}

// TestOnlySeries checks that pages are read until there are enough rows of the series.
func TestOnlySeries(t *testing.T) {
	pages := [][]schemas.Fill{{{N: 9, Category: 1}, {N: 8, Category: 2}}, {{N: 7, Category: 2}}, {{N: 6, Category: 2}, {N: 5, Category: 2}}, {{N: 4, Category: 2}}}
	for _, c := range []struct {
		series SeriesFlag
		limit  int64
		want   []schemas.U64
		reads  int
	}{
		{"", 1, []schemas.U64{9, 8}, 0}, // the venue has limited the page
		{"btc-5m", 1, []schemas.U64{8}, 0},
		{"btc-5m", 3, []schemas.U64{8, 7, 6}, 2},
		{"btc-5m", 9, []schemas.U64{8, 7, 6, 5, 4}, 3},
		{"wti-5m", 9, nil, 3},
	} {
		f, end, reads := rowFlags{Series: c.series, Limit: c.limit}, schemas.PageEnd{Cursor: "1"}, 0
		got, err := onlySeries(&f, pages[0], &end, func(r *schemas.Fill) uint16 { return r.Category }, func(cursor string) ([]schemas.Fill, schemas.PageEnd, error) {
			reads++
			if cursor != fmt.Sprint(reads) {
				t.Errorf("cursor %s on read %d", cursor, reads)
			}
			next := ""
			if reads < 3 {
				next = fmt.Sprint(reads + 1)
			}
			return pages[reads], schemas.PageEnd{Cursor: next}, nil
		})
		var numbers []schemas.U64
		for _, r := range got {
			numbers = append(numbers, r.N)
		}
		if err != nil || !slices.Equal(numbers, c.want) || reads != c.reads {
			t.Errorf("%q, limit %d: rows %v after %d more pages, %v", c.series, c.limit, numbers, reads, err)
		}
	}
}

// TestOwnRoundsOfAMarket checks that pages are read until there are enough rounds of the market.
func TestOwnRoundsOfAMarket(t *testing.T) {
	pages := map[string]string{
		"":  `{"rounds":[{"round_number":"9","market_id":1},{"round_number":"8","market_id":3}],"cursor":"a","as_of_seq":"1"}`,
		"a": `{"rounds":[{"round_number":"7","market_id":2}],"cursor":"b","as_of_seq":"1"}`,
		"b": `{"rounds":[{"round_number":"6","market_id":3},{"round_number":"5","market_id":3}],"cursor":"","as_of_seq":"1"}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, pages[r.URL.Query().Get("cursor")])
	}))
	defer s.Close()
	for limit, want := range map[int64]string{1: "8", 2: "8 6", 9: "8 6 5"} {
		r := Rounds{rowFlags: rowFlags{ClientFlags: cli.ClientFlags{URL: s.URL, Key: "k", Secret: strings.Repeat("0", 64)}, MarketID: schemas.Ptr(int64(3)), Limit: limit, JSON: true}, Mine: true}
		var out strings.Builder
		err := r.Run(t.Context(), &out)
		var list schemas.AccountRoundList
		if err == nil {
			err = json.Unmarshal([]byte(out.String()), &list)
		}
		numbers := ""
		for _, x := range list.Rounds {
			numbers += " " + x.RoundNumber.String()
		}
		if err != nil || strings.TrimSpace(numbers) != want || list.Cursor != "" {
			t.Errorf("limit %d: %v\n%s", limit, err, &out)
		}
	}
}
