package operator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/schemas"
)

// columns are those of the tables that have fewer than their rows have members. A column without a value
// in any row is left out. age is the time since ts or requested_ts.
var columns = map[string]string{
	"withdrawals":         "withdrawal_id user_id amount destination state reference age",
	"withdrawals_pending": "withdrawal_id amount destination state reference age",
	"approvals":           "approval_id status action requested_by age reason user_id amount deposit_id withdrawal_id destination market_id round_number settle_price feed price expires_ts decided_by",
	"open_orders":         "order_id market_id side outcome tick remaining_qty created_ts",
	"positions":           "market_id round_number yes_qty no_qty cost",
	"markets":             "market_id series round_number status paused needs_decision strike settle_price close_ts open_interest",
	"feeds":               "name stale session_open price age_ms source_count min_sources manual sources",
	"actions":             "seq ts who action on detail why refused",
	"ledger":              "n ts kind amount balance_after market_id order_id ref",
}

// dollars are the members in pips, cents the prices in pips, prices those at 1e8, and counts the numbers of things. A
// number in none of them, such as an id, is shown as it is.
var (
	dollars = strings.Fields("amount balance_after cash reserved collateral fees fee deposits withdrawals cost max_cost payout profit change fund four_eyes paid_alone returned_alone")
	cents   = strings.Fields("tick tick_yes")
	prices  = strings.Fields("price strike settle_price")
	counts  = strings.Fields("qty filled_qty remaining_qty yes_qty no_qty yes_reserved no_reserved volume volume_30d open_interest source_count min_sources reconnects canceled windows")
	number  = regexp.MustCompile(`^-?\$?[0-9.,]+¢?$`)
)

// titles are the headings of members whose names say less.
var titles = map[string]string{"ts": "time_ts", "why": "reason"}

// member is a member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf returns the members of a JSON object in their order.
func membersOf(object []byte) (out []member, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	for _, err = d.Token(); err == nil && d.More(); {
		var name json.Token
		if name, err = d.Token(); err == nil {
			m := member{name: fmt.Sprint(name)}
			err = d.Decode(&m.value)
			out = append(out, m)
		}
	}
	return out, err
}

// layout prints a response of the venue for people.
type layout struct {
	zone cli.Zone
	now  time.Time
}

// print prints the members of a response: a line each, and a table for a list of objects.
func (l layout) print(out io.Writer, response []byte) error {
	members, err := membersOf(response)
	if err != nil {
		return err
	}
	single, lists := cli.NewTable("", ""), []member{}
	cursor := ""
	for _, m := range members {
		switch {
		case m.name == "cursor":
			cursor = l.text(m)
		case m.value[0] == '[' && !bytes.HasPrefix(m.value, []byte(`["`)):
			lists = append(lists, m)
		default:
			single.Row(l.title(m.name), l.text(m))
		}
	}
	if len(lists) == 0 || single.Len() > 1 { // a list has as_of_seq besides
		if err := single.PrintRows(out); err != nil {
			return err
		}
	}
	for _, m := range lists {
		if single.Len() > 1 {
			fmt.Fprintf(out, "\n%s\n", strings.ReplaceAll(m.name, "_", " "))
		}
		if err := l.printList(out, m); err != nil {
			return err
		}
	}
	if cursor != "-" && cursor != "" {
		fmt.Fprintf(out, "There are more: --cursor %s\n", cursor)
	}
	return nil
}

// printList prints a list of objects as a table.
func (l layout) printList(out io.Writer, list member) error {
	var objects []json.RawMessage
	if err := json.Unmarshal(list.value, &objects); err != nil {
		return err
	}
	names, rows := strings.Fields(columns[list.name]), []map[string]string{}
	for _, o := range objects {
		members, err := membersOf(o)
		if err != nil {
			return err
		}
		row := map[string]string{}
		for _, m := range members {
			row[m.name] = l.text(m)
			switch m.name {
			case "ts", "requested_ts":
				row["age"] = l.age(m.value)
			case "user_id", "market_id": // whom an action is about
				row["on"] = strings.TrimPrefix(row["on"]+", "+map[string]string{"user_id": "account ", "market_id": "market "}[m.name]+row[m.name], ", ")
			}
			if columns[list.name] == "" && !slices.Contains(names, m.name) {
				names = append(names, m.name)
			}
		}
		rows = append(rows, row)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(rows, func(r map[string]string) bool { return r[name] != "" && r[name] != "-" })
	})
	heads := make([]string, len(names))
	for i, name := range names {
		heads[i] = strings.ToUpper(l.title(name))
		if !slices.ContainsFunc(rows, func(r map[string]string) bool { return r[name] != "" && r[name] != "-" && !number.MatchString(r[name]) }) {
			heads[i] = ">" + heads[i]
		}
	}
	t := cli.NewTable(heads...)
	for _, r := range rows {
		cells := make([]any, len(names))
		for i, name := range names {
			cells[i] = cmp.Or(r[name], "-")
		}
		t.Row(cells...)
	}
	return t.Print(out, "none")
}

// title is the heading of a member.
func (l layout) title(name string) string {
	name = cmp.Or(titles[name], name)
	if base, isTime := strings.CutSuffix(name, "_ts"); isTime {
		return l.zone.Column(strings.ReplaceAll(base, "_", " "))
	}
	return strings.ReplaceAll(strings.TrimSuffix(name, "_ms"), "_", " ")
}

// text is the value of a member. Control characters in a string are replaced.
func (l layout) text(m member) string {
	s := string(m.value)
	switch {
	case s == "null":
		return "-"
	case s == "true":
		return "yes"
	case s == "false":
		return "no"
	case m.value[0] == '[':
		var list []string
		if json.Unmarshal(m.value, &list) == nil {
			return strings.Join(list, ",")
		}
	}
	if m.value[0] == '{' {
		return l.objectText(m.value)
	}
	if m.value[0] == '[' {
		return s
	}
	if m.value[0] == '"' {
		if err := json.Unmarshal(m.value, &s); err != nil {
			return string(m.value)
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil:
	case slices.Contains(dollars, m.name):
		return cli.FormatDollars(n)
	case slices.Contains(cents, m.name):
		return cli.FormatCents(n)
	case slices.Contains(counts, m.name):
		return cli.Grouped(n)
	case m.name == "feed" && n >= 0 && n < int64(core.Feeds):
		return core.Feed(n).String()
	case slices.Contains(prices, m.name):
		if n == 0 { // the settle price of a frozen round that lacks prices
			return "-"
		}
		return cli.FormatPrice(schemas.U64(n))
	case m.name == "ts" || strings.HasSuffix(m.name, "_ts"):
		return l.zone.Format(schemas.U64(n), time.DateTime)
	case strings.HasSuffix(m.name, "_ms"):
		return (time.Duration(n) * time.Millisecond).Round(time.Second / 10).String()
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// objectText is an object in one cell: its members with their names.
func (l layout) objectText(object []byte) string {
	members, err := membersOf(object)
	if err != nil {
		return string(object)
	}
	parts := make([]string, len(members))
	for i, m := range members {
		parts[i] = l.title(m.name) + " " + l.text(m)
	}
	return strings.Join(parts, ", ")
}

// age is the time since a time of the venue.
func (l layout) age(ts json.RawMessage) string {
	n, err := strconv.ParseInt(strings.Trim(string(ts), `"`), 10, 64)
	if err != nil {
		return "-"
	}
	return max(0, l.now.Sub(time.Unix(0, n))).Round(time.Second).String()
}
