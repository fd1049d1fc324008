package mcp

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// openStatuses selects the orders that rest.
const openStatuses = "resting,partially_filled"

// complete adds what every refusal has: the field at fault, its value as it was sent, the next call, and the
// market of a placement (docs/rules/agents.md#errors).
func (x *hintBuilder) complete() {
	sent := x.named()
	if x.Field == "" {
		for _, name := range faultyFields[x.Error.Code] {
			if x.Field == "" || sent[x.Field] == nil && sent[name] != nil {
				x.Field = name
			}
		}
	}
	if x.Got == nil && x.Field != "" {
		if v := valueAt(x.arguments(), x.Field); v != nil && v.Kind() != 'n' {
			x.Got = jsontext.Value(schemas.Shown(v))
		}
	}
	if x.Next == nil {
		x.Next = cmp.Or(x.correctedRead(), x.fallback())
	}
	x.addMarket()
}

// addMarket adds the slot of a placement or a replace as it is now, and where the round is at fault says what
// the slot trades now.
func (x *hintBuilder) addMarket() {
	var id schemas.Int
	places := true
	switch in := x.input.(type) {
	case *schemas.PlaceOrders:
		if n, ok := x.faultyItem(); ok && n < len(in.Orders) {
			id = in.Orders[n].MarketID
		}
	case *schemas.SubmitForecast:
		id, places = in.MarketID, false
	default:
		if p := x.placement(); p != nil {
			id = p.MarketID
		}
	}
	now := x.venue.MarketNow(core.MarketID(id.MarketID()))
	if now == nil || x.Error.Code == "duplicate_client_order_id" {
		return
	}
	if strings.HasSuffix(x.Field, "generation") {
		strike, _ := now.StrikeDecimal.MarshalText() // never fails
		x.Hint = fmt.Sprintf("Market %d is %s now: round %d, generation %d, strike %s, %d s to close. ", now.MarketID, now.Series, now.RoundNumber, now.Generation, strike, now.SecsToClose) + x.Hint
	}
	if places {
		x.Market = now
	}
}

// faultyItem returns the index of the order of a batch that is at fault.
func (x *hintBuilder) faultyItem() (n int, ok bool) {
	i, ok := strings.CutPrefix(x.Field, "orders[")
	n, err := strconv.Atoi(i[:max(strings.IndexByte(i, ']'), 0)])
	return n, ok && err == nil
}

// faultyFields are the arguments that a code is about. Of several the first that was sent counts.
var faultyFields = map[string][]string{
	"unknown_market":                 {"market_id"},
	"market_not_trading":             {"market_id"},
	"market_paused":                  {"market_id"},
	"round_not_found":                {"market_id", "round_number"},
	"stale_generation":               {"generation"},
	"unknown_order":                  {"order_id", "client_order_id"},
	"invalid_decrease":               {"reduce_to", "reduce_by"},
	"insufficient_position":          {"qty"},
	"insufficient_balance":           {"qty", "amount"},
	"per_market_limit":               {"qty"},
	"open_order_limit":               {"market_id"},
	"bad_qty":                        {"qty"},
	"bad_expiry":                     {"expiry_ts", "expires_in_ms"},
	"bad_cursor":                     {"cursor"},
	"duplicate_client_withdrawal_id": {"client_withdrawal_id"},
	"bad_destination":                {"destination"},
	"withdrawal_refused":             {"destination"},
	"invalid_timeout":                {"timeout_ms"},
}

// placement returns the order of a placement or a replace, or nil.
func (x *hintBuilder) placement() *schemas.PlaceOrder {
	switch in := x.input.(type) {
	case *schemas.PlaceOrder:
		return in
	case *schemas.ReplaceOrder:
		if in != nil {
			return x.venue.Placement(x.caller(), in)
		}
	}
	return nil
}

