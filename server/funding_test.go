package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/funding"
	"duplex/lanes/lanetest"
	"duplex/server"
	"duplex/server/servertest"
)

// fundingSecret signs the requests of the tests.
var fundingSecret = []byte("0123456789abcdef01234567")

// fundingService is a funding service that keeps the events that it took, each once.
type fundingService struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	events []funding.Event
	ids    map[string]bool
	refuse int // so many requests with events are answered 500
	repeat int // deliveries of an event that was taken before
	status int // of /address and /destination
	answer string
}

func newFundingService(t *testing.T) *fundingService {
	s := &fundingService{t: t, ids: map[string]bool{}, status: 200, answer: `{"address":"iban-7","asset":"EUR"}`}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *fundingService) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	id := r.Header.Get("webhook-id")
	mac := hmac.New(sha256.New, fundingSecret)
	fmt.Fprintf(mac, "%s.%s.%s", id, r.Header.Get("webhook-timestamp"), body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("webhook-signature") != want {
		s.t.Errorf("%s is signed %s, not %s", body, r.Header.Get("webhook-signature"), want)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path != "/base/events" {
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.answer) // the client may have gone
		return
	}
	if s.refuse > 0 {
		s.refuse--
		w.WriteHeader(500)
		return
	}
	var e funding.Event
	if err := json.Unmarshal(body, &e); err != nil {
		s.t.Error(err)
	}
	if s.ids[id] {
		s.repeat++
		return
	}
	s.ids[id] = true
	s.events = append(s.events, e)
}

// setRefuse sets how many requests with events are answered 500.
func (s *fundingService) setRefuse(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = n
}

// with returns the option of a venue that uses the service.
func (s *fundingService) with(o *server.Options) {
	o.FundingURL, o.FundingSecret = s.URL+"/base", fundingSecret
}

