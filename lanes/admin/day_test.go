package admin

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// TestDay plays two intervals, and then more than a day without a read.
func TestDay(t *testing.T) {
	d := newTestOperator(t, nil)
	path := filepath.Join(t.TempDir(), "day.json")
	day := NewDay(d.Venue, &d.Gate.Stats, nil, path, d.Gate.Log)
	begins := day.begins
	at := func(n int) schemas.U64 { return schemas.U64(begins.Add(time.Duration(n) * dayInterval).UnixNano()) }
	check := func(when string, now time.Time, want ...schemas.DayInterval) {
		t.Helper()
		got := day.History(now)
		if got.IntervalSeconds != 300 || got.SinceTs < at(0) || !reflect.DeepEqual(got.Intervals, want) {
			t.Errorf("%s:\n  got  %+v\n  want %+v", when, got, want)
		}
	}
	withdraw := func(id string) uint64 {
		return d.Server.Submit(&core.RequestWithdrawal{User: 1, ClientID: id, Amount: 900, Destination: "home"}).Stamp.Seq
	}

	d.Server.Submit(&core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Side: core.Buy, Outcome: core.Yes, Tick: 5000, Qty: 3})
	d.Server.Submit(&core.PlaceOrder{User: 2, ClientID: 1, Market: 1, Side: core.Buy, Outcome: core.No, Tick: 5000, Qty: 3})
	d.Server.Submit(&core.Deposit{User: 1, DepositID: "wire", Amount: 10_000})
	paid, returned := withdraw("a"), withdraw("b")
	for range 2 {
		d.Request(http.MethodGet, d.URL+"/v1/portfolio/balance", "", nil) // without a signature
	}
	var fees schemas.U64
	d.Engine.Read(func(v *venue.Venue, _ *view.View) { fees = schemas.U64(v.Sums().Fees) })
	if fees == 0 {
		t.Fatal("the fill had no fee")
	}
	first := schemas.DayInterval{StartTs: at(0), Contracts: 3, Fees: fees, Deposited: 10_000, Requests: 2, Rejected: 2}
	check("in the first interval", begins.Add(dayInterval-1), first)

	d.do("POST", fmt.Sprintf("/admin/withdrawals/%d/complete", paid), "")
	d.do("POST", fmt.Sprintf("/admin/withdrawals/%d/reject", returned), "")
	first.PaidOut = 900 // nothing has counted since
	check("in the second interval", begins.Add(dayInterval), first, schemas.DayInterval{StartTs: at(1)})

	// Over a restart: what was done is there, and money that was booked after the last save is not missing.
	d.Server.Submit(&core.Deposit{User: 1, DepositID: "before", Amount: 2})
	day.save()
	since := day.since
	d.Server.Submit(&core.Deposit{User: 1, DepositID: "after", Amount: 3})
	day = newDay(d.Venue, &d.Gate.Stats, nil, path, d.Gate.Log, begins.Add(dayInterval))
	if day.since != since {
		t.Errorf("the history begins at %d, want %d", day.since, since)
	}
	check("after a restart", begins.Add(dayInterval), first, schemas.DayInterval{StartTs: at(1), Deposited: 5})

	d.Server.Submit(&core.Deposit{User: 1, DepositID: "wire-2", Amount: 5})
	check("a day later", begins.Add(dayLength+dayInterval), schemas.DayInterval{StartTs: at(1), Deposited: 10}, schemas.DayInterval{StartTs: at(289)})
	check("two days later", begins.Add(2*dayLength+2*dayInterval), schemas.DayInterval{StartTs: at(578)})

	// Of a backup, in which less was booked, and of a file that is none.
	for _, text := range []string{`{"since_ts":"1","intervals":[{"start_ts":"2"}],"fees":999999999,"deposited":999999999999,"paid_out":999999999}`, `{"since_ts`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		day = newDay(d.Venue, &d.Gate.Stats, nil, path, d.Gate.Log, begins)
		if got := day.History(begins); !reflect.DeepEqual(got.Intervals, []schemas.DayInterval{{StartTs: at(0)}}) {
			t.Errorf("with the file %s: %+v, want nothing done", text, got.Intervals)
		}
	}
	if !strings.Contains(d.logs.String(), "the last day cannot be read and begins anew") {
		t.Error("a damaged file is not in the log")
	}
}

func TestLastDay(t *testing.T) {
	d := newTestOperator(t, keepShared)
	d.as(d.add("vera", "viewer"), want{"GET", "/admin/day", "", 200,
		`^\{"since_ts":"\d+","interval_seconds":300,"places":0,"intervals":\[\{"start_ts":"\d+","contracts":"0","fees":"0","deposited":"0","paid_out":"0","requests":0,"rejected":0,"faults":0,"connections":0\}`})
}
