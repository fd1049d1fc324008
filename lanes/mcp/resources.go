package mcp

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

//go:embed guide.md
var guide string

const (
	guideURI   = "dx://guide"
	accountURI = "dx://account"
	roundURI   = "dx://rounds/{market_id}"
	marketURI  = "dx://markets/{market_id}"
	bookURI    = "dx://markets/{market_id}/orderbook"
	asJSON     = "application/json"
)

// resource is one row of a list of resources or of templates.
type resource struct {
	URI         string `json:"uri,omitzero"`
	URITemplate string `json:"uriTemplate,omitzero"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
}

var resources = []resource{
	{URI: guideURI, Name: "guide", Title: "How this venue trades", Description: "What to know before the first order. Read it once.", MIMEType: "text/markdown"},
	{URI: accountURI, Name: "account", Title: "Your account", Description: "State, mandate and headroom, cash, positions, resting orders and the dead-man switch in one.", MIMEType: asJSON},
}

var templates = []resource{
	{URITemplate: roundURI, Name: "round", Title: "A round", Description: "The current round of a market slot: category, strike, times, winner.", MIMEType: asJSON},
	{URITemplate: marketURI, Name: "market", Title: "A market", Description: "A market slot: status, best prices, volume, when it closes.", MIMEType: asJSON},
	{URITemplate: bookURI, Name: "orderbook", Title: "An orderbook", Description: "Bids for YES and for NO, best first, each in its own pips.", MIMEType: asJSON},
}

func (l *Lane) listResources(c *call) (jsontext.Value, *protocolFault) {
	return l.list(c, struct {
		Resources []resource `json:"resources"`
	}{resources})
}

func (l *Lane) listTemplates(c *call) (jsontext.Value, *protocolFault) {
	return l.list(c, struct {
		ResourceTemplates []resource `json:"resourceTemplates"`
	}{templates})
}

// list returns a list that does not depend on the caller.
func (l *Lane) list(c *call, result any) (jsontext.Value, *protocolFault) {
	if f := rejectCursor(c); f != nil {
		return nil, f
	}
	if f := l.authorize(c); f != nil {
		return nil, f
	}
	return l.encodeResult(c, result, cachePublic), nil
}

// resourceRef is a parsed resource URI. market is 0 if the URI has none.
type resourceRef struct {
	uri    string
	kind   string // a URI of resources or templates
	market core.MarketID
}

// slotted reports whether the market is one of the venue's slots.
func (p resourceRef) slotted() bool { return p.market <= venue.Slots }

// parseResourceURI parses a URI. It reports false if there is no such resource. The market
// may be one that never opened: reading it returns unknown_market or round_not_found.
func parseResourceURI(uri string) (resourceRef, bool) {
	if uri == guideURI || uri == accountURI {
		return resourceRef{uri: uri, kind: uri}, true
	}
	kind := marketURI
	rest, ok := strings.CutPrefix(uri, "dx://markets/")
	if number, book := strings.CutSuffix(rest, "/orderbook"); ok && book {
		rest, kind = number, bookURI
	}
	if !ok {
		rest, ok = strings.CutPrefix(uri, "dx://rounds/")
		kind = roundURI
	}
	n, err := strconv.ParseUint(rest, 10, 32)
	if !ok || err != nil || n == 0 || strconv.FormatUint(n, 10) != rest {
		return resourceRef{}, false
	}
	return resourceRef{uri: uri, kind: kind, market: core.MarketID(n)}, true
}

func (l *Lane) readResource(c *call) (jsontext.Value, *protocolFault) {
	var in struct {
		URI string `json:"uri"`
	}
	if f := c.decodeParams(&in); f != nil {
		return nil, f
	}
	if f := l.authorizeScopes(c, core.ScopeRead); f != nil {
		return nil, f
	}
	at, ok := parseResourceURI(in.URI)
	if !ok {
		return nil, resourceNotFound(in.URI)
	}
	mime, body, err := l.contents(c, at)
	if err != nil {
		switch e := l.gate.ReportError(c.ID, err); e.Code {
		case "unknown_market", "round_not_found":
			f := resourceNotFound(in.URI)
			f.data.Error = e
			return nil, f
		default:
			return nil, faultOf(e)
		}
	}
	type content struct {
		URI      string `json:"uri"`
		MIMEType string `json:"mimeType"`
		Text     string `json:"text"`
	}
	keep := noCache
	if at.kind == guideURI {
		keep = cachePublic
	}
	return l.encodeResult(c, struct {
		Contents []content `json:"contents"`
	}{[]content{{at.uri, mime, body}}}, keep), nil
}

// contents reads a resource with the operations of the tools.
func (l *Lane) contents(c *call, at resourceRef) (mime, text string, err error) {
	id := schemas.Int(at.market)
	switch at.kind {
	case guideURI:
		return "text/markdown", guide, nil
	case accountURI:
		text, err = l.account(c)
	case roundURI:
		text, err = l.runRead(c, tools.GetRound, &schemas.GetRound{MarketID: id})
	case marketURI:
		text, err = l.runRead(c, tools.GetMarket, &schemas.GetMarket{MarketID: id})
	default:
		text, err = l.runRead(c, tools.GetOrderbook, &schemas.GetOrderbook{MarketID: id})
	}
	return asJSON, text, err
}

// runRead runs a read operation whose token is already charged.
func (l *Lane) runRead(c *call, op tools.Operation, in any) (string, error) {
	out, err := op.Call(c.ctx, l.gate.Venue, l.gate.Caller(c.Call), in)
	if err != nil {
		return "", err
	}
	b, err := gate.EncodeJSON(out)
	return string(b), err
}

// account returns the contents of dx://account.
func (l *Lane) account(c *call) (string, error) {
	account, err := l.runRead(c, tools.GetAccount, &schemas.GetAccount{})
	if err != nil {
		return "", err
	}
	balance, err := l.runRead(c, tools.GetBalance, &schemas.MinSeqOnly{})
	if err != nil {
		return "", err
	}
	short := schemas.Page{Limit: schemas.Ptr(schemas.Int(defaultPageSize))}
	positions, err := l.runRead(c, tools.ListPositions, &schemas.ListPositions{Page: short})
	if err != nil {
		return "", err
	}
	orders, err := l.runRead(c, tools.ListOrders, &schemas.ListOrders{Page: short, Status: "resting,partially_filled"})
	if err != nil {
		return "", err
	}
	deadman, err := l.runRead(c, tools.GetDeadman, &schemas.DeadmanQuery{})
	return fmt.Sprintf(`{"account":%s,"balance":%s,"positions":%s,"orders":%s,"deadman":%s}`, account, balance, positions, orders, deadman), err
}

// tradingMarkets returns the slots whose round is trading.
func (l *Lane) tradingMarkets() (out []string) {
	l.gate.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if s, ok := v.Market(m); ok && s.Status == core.Trading {
				out = append(out, strconv.Itoa(int(m)))
			}
		}
	})
	return out
}
