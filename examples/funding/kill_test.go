package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "duplex/server" // the venue that TestReconcilesAfterKills builds: the go command repeats the test when it changes
)

// TestMain runs the service itself if a test has started this program for that.
func TestMain(m *testing.M) {
	if os.Getenv("FUNDING_TEST_SERVICE") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const testToken, testSecret = "sesame-0123456789-0123456789-012345", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"

// process is a program that the test kills and starts again.
type process struct {
	t       *testing.T
	command func() *exec.Cmd
	ready   string // a URL that answers 200
	mu      sync.Mutex
	running *exec.Cmd
	output  bytes.Buffer
	last    string // answer of ready
}

func (p *process) start() {
	p.t.Helper()
	c := p.command()
	c.Stdout, c.Stderr = &p.output, &p.output
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.running = c
	p.mu.Unlock()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if res, err := http.Get(p.ready); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == 200 {
				return
			}
			p.last = res.Status
		}
		if time.Now().After(end) {
			p.kill()
			p.t.Fatalf("%s does not start: %s, %s", c.Path, p.last, p.output.String())
		}
	}
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		_ = p.running.Process.Kill()
		_ = p.running.Wait() // it was killed
		p.running = nil
	}
}

// freeAddress returns an address that no program uses. Outgoing connections of other programs take ports of
// 127.0.0.1, and a process that starts again needs its old one, so the address is another one where there are any.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 16+rand.IntN(32), rand.IntN(256), 1+rand.IntN(250)))
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// ask sends a request; out may be nil. status is 0 if there is no answer.
func ask(t *testing.T, token, method, url string, in, out any) (status int, code string) {
	t.Helper()
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			t.Fatal(err)
		}
	}
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, ""
	}
	var e struct{ Error struct{ Code string } }
	_ = json.Unmarshal(answer, &e) // only errors have a code
	if out != nil && res.StatusCode < 300 {
		if err := json.Unmarshal(answer, out); err != nil {
			t.Errorf("%s %s: %v in %s", method, url, err, answer)
		}
	}
	return res.StatusCode, e.Error.Code
}

// openAndCount reads one number from the ledger at a path.
func openAndCount(path, query string, n *int) error {
	l, err := openLedger(path)
	if err != nil {
		return err
	}
	return errors.Join(l.db.QueryRow(query).Scan(n), l.db.Close())
}

