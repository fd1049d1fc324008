package bridge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/singleflight"

	"duplex/client"
)

// catalog knows which tools only read, by the venue's own list.
type catalog struct {
	client  *client.Client
	fetches singleflight.Group

	mu       sync.Mutex
	readOnly map[string]bool // nil until a list was seen
}

// listed is the result of tools/list. What it says of a tool stays as it came.
type listed struct {
	Tools []jsontext.Value `json:"tools"`
	More  jsontext.Value   `json:",embed"`
}

// about is what the bridge must know of a tool.
type about struct {
	Name        string `json:"name"`
	Annotations struct {
		ReadOnly bool `json:"readOnlyHint"`
	} `json:"annotations"`
}

func tool(v jsontext.Value) (a about) {
	_ = json.Unmarshal(v, &a) // what is not understood reads nothing
	return a
}

// learn takes a list that came by.
func (c *catalog) learn(l *listed) {
	known := map[string]bool{}
	for _, v := range l.Tools {
		a := tool(v)
		known[a.Name] = a.Annotations.ReadOnly
	}
	c.mu.Lock()
	c.readOnly = known
	c.mu.Unlock()
}

// reads tells whether a message changes nothing: only tools do, and one that is not
// known is taken for a write. The list is fetched where none came by yet; an error is
// that there is none.
func (c *catalog) reads(ctx context.Context, m *message) (bool, error) {
	if m.method != "tools/call" {
		return true, nil
	}
	c.mu.Lock()
	known := c.readOnly
	c.mu.Unlock()
	if known != nil {
		return known[m.tool()], nil
	}
	// Many calls may want it at once; no one's leaving ends it for the others.
	_, err, _ := c.fetches.Do("", func() (any, error) {
		l, err := c.fetch(context.WithoutCancel(ctx))
		if err == nil {
			c.learn(l)
		}
		return nil, err
	})
	if err != nil {
		return false, err
	}
	return c.reads(ctx, m)
}

// legacy is the newest revision whose requests need no metadata.
const legacy = "2025-11-25"

const fetchTime = 5 * time.Second

var errNoTools = errors.New("the venue gave no list of tools")

func (c *catalog) fetch(ctx context.Context) (*listed, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	m, _ := parse([]byte(`{"jsonrpc":"2.0","id":"dx-tools","method":"tools/list"}`))
	_, answer, err := ask(ctx, c.client, &m, legacy)
	if err != nil {
		return nil, err
	}
	l, ok := listOf(object(answer)["result"])
	if !ok {
		return nil, errNoTools
	}
	return l, nil
}

func listOf(result jsontext.Value) (*listed, bool) {
	var l listed
	if err := json.Unmarshal(result, &l); err != nil || l.Tools == nil {
		return nil, false
	}
	return &l, true
}

// ask sends a request and reads its answer whole.
func ask(ctx context.Context, c *client.Client, m *message, agreed string) (int, jsontext.Value, error) {
	resp, err := c.Open(ctx, http.MethodPost, Path, m.headers(agreed), m.raw)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, err
	}
	if !jsontext.Value(body).IsValid() {
		return 0, nil, &foreign{resp.StatusCode, body}
	}
	return resp.StatusCode, body, nil
}
