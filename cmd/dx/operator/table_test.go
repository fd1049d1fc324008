package operator

import (
	"strings"
	"testing"
	"time"
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
         12  pending  propose_price          2        75.129     -       -
         13  pending  post_price             -             -     2  75.125
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