// TestReconcilesAfterKills moves money in and out while the venue and the service are killed in turn.
// In the end every deposit is credited once, every withdrawal is paid once or given back, and the books
// of the venue, the service and the bank agree to the pip.
func TestReconcilesAfterKills(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts programs")
	}
	const kills, users, deposits, withdrawals = 8, 3, 60, 30
	dir := t.TempDir()
	dx := filepath.Join(dir, "dx")
	if out, err := exec.Command("go", "build", "-o", dx, "duplex/cmd/dx").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	api, portal, admin, own := freeAddress(t), freeAddress(t), freeAddress(t), freeAddress(t)
	clean := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "DX_FUNDING_SECRET=" + testSecret}
	var token string // token of the service, which a venue that starts does not know yet
	venue := &process{t: t, ready: "http://" + admin + "/livez", command: func() *exec.Cmd {
		c := exec.Command(dx, "serve", "--oracle", "manual", "--mirror", "off", "--data", filepath.Join(dir, "venue"), "--api", api, "--portal", portal, "--admin", admin,
			"--funding-url", "http://"+own, "--signup", "open")
		c.Env = append([]string{"DX_OPERATOR_TOKEN=" + testToken}, clean...)
		return c
	}}
	service := &process{t: t, ready: "http://" + own + "/reconcile", command: func() *exec.Cmd {
		c := exec.Command(os.Args[0], "-listen", own, "-venue", "http://"+admin, "-db", filepath.Join(dir, "funding.db"), "-bank", filepath.Join(dir, "bank"))
		c.Env = append([]string{"FUNDING_TEST_SERVICE=1", "DX_OPERATOR_TOKEN=" + token}, clean...)
		return c
	}}
	venue.start()
	defer venue.kill()
	var operator struct {
		OperatorToken string `json:"operator_token"`
	}
	// create makes something with a name of its own for each attempt: one whose answer came too late may exist.
	create := func(token, url, name string, in map[string]string, out any) {
		t.Helper()
		end := time.Now().Add(3 * time.Minute)
		for n := 1; ; n++ {
			in["name"] = fmt.Sprintf("%s-%d", name, n)
			status, code := ask(t, token, "POST", url, in, out)
			if status == 201 {
				return
			}
			if status > 0 && status < 500 || time.Now().After(end) {
				t.Fatal(status, code)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	create(testToken, "http://"+admin+"/admin/operators", "funding", map[string]string{"role": "service"}, &operator)
	token = operator.OperatorToken
	service.start()
	defer service.kill()

	var done atomic.Int64 // steps of the accounts that succeeded
	var all sync.WaitGroup
	type account struct {
		id         int64
		token      string
		cash, paid int64 // expected in the end
		back       int64
	}
	accounts := make([]account, users)
	until := func(ok func() bool) {
		for end := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
			if time.Now().After(end) {
				t.Error("a step does not succeed")
				return
			}
		}
		done.Add(1)
	}
	for i := range accounts {
		a := &accounts[i]
		var made struct {
			UserID       int64  `json:"user_id"`
			AccountToken string `json:"account_token"`
		}
		create("", "http://"+portal+"/accounts", fmt.Sprintf("user %d", i), map[string]string{}, &made)
		a.id, a.token = made.UserID, made.AccountToken
		for n := range withdrawals {
			amount := int64(500 + n)
			if n%5 == 4 {
				a.back += amount
			} else {
				a.paid += amount
			}
		}
		for n := range deposits {
			a.cash += int64(1000 + n)
		}
		a.cash -= a.paid
		all.Go(func() {
			for n := range deposits {
				in := map[string]any{"reference": fmt.Sprintf("%d-%d", a.id, n), "user_id": a.id, "amount": fmt.Sprint(1000 + n)}
				until(func() bool {
					status, _ := ask(t, "", "POST", "http://"+own+"/incoming", in, nil)
					return status == 200
				})
				if n%2 == 0 {
					continue
				}
				w := n / 2
				destination := "iban-1"
				if w%5 == 4 {
					destination = "closed-1"
				}
				out := map[string]string{"client_withdrawal_id": fmt.Sprint(w), "amount": fmt.Sprint(500 + w), "destination": destination}
				until(func() bool {
					status, code := ask(t, a.token, "POST", "http://"+portal+"/withdrawals", out, nil)
					if status != 202 && status != 0 && !strings.Contains("insufficient_balance draining shed sequencing_timeout funding_unavailable rate_limited", code) {
						t.Errorf("a withdrawal: %d %s", status, code)
						return true
					}
					return status == 202
				})
			}
		})
	}
	for i := range kills {
		const steps = users * (deposits + withdrawals)
		for next := min(done.Load()+steps/(kills+2), steps); done.Load() < next && !t.Failed(); { // all steps may be done before the last kill
			time.Sleep(time.Millisecond)
		}
		p := []*process{venue, service}[i%2]
		p.kill()
		p.start()
	}
	all.Wait()

	var r report
	// The venue tells the service again after up to a minute.
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		r = report{} // what a former answer had is not a part of this one
		status, _ := ask(t, "", "GET", "http://"+own+"/reconcile", nil, &r)
		if status == 200 && r.Agrees && r.Open == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the books do not agree: %+v\n%s\n%s", r, venue.output.String(), service.output.String())
		}
	}
	var paid, back int64
	for _, a := range accounts {
		paid, back = paid+a.paid, back+a.back
		var b struct {
			Cash string `json:"cash"`
		}
		if status, code := ask(t, a.token, "GET", "http://"+portal+"/balance", nil, &b); status != 200 || b.Cash != fmt.Sprint(a.cash) {
			t.Errorf("account %d has %s pips (%d %s), want %d", a.id, b.Cash, status, code, a.cash)
		}
	}
	var refused int
	if err := openAndCount(filepath.Join(dir, "funding.db"), `select count(*) from incoming where state = 'refused'`, &refused); err != nil || refused != 0 {
		t.Errorf("%d deposits are refused, %v", refused, err)
	}
	if r.Paid != paid || r.Ledger.ByState["completed"] != paid || r.Ledger.ByState["failed"] != back {
		t.Errorf("%+v, want %d paid and %d given back", r, paid, back)
	}
}
