package schemas

import (
	"reflect"
	"slices"
	"strings"
)

// aliases lists, for each field, the names that other venues and tools use for it, in
// lower case and without separators. Decoding never accepts an alias; the fault names
// the field instead.
var aliases = map[string]string{
	"tick":                 "price limitprice orderprice limit px p rate yesprice noprice tickyes pricepips pricecents ticks",
	"worst_tick":           "worstprice",
	"qty":                  "quantity size amount contracts shares count volume lots units orderqty ordersize",
	"type":                 "ordertype ordtype orderkind kind",
	"tif":                  "timeinforce validity duration",
	"market_id":            "market marketslot slot ticker symbol instrument instrumentid productid contractid eventid id",
	"market_ids":           "marketid market markets tickers symbols",
	"client_order_id":      "id clientid orderid clordid clientoid cid orderlinkid idempotencykey nonce requestid reference",
	"order_id":             "id order",
	"order_ids":            "ids orders orderid",
	"orders":               "order batch items list",
	"side":                 "direction action buysell",
	"outcome":              "contract option answer prediction token yesno position",
	"expiry_ts":            "expiry expiration expires expiresat expirytime expirationtime expirationts goodtill goodtilltime",
	"max_cost":             "budget maxspend spend cost notional maxnotional quoteqty",
	"dollars":              "usd dollaramount amountusd",
	"expires_in_ms":        "expiresin ttl ttlms expiresms",
	"group_id":             "group tag",
	"post_only":            "makeronly",
	"stp_maker":            "stp selftradeprevention",
	"generation":           "gen",
	"round_number":         "round number",
	"reduce_by":            "by decreaseby",
	"reduce_to":            "to decreaseto newqty newquantity remaining remainingqty",
	"timeout_ms":           "timeout timeoutseconds timeouts ms waitms",
	"after_seq":            "since sinceseq fromseq seq after nextseq",
	"kinds":                "kind type types events channels",
	"kind":                 "kinds type types reason cause",
	"depth":                "levels limit",
	"limit":                "pagesize perpage maxresults",
	"cursor":               "page pagetoken nextcursor offset",
	"status":               "state statuses states",
	"feed":                 "asset symbol underlying",
	"category":             "series seriesid",
	"amount":               "qty quantity size value",
	"destination":          "address to account",
	"client_withdrawal_id": "id withdrawalid idempotencykey reference",
}

// spelled returns name in lower case and without separators.
func spelled(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(name))
}

// Meant returns the name of the member of a request that a name stands for: itself, or the one that was
// probably meant. in is a pointer to the request.
func Meant(in any, name string) (meant string, ok bool) {
	p := requestTypeOf(reflect.TypeOf(in).Elem())
	i, ok := p.byName[name]
	if !ok {
		if i, ok = p.meant(name, inArguments); !ok {
			return "", false
		}
	}
	return p.fields[i].Name, true
}

// meant returns the index of the field that an unknown name probably stands for.
func (p *requestType) meant(name string, from location) (i int, ok bool) {
	s := spelled(name)
	if s == "" {
		return 0, false
	}
	for i := range p.fields {
		if f := &p.fields[i]; f.appliesTo(from) && spelled(f.Name) == s {
			return i, true
		}
	}
	for i := range p.fields {
		if f := &p.fields[i]; f.appliesTo(from) && slices.Contains(strings.Fields(aliases[f.Name]), s) {
			return i, true
		}
	}
	return 0, false
}
