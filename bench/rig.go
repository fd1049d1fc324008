package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/pprof/profile"

	"duplex/schemas"
)

// rig is everything that runs during a comparison, each in a process of its own.
type rig struct {
	*options
	dir    string
	dev    schemas.DevFile
	host   string // of the venue
	market uint32
	keys   []signer // one a connection
	peers  map[string]string
	procs  []*exec.Cmd
	pids   map[string]int // of peers by name, and of the venue
	turn   int            // runs against the venue so far: client_order_ids go on from there

	profiles []*profile.Profile // of the venue at work, where they are asked for
}

const venue = "venue"

// settling is what a run takes besides its duration, at most.
const settling = 15 * time.Second

const unlimited = "10000000"

func newRig(ctx context.Context, o *options) (r *rig, err error) {
	r = &rig{options: o, peers: map[string]string{}, pids: map[string]int{}}
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
	return r, r.fund(ctx, r.conns)
}

// venue builds dx and starts one.
func (r *rig) venue(ctx context.Context) error {
	dx, file := filepath.Join(r.dir, "dx"), filepath.Join(r.dir, "dev.json")
	build := exec.CommandContext(ctx, "go", "build", "-o", dx, "./cmd/dx")
	build.Dir, build.Stderr = "..", os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	cmd := exec.CommandContext(ctx, dx, "dev", "--log-level", "warn", "--quiet", "--no-maker", "--data", filepath.Join(r.dir, "data"), "--dev-file", file,
		"--api", "127.0.0.1:0", "--portal", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--write-floor", unlimited, "--read-rate", unlimited, "--in-flight", fmt.Sprint(r.inFlight))
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
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// peer starts one and learns where it listens.
func (r *rig) peer(ctx context.Context, name string) error {
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

func (r *rig) start(name string, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	r.procs, r.pids[name] = append(r.procs, cmd), cmd.Process.Pid
	return nil
}

func (r *rig) close() {
	for _, p := range r.procs {
		_ = p.Process.Signal(syscall.SIGTERM) // it may have ended
	}
	for _, p := range r.procs {
		_ = p.Wait() // how it ended is its own affair
	}
	_ = os.RemoveAll(r.dir)
}

// account makes a funded one with a key.
func (r *rig) account(ctx context.Context, i int) error {
	var u schemas.NewUser
	if err := r.operator(ctx, "/admin/users", fmt.Sprintf(`{"name":"bench-%d"}`, i), &u); err != nil {
		return err
	}
	path := fmt.Sprintf("/admin/users/%d", u.UserID)
	if err := r.operator(ctx, path+"/deposits", fmt.Sprintf(`{"deposit_id":"bench-%d","amount":"1000000000000"}`, i), nil); err != nil {
		return err
	}
	var k schemas.NewKey
	if err := r.operator(ctx, path+"/keys", `{}`, &k); err != nil {
		return err
	}
	secret, ok := schemas.Secret(k.Secret)
	if !ok {
		return errors.New("a key without a secret")
	}
	r.keys = append(r.keys, signer{k.APIKey, secret, r.host})
	return nil
}

// pick takes the market that trades longest, once one does.
func (r *rig) pick(ctx context.Context) error {
	for r.market = 0; ; {
		if err := r.look(ctx); err != nil || r.market != 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (r *rig) look(ctx context.Context) error {
	var l schemas.MarketList
	req := r.keys[0].http(ctx, r.dev.API, "GET", "/v1/markets?status=trading", nil)
	if err := do(req, &l); err != nil {
		return err
	}
	last := schemas.U64(time.Now().Add(r.duration + settling).UnixNano()) // it must trade on until the run is over
	for _, m := range l.Markets {
		if m.CloseTs > last {
			last, r.market = m.CloseTs, m.MarketID
		}
	}
	return nil
}

func (r *rig) operator(ctx context.Context, path, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, "POST", r.dev.Admin+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.dev.OperatorToken)
	return do(req, into)
}

func do(req *http.Request, into any) error {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		return errors.Join(err, fmt.Errorf("%s %s: %d %s", req.Method, req.URL.Path, resp.StatusCode, b))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(b, into)
}

// signer signs for one key.
type signer struct {
	key    string
	secret []byte
	host   string
}

func (s signer) http(ctx context.Context, base, method, target string, body []byte) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, base+target, bytes.NewReader(body))
	if err != nil {
		panic(err) // a base of the venue's own
	}
	ts := strconv.FormatInt(time.Now().UnixMilli(), 10)
	req.Header.Set(schemas.HeaderKey, s.key)
	req.Header.Set(schemas.HeaderTimestamp, ts)
	req.Header.Set(schemas.HeaderSignature, schemas.Sign(s.secret, ts, method, target, body))
	return req
}

// wire writes a signed request as it goes over the wire.
func (s signer) wire(method, target, more string, body []byte) []byte {
	ts := strconv.FormatInt(time.Now().UnixMilli(), 10)
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n%s", method, target, s.host,
		schemas.HeaderKey, s.key, schemas.HeaderTimestamp, ts, schemas.HeaderSignature, schemas.Sign(s.secret, ts, method, target, body), more)
	if len(body) > 0 {
		b = fmt.Appendf(b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return append(append(b, "\r\n"...), body...)
}