// arguments returns the arguments of the call, or of the item of a batch, as they were sent.
func (x *hintBuilder) arguments() jsontext.Value {
	if x.item == wholeCall {
		return x.call.meta.Args
	}
	if x.tool.spec == &tools.CancelOrders.Spec {
		return mustEncode(map[string]jsontext.Value{"order_id": valueAt(x.call.meta.Args, fmt.Sprintf("order_ids[%d]", x.item))})
	}
	return valueAt(x.call.meta.Args, fmt.Sprintf("orders[%d]", x.item))
}

// named returns the arguments by name.
func (x *hintBuilder) named() (out map[string]jsontext.Value) {
	if json.Unmarshal(x.arguments(), &out) != nil {
		return nil
	}
	return out
}

// objectOf decodes an object, with integers that stay exact. It returns nil for anything else.
func objectOf(v jsontext.Value) map[string]any {
	var named map[string]jsontext.Value
	if json.Unmarshal(v, &named) != nil {
		return nil
	}
	out := make(map[string]any, len(named))
	for name, v := range named {
		out[name] = v
	}
	return out
}

var pathStep = regexp.MustCompile(`[^.\[\]]+`)

// valueAt returns the value at a path such as orders[2].qty, or nil.
func valueAt(v jsontext.Value, path string) jsontext.Value {
	for _, step := range pathStep.FindAllString(path, -1) {
		var named map[string]jsontext.Value
		var items []jsontext.Value
		i, err := strconv.Atoi(step)
		switch {
		case json.Unmarshal(v, &named) == nil:
			v = named[step]
		case err == nil && json.Unmarshal(v, &items) == nil && i < len(items):
			v = items[i]
		default:
			return nil
		}
	}
	return v
}

// sameCall returns the call, or that of the item of a batch, as it was sent.
func (x *hintBuilder) sameCall() *schemas.NextCall {
	tool, arguments := x.tool.spec.Name, objectOf(x.arguments())
	if x.item != wholeCall && tool == tools.PlaceOrders.Name {
		tool = tools.PlaceOrder.Name
	}
	if arguments == nil {
		arguments = map[string]any{}
	}
	return &schemas.NextCall{Tool: tool, Arguments: arguments}
}

// fallback is the read that shows what to put where nothing can be corrected.
func (x *hintBuilder) fallback() *schemas.NextCall {
	none := map[string]any{}
	p := x.placement()
	switch x.Error.Code {
	case "user_suspended", "missing_scope", "mandate_violation":
		return &schemas.NextCall{Tool: tools.GetAccount.Name, Arguments: none}
	case "bad_qty":
		if p != nil && p.Side == "sell" {
			return &schemas.NextCall{Tool: tools.ListPositions.Name, Arguments: map[string]any{"market_id": int64(p.MarketID)}}
		}
		return &schemas.NextCall{Tool: tools.GetAccount.Name, Arguments: none}
	}
	switch x.tool.spec {
	case &tools.CancelOneOrder.Spec, &tools.CancelOrders.Spec, &tools.CancelAllOrders.Spec, &tools.DecreaseOrder.Spec, &tools.ReplaceOrder.Spec,
		&tools.ListOrders.Spec, &tools.GetOrder.Spec, &tools.ListFills.Spec:
		return &schemas.NextCall{Tool: tools.ListOrders.Name, Arguments: map[string]any{"status": openStatuses}}
	case &tools.RedeemPairs.Spec, &tools.ListPositions.Spec, &tools.GetPnL.Spec:
		return &schemas.NextCall{Tool: tools.ListPositions.Name, Arguments: none}
	case &tools.ArmDeadman.Spec, &tools.DisarmDeadman.Spec, &tools.RequestWithdrawal.Spec, &tools.ListWithdrawals.Spec, &tools.ListDeposits.Spec,
		&tools.ListLedger.Spec, &tools.ListSettlements.Spec, &tools.GetBalance.Spec, &tools.GetAccount.Spec, &tools.GetLimits.Spec, &tools.GetDepositAddress.Spec:
		return &schemas.NextCall{Tool: tools.GetAccount.Name, Arguments: none}
	case &tools.GetVenue.Spec:
		return &schemas.NextCall{Tool: tools.GetVenue.Name, Arguments: none}
	}
	return &schemas.NextCall{Tool: tools.ListSeries.Name, Arguments: none}
}

