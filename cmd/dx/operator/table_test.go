package operator

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/schemas"
)

// TestLayout checks what people see of responses: money in dollars, prices and times as such, ages, and
// no character that acts on a terminal.
func TestLayout(t *testing.T) {
	l := layout{now: time.Unix(1_795_600_000, 0)}
	for _, c := range []struct{ response, want string }{
		{`{"withdrawals":[{"user_id":7,"withdrawal_id":"12","client_withdrawal_id":"a","amount":"12345","destination":"bank\u001b[2J\u202e","status":"pending","state":"pending","reference":"","seq":"12","ts":"1795510000000000000"},{"user_id":8,"withdrawal_id":"130","client_withdrawal_id":"b","amount":"100000000","destination":"home","status":"pending","state":"pending","reference":"","seq":"130","ts":"1795599999000000000"}],"cursor":"abc","as_of_seq":"9"}`, `
WITHDRAWAL ID  USER ID      AMOUNT  DESTINATION  STATE    AGE
           12        7     $1.2345  bank�[2J�    pending  25h0m0s
          130        8  $10,000.00  home         pending  1s
There are more: --cursor abc
`},
		{`{"withdrawals":[],"cursor":"","as_of_seq":"9"}`, `
none
`},
		{`{"user_id":7,"name":"ann","created_ts":"1795510000000000000","referrer_id":null,"cash":"70000","positions":[],"keys":[{"api_key":"dxk1","label":"","scopes":["read","trade"],"created_ts":"1795510000000000000"}],"as_of_seq":"9"}`, `
user id        7
name           ann
created (UTC)  2026-11-24 08:46:40
referrer id    -
cash           $7.00
as of seq      9

positions
none

keys
API KEY  SCOPES      CREATED (UTC)
dxk1     read,trade  2026-11-24 08:46:40
`},
		{`{"api_key":"dxk1","revoked":true}`, `
api key  dxk1
revoked  yes
`},
		{`{"markets":[{"market_id":1,"series":"btc-60s","round_number":"4","status":"frozen","paused":false,"needs_decision":true,"strike":"6500010000000","settle_price":"0"},{"market_id":2,"series":"wti-5m","round_number":"3","status":"proposed","paused":false,"needs_decision":false,"strike":"7512500000","settle_price":"7512900001"},{"market_id":3,"series":"gold-5m","round_number":"5","status":"trading","paused":false,"needs_decision":false,"strike":"240010000000","settle_price":null}],"as_of_seq":"9"}`, `
MARKET ID  SERIES   ROUND NUMBER  STATUS    PAUSED  NEEDS DECISION     STRIKE  SETTLE PRICE
        1  btc-60s             4  frozen    no      yes             65,000.10             -
        2  wti-5m              3  proposed  no      no                 75.125   75.12900001
        3  gold-5m             5  trading   no      no               2,400.10             -
`},
		{`{"approvals":[{"approval_id":"12","status":"pending","action":"propose_price","market_id":2,"settle_price":"7512900000"},{"approval_id":"13","status":"pending","action":"post_price","feed":2,"price":"7512500000"}],"cursor":"","as_of_seq":"9"}`, `
APPROVAL ID  STATUS   ACTION         MARKET ID  SETTLE PRICE  FEED   PRICE
         12  pending  propose_price          2        75.129  -          -
         13  pending  post_price             -             -  WTI   75.125
`},
		{`{"actions":[{"seq":"12001","ts":"1795510000000000000","who":"alice","why":"bank\u001b[2J","action":"deposit","user_id":7000,"detail":{"amount":"100000000","deposit_id":"2291"}},{"seq":"12000","ts":"1795510000000000000","who":"operator","why":"","action":"post_tick","detail":{"feed":"2","price":"7512500000"},"refused":"invalid_price"},{"seq":"11999","ts":"1795510000000000000","who":"operator","why":"late","action":"propose_price","market_id":3,"detail":{"settle_price":"7512900000"}}],"cursor":"","as_of_seq":"9"}`, `
  SEQ  TIME (UTC)           WHO       ACTION         ON            DETAIL                              REASON    REFUSED
12001  2026-11-24 08:46:40  alice     deposit        account 7000  amount $10,000.00, deposit id 2291  bank�[2J  -
12000  2026-11-24 08:46:40  operator  post_tick      -             feed WTI, price 75.125              -         invalid_price
11999  2026-11-24 08:46:40  operator  propose_price  market 3      settle price 75.129                 late      -
`},
		{`{"user_id":7,"open_orders":[{"order_id":"18446744073709551615","market_id":2,"side":"buy","outcome":"yes","tick":4700,"qty":2000,"remaining_qty":1500,"created_ts":"1795510000000000000"},{"order_id":"9","market_id":2,"side":"buy","outcome":"no","tick":390,"qty":1,"remaining_qty":1,"created_ts":"1795510000000000000"}],"volume_30d":"1234567"}`, `
user id     7
volume 30d  1,234,567

open orders
            ORDER ID  MARKET ID  SIDE  OUTCOME  TICK  REMAINING QTY  CREATED (UTC)
18446744073709551615          2  buy   yes       47¢          1,500  2026-11-24 08:46:40
                   9          2  buy   no       3.9¢              1  2026-11-24 08:46:40
`},
		{`{"feeds":[{"name":"WTI","price":"7512500001"},{"name":"gold","price":null}],"as_of_seq":"9"}`, `
NAME        PRICE
WTI   75.12500001
gold            -
`},
	} {
		var out strings.Builder
		if err := l.print(&out, []byte(c.response)); err != nil || "\n"+out.String() != c.want {
			t.Errorf("%s\n%v\n%s", c.response, err, out.String())
		}
	}
}

