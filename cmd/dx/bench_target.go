package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"duplex/schemas"
)

// targetFlags says whom the bench loads, and as whom: the operator makes an account for
// each connection; where there is none, given keys are shared.
type targetFlags struct {
	URL           string   `help:"API address of the venue, on loopback; default: the dev file's." env:"DX_URL" placeholder:"URL"`
	Admin         string   `help:"Its operator's listener: each connection gets a funded account of its own." env:"DX_ADMIN_URL" placeholder:"URL"`
	OperatorToken string   `env:"DX_OPERATOR_TOKEN" hidden:"" help:"Bearer of the operator, in the environment."`
	Key           []string `help:"Where there is no operator: API keys of funded accounts, which the connections share." env:"DX_KEY" placeholder:"KEY"`
	Secret        []string `help:"Their secrets in the same order, 64 hex characters each." env:"DX_SECRET" hidden:""`
	DevFile       string   `help:"The file dx dev wrote." default:".dx/dev.json" type:"path" env:"DX_DEV_FILE"`
}

// target is a venue on this machine.
type target struct {
	api, admin, token string
	givenTraders      []*trader // instead of the operator's
}

// trader is an account that is traded with. Connections that share it draw their
// client_order_ids from one sequence.
type trader struct {
	key            string
	secret         []byte
	clientOrderIDs *atomic.Uint64
	maxOpenOrders  int // open orders for each of its connections
}

// resolve finds the venue. With a URL nothing is taken from the dev file; without one,
// what is not given. The operator goes before keys, since each connection then has an
// account of its own.
func (a *targetFlags) resolve() (*target, error) {
	given, err := a.givenTraders()
	if err != nil {
		return nil, err
	}
	t := &target{token: a.OperatorToken, givenTraders: given}
	api, admin := address{"url", a.URL}, address{"admin", a.Admin}
	if a.URL == "" {
		dev, err := readDevFile(a.DevFile)
		if err != nil {
			return nil, fmt.Errorf("no --url, and no venue started here: %w", err)
		}
		api = address{"dev-file", dev.API}
		if given == nil {
			t.token = cmp.Or(t.token, dev.OperatorToken)
			if a.Admin == "" {
				admin = address{"dev-file", dev.Admin}
			}
		}
	}
	if t.api, err = api.requireLoopback(); err != nil {
		return nil, err
	}
	if admin.url != "" {
		if t.admin, err = admin.requireLoopback(); err != nil {
			return nil, err
		}
	}
	switch {
	case t.admin != "" && t.token != "":
		t.givenTraders = nil
	case given != nil:
	case t.admin != "":
		return nil, flagError{"admin", errors.New("it goes with DX_OPERATOR_TOKEN")}
	default:
		return nil, flagError{"url", errors.New("it goes with --admin and DX_OPERATOR_TOKEN, or with --key and DX_SECRET")}
	}
	return t, nil
}

// givenTraders reads the given keys.
func (a *targetFlags) givenTraders() (out []*trader, err error) {
	if len(a.Key) != len(a.Secret) {
		return nil, flagError{"key", fmt.Errorf("%d keys and %d secrets", len(a.Key), len(a.Secret))}
	}
	for i, key := range a.Key {
		secret, ok := schemas.ParseSecret(a.Secret[i])
		if !ok {
			return nil, flagError{"secret", fmt.Errorf("that of %s must be 64 hex characters", key)}
		}
		out = append(out, newTrader(key, secret))
		out[i].clientOrderIDs.Store(uint64(time.Now().UnixNano())) // beyond those of a run before
	}
	return out, nil
}

func newTrader(key string, secret []byte) *trader {
	return &trader{key: key, secret: secret, clientOrderIDs: &atomic.Uint64{}, maxOpenOrders: maxOpenOrdersPerAccount}
}

// address is where a flag, or the file it names, says that something listens.
type address struct{ flag, url string }

