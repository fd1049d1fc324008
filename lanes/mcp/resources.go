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
	{URI: guideURI, Name: "guide", Title: "How this venue trades", Description: "What a model needs to know before its first order. Read it once.", MIMEType: "text/markdown"},
	{URI: accountURI, Name: "account", Title: "Your account", Description: "Cash, positions, resting orders and the dead-man switch in one.", MIMEType: asJSON},
}

var templates = []resource{
	{URITemplate: roundURI, Name: "round", Title: "A round", Description: "The round a market slot is in: category, strike, times, winner.", MIMEType: asJSON},
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

// list answers with a list that is the same for all.
func (l *Lane) list(c *call, result any) (jsontext.Value, *protocolFault) {
	if f := onePage(c); f != nil {
		return nil, f
	}
	if f := l.admit(c); f != nil {
		return nil, f
	}
	return l.finish(c, result, forAll), nil
}

// place is what a URI names. Market is 0 where it names none.
type place struct {
	uri    string
	kind   string // a URI of resources or templates
	market core.MarketID
}

// placeOf reads a URI; false if there is no such resource.
func placeOf(uri string) (place, bool) {
	if uri == guideURI || uri == accountURI {
		return place{uri: uri, kind: uri}, true
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
	n, err := strconv.ParseUint(rest, 10, 16)
	if !ok || err != nil || n == 0 || n > venue.Slots || strconv.FormatUint(n, 10) != rest {
		return place{}, false
	}
	return place{uri: uri, kind: kind, market: core.MarketID(n)}, true
}

func (l *Lane) readResource(c *call) (jsontext.Value, *protocolFault) {
	var in struct {
		URI string `json:"uri"`
	}
	if f := c.read(&in); f != nil {
		return nil, f
	}
	if f := l.admitWith(c, core.ScopeRead); f != nil {
		return nil, f
	}
	at, ok := placeOf(in.URI)
	if !ok {
		return nil, noResource(in.URI)
	}
	mime, body, err := l.contents(c, at)
	if err != nil {
		switch e := l.gate.Refusal(c.ID, err); e.Code {
		case "unknown_market", "round_not_found":
			f := noResource(in.URI)
			f.data.Error = e
			return nil, f
		default:
			return nil, venueFault(e)
		}
	}
	type content struct {
		URI      string `json:"uri"`
		MIMEType string `json:"mimeType"`
		Text     string `json:"text"`
	}
	keep := forOnce
	if at.kind == guideURI {
		keep = forAll
	}
	return l.finish(c, struct {
		Contents []content `json:"contents"`
	}{[]content{{at.uri, mime, body}}}, keep), nil
}

// contents reads a resource by the operations that tools and REST use.
func (l *Lane) contents(c *call, at place) (mime, text string, err error) {
	id := schemas.Int(at.market)
	switch at.kind {
	case guideURI:
		return "text/markdown", guide, nil
	case accountURI:
		text, err = l.account(c)
	case roundURI:
		text, err = reading(l, c, tools.GetRound, &schemas.GetRound{MarketID: id})
	case marketURI:
		text, err = reading(l, c, tools.GetMarket, &schemas.GetMarket{MarketID: id})
	default:
		text, err = reading(l, c, tools.GetOrderbook, &schemas.GetOrderbook{MarketID: id})
	}
	return asJSON, text, err
}

// reading does a read operation; its token is paid.
func reading[In, Out any](l *Lane, c *call, op *tools.Op[In, Out], in *In) (string, error) {
	out, err := op.Do(c.ctx, l.gate.Venue, c.Caller(), in)
	if err != nil {
		return "", err
	}
	b, err := gate.Encode(&out)
	return string(b), err
}

// account joins what one asks about an account first.
func (l *Lane) account(c *call) (string, error) {
	balance, err := reading(l, c, tools.GetBalance, &schemas.Now{})
	if err != nil {
		return "", err
	}
	short := schemas.Page{Limit: schemas.Of(schemas.Int(listSize))}
	positions, err := reading(l, c, tools.ListPositions, &schemas.ListPositions{Page: short})
	if err != nil {
		return "", err
	}
	orders, err := reading(l, c, tools.ListOrders, &schemas.ListOrders{Page: short, Status: "resting,partially_filled"})
	if err != nil {
		return "", err
	}
	deadman, err := reading(l, c, tools.GetDeadman, &schemas.None{})
	return fmt.Sprintf(`{"balance":%s,"positions":%s,"orders":%s,"deadman":%s}`, balance, positions, orders, deadman), err
}

// tradingMarkets lists the slots one can trade in now.
func (l *Lane) tradingMarkets() (out []string) {
	l.gate.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if s, ok := v.Slot(m); ok && s.Status == core.Trading {
				out = append(out, strconv.Itoa(int(m)))
			}
		}
	})
	return out
}
