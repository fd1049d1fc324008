package mcp

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// prompt is a prompt of the protocol. Its only argument, if any, is a market.
type prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Arguments   []promptArgument `json:"arguments,omitempty"`
	text        string
}

type promptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

var marketArgument = []promptArgument{{"market_id", "Market slot, as list_series shows it", true}}

var prompts = []prompt{
	{
		Name: "trade_round", Title: "Trade one round", Description: "Form a view on one round, place an order if it is worth it, follow it to the settlement.", Arguments: marketArgument,
		text: `Trade the present round of market {market_id}.
1. Read dx://guide, then list_series. Find the series whose live.market_id is {market_id}; if there is none, say so and stop. Note generation, strike_decimal, index_decimal, secs_to_close, yes_bid and yes_ask, and keep as_of_seq.
2. Estimate the chance that the settle price, the average index of the last twap_window_secs, ends strictly above the strike. YES costs yes_ask, NO costs 10000 minus yes_bid, each with the taker fee; 0 means that nobody offers.
3. If neither side offers an edge, say so and stop. Otherwise size it within the cash of get_account and call preview_order with the generation: tif ioc with tick, or for a market buy dollars, the most to spend, and worst_tick, the worst price you accept. Only if worst_loss_usd is acceptable, call place_order with the same arguments and a client_order_id you have never used.
4. Call wait_for_event with that as_of_seq as after_seq, kinds order, fill, round and settlement, and market_ids [{market_id}]; then again with next_seq, until a settlement event comes, or a round event says settled or void. If an answer was lost, call list_orders with the client_order_id before anything else.
5. Report filled_qty and fee_usd of the order, and the winner, payout_usd and profit_usd of the settlement.`,
	},
	{
		Name: "quote_market", Title: "Quote a market", Description: "Keep a bid and an ask in one market until its round freezes.", Arguments: marketArgument,
		text: `Quote both sides of market {market_id} until its round freezes.
1. Read dx://guide, list_series (the series whose live.market_id is {market_id}: strike, index, secs_to_close), get_orderbook with depth 5 for tick_size, and get_limits. Without arm_deadman (it is in the toolset all) say so and stop.
2. Arm the dead-man switch (arm_deadman, timeout_ms 30000) and arm it again every 10 seconds while quoting.
3. Quote around your fair price with place_orders: buy YES below it, and buy NO below 10000 minus it, both post_only and cancel_on_pause, with the generation of the round, ticks on tick_size, each with a new client_order_id and one group_id.
4. Use wait_for_event (kinds order, fill, round; market_ids [{market_id}]). After a fill lean your quotes against the position; redeem_pairs when you hold both outcomes.
5. Stop when the round is no longer trading: cancel_all_orders with the group_id, then disarm_deadman. Report fills, fees and the position.`,
	},
	{
		Name: "review_account", Title: "Review the account", Description: "Summarize the account, without trading.",
		text: `Review this account without placing or canceling anything.
1. Read dx://account, then get_pnl, list_portfolio_rounds, list_fills and list_series, whose live rounds have secs_to_close.
2. Say what was made: realized_usd, realized_today_usd and unrealized_usd, and the rounds with the largest profit and loss (profit_usd). list_ledger explains a change of cash that these do not.
3. Say what is in cash, what is reserved by which resting orders, what is held at which cost, and what each open round would pay either way: 10000 pips for each contract of the winner.
4. Name what looks wrong: orders in markets about to close, quotes without a dead-man switch, pairs that could be redeemed, fees out of proportion.
5. Suggest the next calls, and make none of them.`,
	},
}

func promptOf(name string) *prompt {
	for i := range prompts {
		if prompts[i].Name == name {
			return &prompts[i]
		}
	}
	return nil
}

func (l *Lane) listPrompts(c *call) (jsontext.Value, *protocolFault) {
	return l.list(c, struct {
		Prompts []prompt `json:"prompts"`
	}{prompts})
}

func (l *Lane) getPrompt(c *call) (jsontext.Value, *protocolFault) {
	var in struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if f := c.decodeParams(&in); f != nil {
		return nil, f
	}
	if f := l.authorize(c); f != nil {
		return nil, f
	}
	p := promptOf(in.Name)
	if p == nil {
		return nil, badParams("unknown prompt " + printable(in.Name))
	}
	text := p.text
	for _, a := range p.Arguments {
		at, ok := parseResourceURI("dx://markets/" + in.Arguments[a.Name])
		if !ok || at.kind != marketURI || !at.slotted() {
			return nil, badParams(a.Name + " must be the number of a market slot")
		}
		text = strings.ReplaceAll(text, "{"+a.Name+"}", in.Arguments[a.Name])
	}
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type promptMessage struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	}
	return l.encodeResult(c, struct {
		Description string          `json:"description"`
		Messages    []promptMessage `json:"messages"`
	}{p.Description, []promptMessage{{"user", content{"text", text}}}}, nil), nil
}
