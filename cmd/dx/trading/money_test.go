package trading

import (
	"strings"
	"testing"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

func TestPrintPnL(t *testing.T) {
	var out strings.Builder
	mark := func(n int64) *int64 { return &n }
	err := printPnL(&out, &schemas.PnL{
		Realized: 3514, RealizedToday: -100, Unrealized: -53475, Fees: 872, Equity: 99_816_575, OpenCost: 6_015_939, DepositsNet: 100_000_000, TransfersNet: -5000,
		Positions: []schemas.PnLPosition{
			{MarketID: 1, RoundNumber: 12, Category: 1, Outcome: "yes", Qty: 100, Cost: 526_240, AvgCost: 5262, Mark: mark(6900), Value: 690_000, Unrealized: 163_760},
			{MarketID: 4, RoundNumber: 10, Category: 9, Outcome: "no", Qty: 3, Cost: 9_450, AvgCost: 3150, Value: 9_450},
			{MarketID: 5, RoundNumber: 9, Category: 3, Outcome: "no", Qty: 1, Cost: 60, AvgCost: 60, Mark: mark(0), Unrealized: -60},
		},
	})
	want := `                   EQUITY  $9,981.6575
                 REALIZED      $0.3514
              of it today       -$0.01
               UNREALIZED     -$5.3475
                  REBATES        $0.00
DEPOSITS less withdrawals   $10,000.00
    TRANSFERS in less out       -$0.50
                FEES paid      $0.0872
                OPEN COST    $601.5939

SERIES   MARKET  ROUND  OUTCOME  QTY  AVG COST  MARK      COST    VALUE    PROFIT  IF IT WINS
btc-60s       1     12  YES      100    52.62¢   69¢  $52.6240   $69.00  $16.3760    $47.3760
wti-15m       4     10  NO         3     31.5¢     -   $0.9450  $0.9450     $0.00     $2.0550
btc-15m       5      9  NO         1      0.6¢    0¢   $0.0060    $0.00  -$0.0060     $0.9940
`
	if err != nil || out.String() != want {
		t.Errorf("%v, the result is\n%s\nwant\n%s", err, out.String(), want)
	}
}

func TestPrintLedger(t *testing.T) {
	var out strings.Builder
	err := printLedger(&out, cli.Zone{}, []schemas.LedgerRow{
		{N: 3, Ts: 1_800_000_001_000_000_000, Kind: "fee", Amount: -625, BalanceAfter: 949_375, MarketID: schemas.Ptr(uint32(1)), Generation: schemas.Ptr(uint32(2)), RoundNumber: schemas.Ptr(schemas.U64(7)), Category: schemas.Ptr(uint16(1)), OrderID: schemas.Ptr(schemas.U64(184)), FillN: schemas.Ptr(schemas.U64(1))},
		{N: 2, Ts: 1_800_000_000_000_000_000, Kind: "transfer", Amount: -50_000, BalanceAfter: 950_000},
		{N: 1, Ts: 1_800_000_000_000_000_000, Kind: "deposit", Amount: 1_000_000, BalanceAfter: 1_000_000, Ref: "d-1"},
	}, "")
	want := `N  TIME (UTC)           KIND        AMOUNT   BALANCE  SERIES   MARKET  ROUND  REF
3  2027-01-15 08:00:01  fee       -$0.0625  $94.9375  btc-60s       1      7  184
2  2027-01-15 08:00:00  transfer    -$5.00    $95.00  -             -      -  -
1  2027-01-15 08:00:00  deposit    $100.00   $100.00  -             -      -  d-1
`
	if err != nil || out.String() != want {
		t.Errorf("%v, the ledger is\n%s\nwant\n%s", err, out.String(), want)
	}
}

func TestPrintBalance(t *testing.T) {
	var out strings.Builder
	want := "       FREE  RESERVED        TOTAL\n$9,994.3384     $1.00  $9,995.3384\n"
	if err := printBalance(&out, &schemas.Balance{Cash: 99_943_384, Reserved: 10_000}); err != nil || out.String() != want {
		t.Errorf("%v, the balance is\n%s\nwant\n%s", err, out.String(), want)
	}
}
