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
	"duplex/schemas"
)

// Finding is what one check came to, and what to do about it if it failed.
type Finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Do    string `json:"do,omitzero"`
}

// Revisions of the protocol that the venue speaks (contract mcp), newest first.
var Revisions = []string{modern, legacy, "2025-06-18"}

const checkTime = 10 * time.Second // for one check

// Doctor checks what stands between a host and the venue, in the order in which it
// matters. It ends with the first that makes the rest impossible.
func Doctor(ctx context.Context, c *client.Client) (found []Finding) {
	d := doctor{ctx, c}
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

type doctor struct {
	ctx    context.Context
	client *client.Client
}

func ok(check, format string, args ...any) Finding {
	return Finding{Check: check, OK: true, Found: fmt.Sprintf(format, args...)}
}

// probe is an answer read whole, and when it came.
type probe struct {
	*http.Response
	body []byte
	at   time.Time
}

const limitsPath = "/v1/account/limits"

func (d doctor) reach() (*probe, Finding) {
	ctx, cancel := context.WithTimeout(d.ctx, checkTime)
	defer cancel()
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
		return nil, Finding{"reach", false, fmt.Sprintf("status %d from something that is no venue", resp.StatusCode), "Set DX_URL to the API address of a venue."}
	}
	return &probe{resp, body, at}, ok("reach", "the venue answers")
}

// clock compares this machine's with the venue's, which the Date tells to the second.
func (d doctor) clock(p *probe) Finding {
	date, err := http.ParseTime(p.Header.Get("Date"))
	if err != nil {
		return Finding{"clock", false, "the venue's answer has no Date", "Is there something between here and the venue that takes it out?"}
	}
	behind := date.Add(time.Second / 2).Sub(p.at)
	if behind.Abs() < schemas.ReplayWindowMs*time.Millisecond {
		return ok("clock", "within %d s of the venue's", int(behind.Abs()/time.Second)+1)
	}
	which := "behind"
	if behind < 0 {
		which = "ahead of"
	}
	return Finding{"clock", false, fmt.Sprintf("%s %s the venue's", behind.Abs().Round(time.Second), which), "Set this machine's clock, by NTP for instance. The bridge corrects for it meanwhile; other clients are refused."}
}

func (d doctor) key(p *probe) Finding {
	var limits schemas.Limits
	switch {
	case p.StatusCode == http.StatusUnauthorized:
		return Finding{"key", false, "refused as unauthorized", "The venue does not know the key, or the secret is another's. Set DX_KEY and DX_SECRET together, or use the dev file of the venue that runs now."}
	case p.StatusCode != http.StatusOK:
		return Finding{"key", false, fmt.Sprintf("status %d: %.200s", p.StatusCode, p.body), "Use a key with the scope read."}
	case json.Unmarshal(p.body, &limits) != nil:
		return Finding{"key", false, fmt.Sprintf("no answer of a venue: %.200q", p.body), "Set DX_URL to the API address of a venue."}
	}
	return ok("key", "has the scopes %s", strings.Join(limits.Scopes, ", "))
}

// revision begins as a host of that revision does.
func (d doctor) revision(r string) Finding {
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
		return Finding{check, false, fmt.Sprintf("the venue says %.200s", result), "Use a host that speaks another revision, or a newer venue."}
	}
	return ok(check, "spoken")
}

func (d doctor) tools() Finding {
	result, failed := d.ask("tools", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, legacy)
	if failed != nil {
		return *failed
	}
	l, there := listOf(result)
	if !there || len(l.Tools) == 0 {
		return Finding{"tools", false, "none are listed", "Use a key that has scopes."}
	}
	reads := 0
	for _, v := range l.Tools {
		if tool(v).Annotations.ReadOnly {
			reads++
		}
	}
	return ok("tools", "%d, of which %d change nothing", len(l.Tools), reads)
}

// ask wants a result.
func (d doctor) ask(check, request, agreed string) (jsontext.Value, *Finding) {
	ctx, cancel := context.WithTimeout(d.ctx, checkTime)
	defer cancel()
	m, _ := parse([]byte(request))
	status, answer, err := ask(ctx, d.client, &m, agreed)
	if err != nil {
		return nil, &Finding{check, false, err.Error(), "Is the agent lane reachable at " + Path + "?"}
	}
	if result := object(answer)["result"]; result != nil {
		return result, nil
	}
	return nil, &Finding{check, false, fmt.Sprintf("status %d: %.200s", status, answer), "Read the error; dx call GET " + limitsPath + " shows what the key may do."}
}
