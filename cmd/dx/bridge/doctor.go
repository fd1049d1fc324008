package bridge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/client"
	"duplex/internal/timeouts"
	"duplex/schemas"
)

// Finding is the result of one check, with a fix if it failed.
type Finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"found"`
	Fix    string `json:"do,omitzero"`
}

// Revisions lists the protocol revisions of the venue, newest first
// (docs/rules/agents.md#revisions).
var Revisions = []string{modern, legacy, "2025-06-18"}

const checkTimeout = 10 * time.Second // for one check

// Doctor checks the connection between a host and the venue: reach, clock, key, protocol
// revisions, tools. It stops after a failure that makes the other checks impossible.
func Doctor(ctx context.Context, c *client.Client) (found []Finding) {
	d := checker{ctx, c}
	resp, reach := d.reach()
	if found = append(found, reach); !reach.OK {
		return found
	}
	key := d.key(resp)
	if found = append(found, d.clock(resp), key); !key.OK {
		return found
	}
	for _, r := range Revisions {
		found = append(found, d.revision(r))
	}
	return append(found, d.tools())
}

type checker struct {
	ctx    context.Context
	client *client.Client
}

func ok(check, format string, args ...any) Finding {
	return Finding{Check: check, OK: true, Detail: fmt.Sprintf(format, args...)}
}

// probeResponse is a response with its body and the times of its request and of its arrival.
type probeResponse struct {
	*http.Response
	body     []byte
	sent, at time.Time
}

const limitsPath = "/v1/account/limits"

func (d checker) reach() (*probeResponse, Finding) {
	ctx, cancel := context.WithTimeout(d.ctx, timeouts.Of(checkTimeout))
	defer cancel()
	sent := time.Now()
	resp, err := d.client.Open(ctx, http.MethodGet, limitsPath, nil, nil)
	at := time.Now()
	var body []byte
	if err == nil {
		body, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	switch {
	case err != nil:
		return nil, Finding{"reach", false, err.Error(), "Start a venue with dx dev, or set DX_URL to the API address of one."}
	case resp.Header.Get("X-Request-Id") == "":
		return nil, Finding{"reach", false, fmt.Sprintf("status %d from a server that is not a venue", resp.StatusCode), "Set DX_URL to the API address of a venue."}
	}
	return &probeResponse{resp, body, sent, at}, ok("reach", "the venue responds")
}

// clock compares the local clock with the venue's Date header, which has whole seconds. The venue may have
// responded at any time between the request and the arrival of the response.
func (d checker) clock(p *probeResponse) Finding {
	date, err := http.ParseTime(p.Header.Get("Date"))
	if err != nil {
		return Finding{"clock", false, "the venue's response has no Date header", "Check whether a proxy removes it."}
	}
	date = date.Add(time.Second / 2)
	behind := max(date.Sub(p.at), min(date.Sub(p.sent), 0))
	if behind.Abs() < schemas.ReplayWindowMs*time.Millisecond {
		return ok("clock", "within %d s of the venue's", int(behind.Abs()/time.Second)+1)
	}
	which := "behind"
	if behind < 0 {
		which = "ahead of"
	}
	return Finding{"clock", false, fmt.Sprintf("%s %s the venue's", behind.Abs().Round(time.Second), which), "Set this machine's clock, by NTP for instance. The bridge corrects for the difference; the venue rejects other clients."}
}

func (d checker) key(p *probeResponse) Finding {
	var limits schemas.Limits
	switch {
	case p.StatusCode == http.StatusUnauthorized:
		return Finding{"key", false, "unauthorized", "The venue does not have the key, or the secret belongs to another key. Set DX_KEY and DX_SECRET together, or use the dev file of the running venue."}
	case p.StatusCode != http.StatusOK:
		return Finding{"key", false, fmt.Sprintf("status %d: %.200s", p.StatusCode, p.body), "Use a key with the scope read."}
	case json.Unmarshal(p.body, &limits) != nil:
		return Finding{"key", false, fmt.Sprintf("not a response of a venue: %.200q", p.body), "Set DX_URL to the API address of a venue."}
	}
	return ok("key", "has the scopes %s", strings.Join(limits.Scopes, ", "))
}

// revision sends the first request of a host of revision r.
func (d checker) revision(r string) Finding {
	check := "revision " + r
	begin := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"dx","version":"1"}}}`, r)
	if r == modern {
		begin = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{%q:%q,%q:{}}}}`, metaVersion, r, metaCapabilities)
	}
	result, failed := d.ask(check, begin, r)
	if failed != nil {
		return *failed
	}
	var says struct {
		ProtocolVersion   string   `json:"protocolVersion"`
		SupportedVersions []string `json:"supportedVersions"`
	}
	if err := json.Unmarshal(result, &says); err != nil || says.ProtocolVersion != r && !slices.Contains(says.SupportedVersions, r) {
		return Finding{check, false, fmt.Sprintf("the venue says %.200s", result), "Use a host with another revision, or a newer venue."}
	}
	return ok(check, "supported")
}

func (d checker) tools() Finding {
	result, failed := d.ask("tools", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, legacy)
	if failed != nil {
		return *failed
	}
	l, there := parseToolList(result)
	if !there || len(l.Tools) == 0 {
		return Finding{"tools", false, "the list is empty", "Use a key that has scopes."}
	}
	reads := 0
	for _, v := range l.Tools {
		if parseToolInfo(v).Annotations.ReadOnly {
			reads++
		}
	}
	return ok("tools", "%d, of which %d change nothing", len(l.Tools), reads)
}

// ask sends a request and returns its result.
func (d checker) ask(check, request, agreed string) (jsontext.Value, *Finding) {
	ctx, cancel := context.WithTimeout(d.ctx, timeouts.Of(checkTimeout))
	defer cancel()
	m, _ := parse([]byte(request))
	status, answer, err := roundTrip(ctx, d.client, &m, agreed)
	if err != nil {
		return nil, &Finding{check, false, err.Error(), "Check that the agent lane is reachable at " + Path + "."}
	}
	if result := object(answer)["result"]; result != nil {
		return result, nil
	}
	if status == http.StatusForbidden && strings.Contains(string(answer), `"forbidden_origin"`) {
		return nil, &Finding{check, false, "the agent lane does not allow the host of DX_URL (forbidden_origin)", "Have the operator start the venue with --allowed-hosts and this host, or set DX_URL to the venue's own address."}
	}
	return nil, &Finding{check, false, fmt.Sprintf("status %d: %.200s", status, answer), "Read the error; dx call GET " + limitsPath + " shows what the key may do."}
}
