package bridge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/singleflight"

	"duplex/client"
	"duplex/internal/timeouts"
	"duplex/tools"
)

// toolCatalog caches which tools only read, from the venue's list of tools.
type toolCatalog struct {
	client  *client.Client
	fetches singleflight.Group

	mu       sync.Mutex
	readOnly map[string]bool // nil before the first list
}

// toolList is the result of tools/list. It keeps the text of each definition.
type toolList struct {
	Tools []jsontext.Value `json:"tools"`
	More  jsontext.Value   `json:",embed"`
}

// toolInfo holds the members of a definition that the bridge needs.
type toolInfo struct {
	Name        string `json:"name"`
	Annotations struct {
		ReadOnly bool `json:"readOnlyHint"`
	} `json:"annotations"`
}

func parseToolInfo(v jsontext.Value) (a toolInfo) {
	_ = json.Unmarshal(v, &a) // a tool that cannot be decoded counts as a write
	return a
}

// update replaces the catalog by a list.
func (c *toolCatalog) update(l *toolList) {
	known := map[string]bool{}
	for _, v := range l.Tools {
		a := parseToolInfo(v)
		known[a.Name] = a.Annotations.ReadOnly
	}
	c.mu.Lock()
	c.readOnly = known
	c.mu.Unlock()
}

// has reports whether there is a tool of the name: one of this program's venue, or of the list of a newer one.
func (c *toolCatalog) has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, listed := c.readOnly[name]
	return listed || slices.Contains(tools.ToolNames(), name)
}

// offered returns the names of the listed tools that pass a filter.
func (c *toolCatalog) offered(n *ToolFilter) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, readOnly := range c.readOnly {
		if n.allows(name, readOnly) {
			names = append(names, name)
		}
	}
	return names
}

// isRead reports whether a message changes nothing. Only tool calls change anything, and an
// unknown tool counts as a write. It fetches the list if there is none yet, and returns an
// error if that fails.
func (c *toolCatalog) isRead(ctx context.Context, m *message) (bool, error) {
	if m.method != "tools/call" {
		return true, nil
	}
	c.mu.Lock()
	known := c.readOnly
	c.mu.Unlock()
	if known != nil {
		return known[m.tool()], nil
	}
	// Concurrent calls share one fetch, which must not end with the first caller's context.
	_, err, _ := c.fetches.Do("", func() (any, error) {
		l, err := c.fetch(context.WithoutCancel(ctx))
		if err == nil {
			c.update(l)
		}
		return nil, err
	})
	if err != nil {
		return false, err
	}
	return c.isRead(ctx, m)
}

// legacy is the newest revision whose requests need no metadata.
const legacy = "2025-11-25"

const fetchTimeout = 5 * time.Second

var errNoTools = errors.New("the venue returned no list of tools")

func (c *toolCatalog) fetch(ctx context.Context) (*toolList, error) {
	ctx, cancel := context.WithTimeout(ctx, timeouts.Of(fetchTimeout))
	defer cancel()
	m, _ := parse([]byte(`{"jsonrpc":"2.0","id":"dx-tools","method":"tools/list"}`))
	_, answer, err := roundTrip(ctx, c.client, &m, legacy)
	if err != nil {
		return nil, err
	}
	l, ok := parseToolList(object(answer)["result"])
	if !ok {
		return nil, errNoTools
	}
	return l, nil
}

func parseToolList(result jsontext.Value) (*toolList, bool) {
	var l toolList
	if err := json.Unmarshal(result, &l); err != nil || l.Tools == nil {
		return nil, false
	}
	return &l, true
}

// roundTrip sends a request and reads the whole response.
func roundTrip(ctx context.Context, c *client.Client, m *message, agreed string) (int, jsontext.Value, error) {
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
		return 0, nil, &foreignResponse{resp.StatusCode, body}
	}
	return resp.StatusCode, body, nil
}