// requireLoopback wants an address of this machine: nobody else's venue may be loaded.
func (a address) requireLoopback() (string, error) {
	u, err := url.Parse(a.url)
	if err != nil {
		return "", flagError{a.flag, errors.New("that is no address")} // which may hold a secret
	}
	if u.Scheme != "http" || u.Port() == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return "", flagError{a.flag, errors.New("an address like http://127.0.0.1:8080 is wanted")}
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !ip.Unmap().IsLoopback()) {
		return "", flagError{a.flag, fmt.Errorf("%s is not on loopback, and nobody else's venue is loaded", u.Host)}
	}
	return "http://" + u.Host, nil
}

// accounts is how many n connections trade with.
func (t *target) accounts(n int) int {
	if t.givenTraders == nil {
		return n
	}
	return min(n, len(t.givenTraders))
}

// shareTraders gives the given accounts to n connections in turn.
func (t *target) shareTraders(n int) []*trader {
	out := make([]*trader, n)
	for i := range out {
		out[i] = t.givenTraders[i%len(t.givenTraders)]
		out[i].maxOpenOrders = max(1, maxOpenOrdersPerAccount/((n+len(t.givenTraders)-1)/len(t.givenTraders)))
	}
	return out
}

// cancelResting cancels what rests on accounts: there must be room for what a run places.
func (t *target) cancelResting(traders []*trader) error {
	for _, as := range traders {
		w, err := t.dial(as)
		if err != nil {
			return err
		}
		status, answer, err := w.send("DELETE", "/v1/portfolio/orders", nil)
		if err == nil && status >= 300 {
			err = fmt.Errorf("key %s: %d %s", as.key, status, answer)
		}
		if err := errors.Join(err, w.conn.Close()); err != nil {
			return err
		}
	}
	return nil
}

// traders gives an account to each of n connections: a new, funded one, or one of
// those that were given.
func (t *target) traders(ctx context.Context, n int, places bool) ([]*trader, error) {
	if t.givenTraders != nil {
		out := t.shareTraders(n)
		if !places {
			return out, nil
		}
		return out, t.cancelResting(out[:t.accounts(n)])
	}
	out := make([]*trader, n)
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	for i := range out {
		var u schemas.NewUser
		var k schemas.NewKey
		if err := t.operatorPost(ctx, "/admin/users", fmt.Sprintf(`{"name":"bench-%s-%d"}`, run, i), &u); err != nil {
			return nil, err
		}
		path := fmt.Sprintf("/admin/users/%d", u.UserID)
		if err := t.operatorPost(ctx, path+"/deposits", fmt.Sprintf(`{"deposit_id":"bench-%s-%d","amount":"1000000000000"}`, run, i), nil); err != nil {
			return nil, err
		}
		if err := t.operatorPost(ctx, path+"/keys", `{}`, &k); err != nil {
			return nil, err
		}
		secret, ok := schemas.ParseSecret(k.Secret)
		if !ok {
			return nil, fmt.Errorf("the secret of key %s is none", k.APIKey)
		}
		out[i] = newTrader(k.APIKey, secret)
	}
	return out, nil
}

func (t *target) operatorPost(ctx context.Context, path, body string, into any) error {
	return operatorPost(ctx, t.admin, t.token, path, body, into)
}

func operatorPost(ctx context.Context, admin, token, path, body string, into any) error {
	r, err := http.NewRequestWithContext(ctx, "POST", admin+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		return errors.Join(err, fmt.Errorf("POST %s: %d %s", path, resp.StatusCode, text))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// dial opens a connection to the API and sends one request: a connection that says
// nothing for 5 s is closed, and a key that is unknown is told here.
func (t *target) dial(as *trader) (*rawConn, error) {
	host := strings.TrimPrefix(t.api, "http://")
	c, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	w := newRawConn(c, host, as)
	status, answer, err := w.send("GET", "/v1/portfolio/balance", nil)
	if err == nil && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		err = fmt.Errorf("key %s: %d %s", as.key, status, answer)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return w, nil
}