// TestEveryNumberHasAForm checks that each number of the operator's responses is money, a price, a count, a time or
// known as what people type again, so that a new one is not shown without its form.
func TestEveryNumberHasAForm(t *testing.T) {
	asIs := strings.Fields("n fill_n seq as_of_seq created_seq last_update_seq round_number generation category feed flags maker_rate taker_rate maker_rebate_pct referral_pct")
	seen := map[reflect.Type]bool{}
	var check func(reflect.Type)
	check = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		for _, m := range schemas.Members(of) {
			is := m.Type
			if is.Kind() == reflect.Pointer {
				is = is.Elem()
			}
			known := slices.Concat(dollars, cents, prices, counts, asIs)
			isNumber := is.Kind() != reflect.String && is.ConvertibleTo(reflect.TypeFor[int64]())
			if isNumber && !slices.Contains(known, m.Name) && m.Name != "ts" && !slices.ContainsFunc([]string{"_id", "_ts", "_ms", "_usd"}, func(end string) bool { return strings.HasSuffix(m.Name, end) }) {
				t.Errorf("%s.%s has no form in a table", of.Name(), m.Name)
			}
			check(m.Type)
		}
	}
	for _, response := range []any{
		schemas.NewUser{}, schemas.UserList{}, schemas.UserDetail{}, schemas.LedgerList{}, schemas.FoundUsers{}, schemas.NewKey{}, schemas.Deposited{}, schemas.Suspension{}, schemas.UserOrdersCanceled{},
		schemas.AdminFeeds{}, schemas.AdminMarkets{}, schemas.MarketActed{}, schemas.Fees{}, schemas.Schedule{}, schemas.UserWithdrawalList{}, schemas.Withdrawal{}, schemas.ApprovalPending{}, schemas.ApprovalList{},
		schemas.OperatorList{}, schemas.WhoAmI{}, schemas.Snapshotted{}, schemas.AdminState{}, schemas.ActionList{},
		schemas.OrderEvent{}, schemas.FillEvent{}, schemas.BalanceEvent{}, schemas.PositionEvent{}, schemas.SettlementEvent{},
	} {
		check(reflect.TypeOf(response))
	}
	if len(seen) < 30 {
		t.Errorf("only %d types", len(seen))
	}
}
