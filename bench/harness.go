package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/pprof/profile"

	"duplex/internal/backoff"
	"duplex/internal/rawhttp"
	"duplex/schemas"
)

// harness holds the processes of a comparison: the venue and its peers.
type harness struct {
	*options
	dir    string
	dev    schemas.DevFile
	host   string // address of the venue
	market uint32
	keys   []rawhttp.Signer // of accounts, one per connection
	tokens []string         // of the accounts
	agents []rawhttp.Signer // of an agent of each account that a connection uses
	peers  map[string]string
	procs  []*exec.Cmd
	pids   map[string]int // by name of the peer, or venue
	runID  int            // number of runs so far; makes client_order_ids unique

	profiles []*profile.Profile // CPU profiles of the venue, with -profile
}

const venue = "venue"

// runOverhead bounds the time of a run beyond its duration.
const runOverhead = 15 * time.Second

const unlimitedRate = "10000000"

func newHarness(ctx context.Context, o *options) (r *harness, err error) {
	r = &harness{options: o, peers: map[string]string{}, pids: map[string]int{}}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if r.dir, err = os.MkdirTemp("", "dx-bench-"); err != nil {
		return r, err
	}
	if err := r.venue(ctx); err != nil {
		return r, err
	}
	for _, name := range peerNames() {
		if err := r.peer(ctx, name); err != nil {
			return r, err
		}
	}
	if err := r.createAccounts(ctx, r.conns); err != nil {
		return r, err
	}
	for _, token := range r.tokens {
		if err := r.createAgent(ctx, token); err != nil {
			return r, err
		}
	}
	return r, nil
}

// venue builds dx and starts a venue.
func (r *harness) venue(ctx context.Context) error {
	dx, file := filepath.Join(r.dir, "dx"), filepath.Join(r.dir, "dev.json")
	build := exec.CommandContext(ctx, "go", "build", "-o", dx, "./cmd/dx")
	build.Dir, build.Stderr = "..", os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	cmd := exec.CommandContext(ctx, dx, "dev", "--log-level", "warn", "--quiet", "--no-maker", "--data", filepath.Join(r.dir, "data"), "--dev-file", file,
		"--api", "127.0.0.1:0", "--portal", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--write-floor", unlimitedRate, "--read-rate", unlimitedRate, "--in-flight", fmt.Sprint(r.inFlight))
	cmd.Stderr = os.Stderr
	if err := r.start(venue, cmd); err != nil {
		return err
	}
	for {
		b, err := os.ReadFile(file)
		if err == nil {
			if err := json.Unmarshal(b, &r.dev); err != nil {
				return err
			}
			r.host = strings.TrimPrefix(r.dev.API, "http://")
			return nil
		}
		if !backoff.Sleep(ctx, 20*time.Millisecond) {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// peer starts a peer and reads its address.
func (r *harness) peer(ctx context.Context, name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-serve", name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := r.start(name, cmd); err != nil {
		return err
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	r.peers[name] = strings.TrimSpace(addr)
	return err
}

func (r *harness) start(name string, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	r.procs, r.pids[name] = append(r.procs, cmd), cmd.Process.Pid
	return nil
}

func (r *harness) close() {
	for _, p := range r.procs {
		_ = p.Process.Signal(syscall.SIGTERM) // it may have ended
	}
	for _, p := range r.procs {
		_ = p.Wait() // the exit status does not matter
	}
	_ = os.RemoveAll(r.dir)
}

// createAccount creates a funded account with a key.
func (r *harness) createAccount(ctx context.Context, i int) error {
	var u schemas.NewUser
	if err := post(ctx, r.dev.Admin+"/admin/users", r.dev.OperatorToken, fmt.Sprintf(`{"name":"bench-%d"}`, i), &u); err != nil {
		return err
	}
	url := fmt.Sprintf("%s/admin/users/%d", r.dev.Admin, u.UserID)
	if err := post(ctx, url+"/deposits", r.dev.OperatorToken, fmt.Sprintf(`{"deposit_id":"bench-%d","amount":"1000000000000"}`, i), nil); err != nil {
		return err
	}
	key, err := r.createKey(ctx, url, r.dev.OperatorToken)
	if err != nil {
		return err
	}
	r.keys, r.tokens = append(r.keys, key), append(r.tokens, u.AccountToken)
	return nil
}

// createAgent creates an agent and gives it half of its owner's money. The mandate has every bound except
// reduce_only, so that each order is checked against all of them; all are wide, so that none rejects one.
func (r *harness) createAgent(ctx context.Context, token string) error {
	const body = `{"name":"agent","fund":"500000000000","mandate":{"expires_ts":"9000000000000000000","categories":[1,2,3,4,5,6,7,8,9],
		"max_order_qty":1000000,"price_collar":9998,"max_open_orders":4000000000,"max_orders_per_day":4000000000,
		"max_order_cost":"100000000000","max_market_cost":"100000000000","max_open_cost":"100000000000","max_daily_loss":"100000000000"}}`
	var a schemas.AgentCreated
	if err := post(ctx, r.dev.Portal+"/agents", token, body, &a); err != nil {
		return err
	}
	key, err := r.createKey(ctx, fmt.Sprintf("%s/agents/%d", r.dev.Portal, a.UserID), token)
	if err == nil {
		r.agents = append(r.agents, key)
	}
	return err
}

// createKey creates a key of the account or agent at url.
func (r *harness) createKey(ctx context.Context, url, token string) (rawhttp.Signer, error) {
	var k schemas.NewKey
	if err := post(ctx, url+"/keys", token, `{}`, &k); err != nil {
		return rawhttp.Signer{}, err
	}
	secret, ok := schemas.ParseSecret(k.Secret)
	if !ok {
		return rawhttp.Signer{}, errors.New("a key without a secret")
	}
	return rawhttp.Signer{Key: k.APIKey, Secret: secret, Host: r.host}, nil
}

// waitForMarket waits until a market will trade for the whole run, and selects the one that
// closes last.
func (r *harness) waitForMarket(ctx context.Context) error {
	for r.market = 0; ; {
		if err := r.findMarket(ctx); err != nil || r.market != 0 {
			return err
		}
		if !backoff.Sleep(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
	}
}

func (r *harness) findMarket(ctx context.Context) error {
	var l schemas.MarketList
	if err := doJSON(signed(ctx, r.keys[0], "GET", "/v1/markets?status=trading", nil), &l); err != nil {
		return err
	}
	last := schemas.U64(time.Now().Add(r.duration + runOverhead).UnixNano()) // the market must trade until the end of the run
	for _, m := range l.Markets {
		if m.CloseTs > last {
			last, r.market = m.CloseTs, m.MarketID
		}
	}
	return nil
}

func post(ctx context.Context, url, token, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return doJSON(req, into)
}

func doJSON(req *http.Request, into any) error {
	b, err := fetch(req)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(b, into)
}

// signed returns a request to s.Host that is signed now.
func signed(ctx context.Context, s rawhttp.Signer, method, target string, body []byte) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.Host+target, bytes.NewReader(body))
	if err != nil {
		panic(err) // the host is an address of the venue or of a peer
	}
	ts := strconv.FormatInt(time.Now().UnixMilli(), 10)
	req.Header.Set(schemas.HeaderKey, s.Key)
	req.Header.Set(schemas.HeaderTimestamp, ts)
	req.Header.Set(schemas.HeaderSignature, schemas.Sign(s.Secret, ts, method, target, body))
	return req
}