// wants waits until the service has exactly these events, in this order.
func (s *fundingService) wants(want ...string) {
	s.t.Helper()
	var got []string
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		s.mu.Lock()
		got = nil
		for i := range s.events {
			e := &s.events[i]
			text := e.Type
			if e.Deposit != nil {
				text += fmt.Sprintf(" %d %s %d", e.Deposit.UserID, e.Deposit.DepositID, e.Deposit.Amount)
			}
			if w := e.Withdrawal; w != nil {
				text += strings.TrimSuffix(fmt.Sprintf(" %d %s %d %s %s", w.UserID, w.ClientWithdrawalID, w.Amount, w.Destination, w.Reference), " ")
			}
			got = append(got, text)
		}
		s.mu.Unlock()
		if slices.Equal(got, want) {
			return
		}
	}
	s.t.Errorf("the service has\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

func submit(t *testing.T, v *servertest.Venue, cmds ...core.Command) (seq uint64) {
	t.Helper()
	for _, cmd := range cmds {
		r, err := v.Venue.Submit(t.Context(), cmd)
		if err != nil {
			t.Fatal(err)
		}
		seq = r.Stamp.Seq
	}
	return seq
}

// TestFundingEvents checks that the service gets every deposit and withdrawal once and in order: also
// those from before it was connected, those of while it or the venue was down, and those of while it
// refused.
func TestFundingEvents(t *testing.T) {
	data := t.TempDir()
	in := func(o *server.Options) { o.Data = data }
	v := servertest.New(t, in)
	w1 := submit(t, v, &core.RequestWithdrawal{User: 1, ClientID: "w-1", Amount: 500, Destination: "iban-1"})
	v.Close()

	s := newFundingService(t)
	s.refuse = 2
	v = servertest.New(t, in, s.with)
	want := []string{
		fmt.Sprintf("deposit.credited 1 dev-alice %d", servertest.InitialCash), fmt.Sprintf("deposit.credited 2 dev-bob %d", servertest.InitialCash),
		"withdrawal.requested 1 w-1 500 iban-1",
	}
	s.wants(want...)
	deposit := &core.Deposit{User: 2, DepositID: "bank-9", Amount: 1234}
	steps := func(w uint64, to ...core.WithdrawalState) (cmds []core.Command) {
		for _, s := range to {
			cmds = append(cmds, &core.DecideWithdrawal{Withdrawal: w, To: s, Reference: "payment"})
		}
		return cmds
	}
	submit(t, v, steps(w1, core.WithdrawalApproved, core.WithdrawalApproved, core.WithdrawalSent, core.WithdrawalCompleted)...)
	w2 := submit(t, v, deposit, &core.RequestWithdrawal{User: 2, ClientID: "w-2", Amount: 1000, Destination: "iban-2"})
	submit(t, v, deposit, &core.RequestWithdrawal{User: 2, ClientID: "w-2", Amount: 1000, Destination: "iban-2"}) // repeats are no events
	want = append(want, "withdrawal.approved 1 w-1 500 iban-1", "withdrawal.sent 1 w-1 500 iban-1 payment", "withdrawal.completed 1 w-1 500 iban-1 payment", "deposit.credited 2 bank-9 1234", "withdrawal.requested 2 w-2 1000 iban-2")
	s.wants(want...)
	v.Close()

	v = servertest.New(t, in) // without the service
	submit(t, v, append(steps(w2, core.WithdrawalApproved, core.WithdrawalSent, core.WithdrawalFailed), &core.Deposit{User: 1, DepositID: "bank-10", Amount: 7})...)
	v.Close()
	v = servertest.New(t, in, s.with)
	want = append(want, "withdrawal.failed 2 w-2 1000 iban-2 payment", "deposit.credited 1 bank-10 7")
	s.wants(want...)
	if s.repeat > 1 { // the answer to the last event before a close may be lost
		t.Errorf("%d events were delivered again", s.repeat)
	}
	var page string
	eventually(t, "delivery that is counted", func() bool { // an event is counted after the service has it
		page = askOperator(t, v, "GET", "/metrics", "")
		return strings.Contains(page, "\nduplex_funding_events_waiting 0\n")
	})
	for _, line := range []string{"duplex_funding_age_seconds 0", fmt.Sprintf(`duplex_funding_deliveries_total{outcome="delivered"} %d`, 2+s.repeat), `duplex_funding_deliveries_total{outcome="failed"} 0`} {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// TestFundingAfterARestore checks that a venue whose journal is older than the cursor tells every event
// again under the same ids, and new events under new ones.
func TestFundingAfterARestore(t *testing.T) {
	s, first, older := newFundingService(t), t.TempDir(), t.TempDir()
	clock := lanetest.NewClock()
	open := func(dir string) *servertest.Venue {
		o := server.Options{Data: dir, Now: clock.Time, Accounts: servertest.Accounts}
		s.with(&o)
		return servertest.Open(t, o)
	}
	v := open(first)
	submit(t, v, &core.Deposit{User: 1, DepositID: "a", Amount: 1}, &core.Deposit{User: 1, DepositID: "b", Amount: 2}, &core.Deposit{User: 1, DepositID: "c", Amount: 3})
	want := []string{
		fmt.Sprintf("deposit.credited 1 dev-alice %d", servertest.InitialCash), fmt.Sprintf("deposit.credited 2 dev-bob %d", servertest.InitialCash),
		"deposit.credited 1 a 1", "deposit.credited 1 b 2", "deposit.credited 1 c 3",
	}
	s.wants(want...)
	v.Close()

	// A copy without the last deposits: the same master key and the same first commands.
	for _, name := range []string{"master.key", "funding.json"} {
		b, err := os.ReadFile(filepath.Join(first, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(older, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(time.Hour)
	s.setRefuse(math.MaxInt)
	open(older).Close() // the venue may pass the old cursor before the service takes an event
	if b, err := os.ReadFile(filepath.Join(older, "funding.json")); err != nil || string(b) != `{"seq":0,"ts":0}` {
		t.Errorf("the cursor is %s: %v", b, err)
	}
	s.setRefuse(0)
	v = open(older)
	submit(t, v, &core.Deposit{User: 1, DepositID: "d", Amount: 4})
	s.wants(append(want, // their seqs are those of events before, and their times differ
		fmt.Sprintf("deposit.credited 1 dev-alice %d", servertest.InitialCash), fmt.Sprintf("deposit.credited 2 dev-bob %d", servertest.InitialCash),
		"deposit.credited 1 d 4")...)
}

// TestFundingPort checks the questions that the venue asks the service, and what its failures are on the
// wire.
func TestFundingPort(t *testing.T) {
	s := newFundingService(t)
	v := servertest.New(t, s.with)
	ask := func() (address, withdrawal string) {
		t.Helper()
		_, _, a, err := v.Client("alice").Call(t.Context(), "GET", "/v1/deposits/address", nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(a), fmt.Sprint(v.Gate().Venue.Funds.Accepts(t.Context(), "iban-1"))
	}
	if a, w := ask(); !strings.Contains(a, `"address":"iban-7","asset":"EUR"`) || w != "<nil>" {
		t.Error(a, w)
	}
	for _, c := range []struct {
		status          int
		answer          string
		address, accept string
	}{
		{500, "", "funding_unavailable", "POST /destination answers 500"},
		{302, "", "funding_unavailable", "POST /destination answers 302"},
		{403, "", "funding_unavailable", "withdrawal_refused"},
		{422, "", "funding_unavailable", "bad_destination"},
		{200, `{"address":""}`, "funding_unavailable", "<nil>"},
		{200, `no json`, "funding_unavailable", "<nil>"},
		{200, `{"address":"` + strings.Repeat("x", 129) + `","asset":"EUR"}`, "funding_unavailable", "<nil>"},
	} {
		s.mu.Lock()
		s.status, s.answer = c.status, c.answer
		s.mu.Unlock()
		if a, w := ask(); !strings.Contains(a, c.address) || !strings.Contains(w, c.accept) {
			t.Errorf("the port answers %d %s: the address gets %s, want %q, the withdrawal %s, want %q", c.status, c.answer, a, c.address, w, c.accept)
		}
	}
	s.Close()
	if a, w := ask(); !strings.Contains(a, "funding_unavailable") || w == "<nil>" {
		t.Errorf("without a service: %s, %s", a, w)
	}
}

// TestFundingOptions checks what Open rejects.
func TestFundingOptions(t *testing.T) {
	for name, o := range map[string]server.Options{
		"FundingURL":    {FundingURL: "http://bank.example", FundingSecret: fundingSecret},
		"FundingSecret": {FundingURL: "https://bank.example"},
		"SignUp":        {SignUp: "closed"},
		"SignUpToken":   {SignUp: "token"},
	} {
		_, err := server.Open(t.Context(), o)
		if e, ok := err.(*server.OptionError); !ok || e.Option != name {
			t.Errorf("Open with a bad %s: %v, want an OptionError that names it", name, err)
		}
	}
	for text, ok := range map[string]bool{"whsec_" + base64.StdEncoding.EncodeToString(fundingSecret): true, "whsec_MTIz": false, "whsec_": false, base64.StdEncoding.EncodeToString(fundingSecret): false, "whsec_%": false} {
		if _, err := funding.ParseSecret(text); (err == nil) != ok {
			t.Errorf("ParseSecret(%q): %v, want valid: %t", text, err, ok)
		}
	}
}
