package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/internal/backoff"
	"duplex/schemas"
)

// ownerFlags name the venue and the owner, whose token comes from the environment or from the
// dev file.
type ownerFlags struct {
	cli.Zone
	DevFile string `help:"The file that dx dev writes. DX_PORTAL_URL and DX_ACCOUNT_TOKEN take precedence over it." default:".dx/dev.json" type:"path" env:"DX_DEV_FILE"`
	As      string `help:"Owner: an account of the dev file." default:"trader" env:"DX_AS"`
	JSON    bool   `help:"Print JSON."`
}

// ownerDefault is the owner without --as.
const ownerDefault = "trader"

// flags returns the flags with which another command finds the same owner.
func (o *ownerFlags) flags() string {
	flags := cli.DevFileArgument(o.DevFile)
	if o.As != ownerDefault {
		flags += " --as " + cli.ShellWord(o.As)
	}
	return flags
}

// portal is the accounts service of a venue, as an owner.
type portal struct {
	base, token string
	flags       string // with which another command finds this owner
	http        http.Client
	said        io.Writer // for people: what it waits for
}

// requestTimeout bounds one request. It is longer than the venue takes for a response.
const requestTimeout = 15 * time.Second

// longestWait is the longest wait for a bound of the venue. That of new keys is a minute.
const longestWait = 2 * time.Minute

func (o *ownerFlags) portal() (*portal, error) {
	p := &portal{base: os.Getenv("DX_PORTAL_URL"), token: cli.SecretVariable("DX_ACCOUNT_TOKEN"), http: http.Client{Timeout: requestTimeout}, flags: o.flags(), said: os.Stderr}
	if p.base == "" || p.token == "" {
		dev, err := cli.ReadDevFile(o.DevFile)
		if err != nil {
			return nil, fmt.Errorf("no DX_PORTAL_URL and DX_ACCOUNT_TOKEN, and no venue started here: %w", err)
		}
		p.base, p.token = cmp.Or(p.base, dev.Portal), cmp.Or(p.token, tokenOf(&dev, o.As))
		if p.token == "" {
			return nil, cli.BadFlag("as", fmt.Errorf("no account %q in the dev file", o.As))
		}
	}
	if u, err := url.Parse(p.base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("DX_PORTAL_URL must be an address like http://127.0.0.1:8081")
	}
	return p, nil
}

func tokenOf(dev *schemas.DevFile, name string) string {
	for _, a := range dev.Accounts {
		if a.Name == name {
			return a.AccountToken
		}
	}
	return ""
}

// portalError is a response of the portal that is not 2xx.
type portalError struct {
	Code   string
	Status int
	wait   time.Duration // of rate_limited
	field  string        // at fault, with what is legal there
	hint   string
}

func (e *portalError) Error() string {
	m := schemas.ErrorInfoOf(e.Code)
	text := m.Means + " " + m.Next
	switch e.Code { // the table explains these for a signed request
	case "unauthorized":
		text = "The account token is not one of this venue. Check DX_ACCOUNT_TOKEN and DX_PORTAL_URL, or the dev file."
	case "not_found":
		text = "The portal of this venue has no agent accounts."
	}
	if e.field != "" && e.Status == http.StatusBadRequest {
		text = e.field + ": " + e.hint
	}
	return fmt.Sprintf("%s (%d): %s", e.Code, e.Status, text)
}

// isCode reports whether err is an error of the portal with a code.
func isCode(err error, code string) bool {
	var e *portalError
	return errors.As(err, &e) && e.Code == code
}

// do sends a request and decodes the response into a value, unless that is nil. It returns the
// response as it was received. body nil sends none. A request that meets a bound of the venue was not executed, so do
// waits as long as the venue says and sends it again: else the twelfth agent in a row would get no key.
func (p *portal) do(ctx context.Context, method, path string, body, into any) ([]byte, error) {
	for {
		text, err := p.once(ctx, method, path, body, into)
		e, failed := errors.AsType[*portalError](err)
		if !failed || e.wait <= 0 || e.wait > longestWait {
			return text, err
		}
		fmt.Fprintf(p.said, "The venue takes no more of these requests at present; waiting %d s.\n", (e.wait+time.Second-1)/time.Second)
		if !backoff.Sleep(ctx, e.wait) {
			return nil, context.Cause(ctx)
		}
	}
}

// once is do without the wait.
func (p *portal) once(ctx context.Context, method, path string, body, into any) ([]byte, error) {
	var sent []byte
	if body != nil {
		var err error
		if sent, err = schemas.Append(nil, body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, p.base+path, bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	if sent != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		var failed schemas.ErrorBody
		if err := json.Unmarshal(text, &failed); err != nil || failed.Error.Code == "" {
			return nil, fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, text)
		}
		ms, _ := failed.Error.RetryAfterMs()
		return nil, &portalError{failed.Error.Code, resp.StatusCode, time.Duration(ms) * time.Millisecond, failed.Error.Field, failed.Error.Hint}
	}
	text = bytes.TrimSpace(text)
	if into == nil {
		return text, nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return text, nil
}

// agents yields the owner's agents, page by page, until found returns true.
func (p *portal) agents(ctx context.Context, found func(*schemas.Agent) bool) error {
	for cursor := ""; ; {
		var page schemas.AgentList
		if _, err := p.do(ctx, "GET", "/agents?limit=200&cursor="+url.QueryEscape(cursor), nil, &page); err != nil {
			return err
		}
		for i := range page.Agents {
			if found(&page.Agents[i]) {
				return nil
			}
		}
		if cursor = page.Cursor; cursor == "" {
			return nil
		}
	}
}

// open returns the owner's agents, oldest first, and with all the closed ones too.
func (p *portal) open(ctx context.Context, all bool) ([]schemas.Agent, error) {
	list := []schemas.Agent{}
	err := p.agents(ctx, func(a *schemas.Agent) bool {
		if all || a.State != "closed" {
			list = append(list, *a)
		}
		return false
	})
	slices.SortFunc(list, func(a, b schemas.Agent) int { return cmp.Compare(a.UserID, b.UserID) })
	return list, err
}

// find returns the owner's agent of a name, or else of an account id.
func (p *portal) find(ctx context.Context, name string) (a schemas.Agent, err error) {
	id, _ := cli.ParseUint(name, 32)
	var byID *schemas.Agent
	err = p.agents(ctx, func(x *schemas.Agent) bool {
		if uint64(x.UserID) == id && id > 0 {
			byID = x
		}
		a = *x
		return x.Name == name
	})
	switch {
	case err != nil || a.Name == name:
		return a, err
	case byID != nil:
		return *byID, nil
	}
	return a, fmt.Errorf("you have no agent %q; %s agent list%s shows your agents", name, cli.CommandName(), p.flags)
}

// addresses returns where a program reaches the venue.
func (p *portal) addresses(ctx context.Context) (at struct{ API, WS, MCP string }, err error) {
	if _, err := p.do(ctx, "GET", "/venue.json", nil, &at); err != nil {
		return at, fmt.Errorf("the addresses of the venue: %w", err)
	}
	return at, nil
}

func agentPath(id uint32, what string) string { return fmt.Sprintf("/agents/%d/%s", id, what) }