// correctedRead returns the same read with arguments in the form that it takes, or nil. A filter that cannot
// be read is never dropped; a cursor is, since the list begins again.
func (x *hintBuilder) correctedRead() *schemas.NextCall {
	switch x.Error.Code {
	case "schema_violation", "unknown_field", "bad_cursor", "invalid_timeout":
	default:
		return nil
	}
	if !x.tool.spec.ReadOnly() || x.tool.spec == &tools.PreviewOneOrder.Spec {
		return nil
	}
	in := x.tool.newInput()
	g := newGuess(x.venue, in, x.arguments())
	for _, m := range schemas.Members(reflect.TypeOf(in).Elem()) {
		v, ok := g.sent[m.Name]
		switch {
		case m.Name == "cursor":
		case ok:
			value, ok := g.member(&m, v)
			if !ok {
				return nil
			}
			g.meant[m.Name] = value
		case m.Name == "after_seq":
			x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) { g.meant[m.Name] = fmt.Sprint(v.Now().Seq) })
		}
	}
	if len(g.sent) < len(x.named())-len(g.absent) || schemas.DecodeArguments(mustEncode(g.meant), x.tool.newInput()) != nil {
		return nil
	}
	return &schemas.NextCall{Tool: x.tool.spec.Name, Arguments: g.meant}
}

// hintBatch adds the hints for a batch of orders that cannot be decoded: those of the item at fault. If a
// generation alone is missing, next is the same batch with those of now.
func (x *hintBuilder) hintBatch(in *schemas.PlaceOrders) {
	n, ok := x.faultyItem()
	if !ok {
		return
	}
	whole, field := x.item, x.Field
	defer func() { x.item, x.Field = whole, field }()
	if strings.HasSuffix(field, ".generation") && x.suggestGenerations() {
		return
	}
	p := new(schemas.PlaceOrder)
	if n < len(in.Orders) {
		p = &in.Orders[n]
	}
	x.item, x.Field = n, field[strings.LastIndexByte(field, '.')+1:]
	x.hintArguments(p)
}

// suggestGenerations suggests the same batch with the generations of now where there is none.
func (x *hintBuilder) suggestGenerations() bool {
	var orders []jsontext.Value
	if json.Unmarshal(valueAt(x.arguments(), "orders"), &orders) != nil {
		return false
	}
	list := make([]any, len(orders))
	for i, v := range orders {
		one := objectOf(v)
		var in schemas.OrderArguments
		_ = schemas.DecodeArguments(v, &in) // the market alone is read, and a batch that still fails is not suggested
		now := x.venue.MarketNow(core.MarketID(in.MarketID.MarketID()))
		if one == nil || now == nil {
			return false
		}
		if in.Generation == 0 {
			one["generation"] = now.Generation
		}
		list[i] = one
	}
	arguments := map[string]any{"orders": list}
	if schemas.DecodeArguments(mustEncode(arguments), new(schemas.PlaceOrders)) != nil {
		return false
	}
	x.Next = &schemas.NextCall{Tool: x.tool.spec.Name, Arguments: arguments}
	return true
}

// hintExpiry names the venue's clock and its end of the round.
func (x *hintBuilder) hintExpiry() {
	now := x.venue.Config.Now()
	x.Limit = fmt.Sprintf("ns over %d, the venue's clock", now)
	x.say(fmt.Sprintf("The venue's clock is %d.", now), "expires_in_ms says how long to rest, in place of expiry_ts.")
}

