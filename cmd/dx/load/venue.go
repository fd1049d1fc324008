package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/internal/rawhttp"
	"duplex/schemas"
)

// Venue is a venue on this machine, with the accounts that a run uses.
type Venue struct {
	api, admin, token string
	given             []*trader // nil: the operator creates an account for each connection
}

// Address is a base URL and the flag that it comes from, which errors name.
type Address struct{ Flag, URL string }

// Key is an API key and its secret in hex.
type Key struct{ ID, Secret string }

// NewVenue returns a venue that accounts are found for in one of two ways. With the address
// of the admin listener and the operator's token, a run creates a funded account for each
// connection. Otherwise the connections share the given keys. Both addresses must be
// loopback, an unused one too. Errors are cli.FlagErrors.
func NewVenue(api, admin Address, token string, keys []Key) (*Venue, error) {
	v := &Venue{token: token}
	given, err := tradersOf(keys)
	if err != nil {
		return nil, err
	}
	if v.api, err = api.loopback(); err != nil {
		return nil, err
	}
	if admin.URL != "" {
		if v.admin, err = admin.loopback(); err != nil {
			return nil, err
		}
	}
	switch {
	case v.admin != "" && v.token != "":
		return v, nil
	case given != nil:
		v.given = given
		return v, nil
	case v.admin != "":
		return nil, cli.BadFlag("admin", errors.New("requires DX_OPERATOR_TOKEN"))
	default:
		return nil, cli.BadFlag("url", errors.New("requires --admin and DX_OPERATOR_TOKEN, or --key and DX_SECRET"))
	}
}

// loopback returns the URL without a path, or an error if it is not an address of this
// machine.
func (a Address) loopback() (string, error) {
	u, err := url.Parse(a.URL)
	if err != nil {
		return "", cli.BadFlag(a.Flag, errors.New("not a URL")) // the error of Parse quotes it, and it may contain a secret
	}
	if u.Scheme != "http" || u.Port() == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return "", cli.BadFlag(a.Flag, errors.New("must be an address like http://127.0.0.1:8080"))
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !ip.Unmap().IsLoopback()) {
		return "", cli.BadFlag(a.Flag, fmt.Errorf("%s is not on loopback, and dx bench loads only a venue of this machine", u.Host))
	}
	return "http://" + u.Host, nil
}

// trader is an account that connections act for. Connections that share it take their
// client_order_ids from one sequence.
type trader struct {
	key            string
	secret         []byte
	clientOrderIDs *atomic.Uint64
	maxOpenOrders  int // of each of its connections
}

func newTrader(key string, secret []byte) *trader {
	return &trader{key: key, secret: secret, clientOrderIDs: &atomic.Uint64{}, maxOpenOrders: maxOpenOrdersPerAccount}
}

func tradersOf(keys []Key) (out []*trader, err error) {
	for _, k := range keys {
		secret, ok := schemas.ParseSecret(k.Secret)
		if !ok {
			return nil, cli.BadFlag("secret", fmt.Errorf("the secret of %s must be 64 hex characters", k.ID))
		}
		t := newTrader(k.ID, secret)
		t.clientOrderIDs.Store(uint64(time.Now().UnixNano())) // above the ids of earlier runs
		out = append(out, t)
	}
	return out, nil
}

// accounts returns how many accounts n connections use.
func (v *Venue) accounts(n int) int {
	if v.given == nil {
		return n
	}
	return min(n, len(v.given))
}

// share assigns the given accounts to n connections in turn, and divides the limit of open
// orders between the connections of an account.
func (v *Venue) share(n int) []*trader {
	out := make([]*trader, n)
	for i := range out {
		out[i] = v.given[i%len(v.given)]
		out[i].maxOpenOrders = max(1, maxOpenOrdersPerAccount/((n+len(v.given)-1)/len(v.given)))
	}
	return out
}

// traders returns the account of each of n connections: a new, funded one, or a given one.
// If the run places orders, it first cancels those that rest on given accounts, which
// would count against their limit.
func (v *Venue) traders(ctx context.Context, n int, places bool) ([]*trader, error) {
	if v.given != nil {
		out := v.share(n)
		if !places {
			return out, nil
		}
		return out, v.cancelResting(out[:v.accounts(n)])
	}
	out := make([]*trader, n)
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	for i := range out {
		var u schemas.NewUser
		var k schemas.NewKey
		if err := v.post(ctx, "/admin/users", fmt.Sprintf(`{"name":"bench-%s-%d"}`, run, i), &u); err != nil {
			return nil, err
		}
		path := fmt.Sprintf("/admin/users/%d", u.UserID)
		if err := v.post(ctx, path+"/deposits", fmt.Sprintf(`{"deposit_id":"bench-%s-%d","amount":"1000000000000"}`, run, i), nil); err != nil {
			return nil, err
		}
		if err := v.post(ctx, path+"/keys", `{}`, &k); err != nil {
			return nil, err
		}
		secret, ok := schemas.ParseSecret(k.Secret)
		if !ok {
			return nil, fmt.Errorf("the venue returned no valid secret for key %s", k.APIKey)
		}
		out[i] = newTrader(k.APIKey, secret)
	}
	return out, nil
}

func (v *Venue) post(ctx context.Context, path, body string, into any) error {
	return cli.OperatorPost(ctx, v.admin, v.token, path, body, into)
}

// cancelResting cancels all orders of accounts.
func (v *Venue) cancelResting(traders []*trader) error {
	for _, as := range traders {
		w, err := v.dial(as)
		if err != nil {
			return err
		}
		status, answer, err := w.Do("DELETE", "/v1/portfolio/orders", "", nil)
		if err == nil && status >= 300 {
			err = fmt.Errorf("key %s: %d %s", as.key, status, answer)
		}
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
	}
	return nil
}

// dial opens a connection to the API and sends one request. The request reports an unknown
// key early, and keeps the connection open: the venue closes one that sends nothing for
// 5 s.
func (v *Venue) dial(as *trader) (*rawhttp.Conn, error) {
	w, err := rawhttp.Dial(rawhttp.Signer{Key: as.key, Secret: as.secret, Host: strings.TrimPrefix(v.api, "http://")})
	if err != nil {
		return nil, err
	}
	status, answer, err := w.Do("GET", "/v1/portfolio/balance", "", nil)
	if err == nil && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		err = fmt.Errorf("key %s: %d %s", as.key, status, answer)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}