// hintRedeem names the pairs that are free, and suggests to redeem those.
func (x *hintBuilder) hintRedeem(p *schemas.Redeem) {
	switch x.Error.Code {
	case "insufficient_position", "bad_qty":
	default:
		return
	}
	var pairs core.Qty
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if m := core.MarketID(p.MarketID.MarketID()); m != 0 && m <= venue.Slots {
			at := v.Position(x.caller().User, m)
			pairs = min(at.Yes-at.YesReserved, at.No-at.NoReserved)
		}
	})
	x.Field, x.Limit = "qty", fmt.Sprintf("%d free pairs", pairs)
	x.say(fmt.Sprintf("Market %d has %d free pairs of yours: contracts of YES and of NO that no sell reserves.", int64(p.MarketID), pairs), "Redeem fewer, or cancel resting sells.")
	if x.Next = nil; pairs > 0 && int64(pairs) < int64(p.Qty) {
		x.Next = &schemas.NextCall{Tool: x.tool.spec.Name, Arguments: map[string]any{"market_id": int64(p.MarketID), "qty": int64(pairs)}}
		return
	}
	x.suggestCall(tools.ListPositions.Name, "market_id", int64(p.MarketID))
}

// hintForecast suggests the forecast that was probably meant by a p in another unit.
func (x *hintBuilder) hintForecast(p *schemas.SubmitForecast) {
	sent := x.named()["p"]
	meant, ok := pipsOf(sent)
	if x.Field != "p" || !ok || p.MarketID == 0 || p.Generation == 0 || meant < 100 || meant > int64(core.Payout) {
		return
	}
	x.Hint = fmt.Sprintf("p is in basis points: %s is sent as %d. %s", textOf(sent), meant, x.Hint)
	x.Next = &schemas.NextCall{Tool: x.tool.spec.Name, Arguments: map[string]any{"market_id": int64(p.MarketID), "generation": int64(p.Generation), "p": meant}}
}

// member reads an argument of a read in the form that its member takes.
func (g *guess) member(m *schemas.Member, v jsontext.Value) (any, bool) {
	one := m.Type
	if one.Kind() == reflect.Pointer {
		one = one.Elem()
	}
	text := strings.ToLower(textOf(v))
	switch {
	case one.Kind() == reflect.Slice:
		return g.items(m, v)
	case m.Name == "market_id":
		return g.market(v)
	case m.FromTable():
		if s, ok := seriesNamed(text); ok && m.Name == "feed" {
			return int64(s.Feed), true
		} else if ok {
			return int64(s.Category), true
		}
		n, ok := numberOf(v)
		return int64(n), ok
	case one == reflect.TypeFor[schemas.U64]():
		n, err := strconv.ParseUint(text, 10, 64)
		return strconv.FormatUint(n, 10), err == nil
	case one == reflect.TypeFor[schemas.Int]():
		n, ok := numberOf(v)
		lo, hi := int64(0), int64(schemas.U32Max)
		if m.Min != nil {
			lo = *m.Min
		}
		if m.Max != nil {
			hi = *m.Max
		}
		return max(lo, int64(min(n, float64(hi)))), ok
	case one.Kind() == reflect.Bool:
		return boolean(g, v)
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	for i, w := range words {
		words[i] = cmp.Or(filterWords[w], w)
	}
	return strings.Join(words, ","), len(words) > 0
}

// filterWords are words of other venues for those of filters.
var filterWords = map[string]string{
	"open": openStatuses, "live": openStatuses, "active": openStatuses, "pending": openStatuses, "filled": "executed", "cancelled": "canceled",
	"orders": "order", "fills": "fill", "trades": "fill", "trade": "fill", "positions": "position", "rounds": "round", "settlements": "settlement",
}

// items reads a list, or one value in the place of a list.
func (g *guess) items(m *schemas.Member, v jsontext.Value) (any, bool) {
	var list []jsontext.Value
	if json.Unmarshal(v, &list) != nil {
		for w := range strings.SplitSeq(textOf(v), ",") {
			list = append(list, mustEncode(strings.TrimSpace(w)))
		}
	}
	one := *m
	one.Type = m.Type.Elem()
	if m.Name == "market_ids" {
		one.Name = "market_id"
	}
	out := make([]any, 0, len(list))
	for _, v := range list {
		x, ok := g.member(&one, v)
		if !ok {
			return nil, false
		}
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out, len(out) > 0
}
