package mcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// TestPagesAreShort tests that a page ends before maxAnswerBytes whatever its limit, and that
// its cursors lead to every row exactly once, in the order of REST.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	d := generous(t)
	for i := range 100 {
		if status, body := d.Call(d.alice, "POST", "/v1/portfolio/orders", term(1000+i, 1, "yes", 1000, 1)); status != 201 {
			t.Fatalf("POST /v1/portfolio/orders: %d %s, want 201", status, body)
		}
	}
	for range 150 {
		d.AdvanceClock(time.Second)
		d.PostIndex(6_512_345_678_901)
	}
	for _, x := range []struct{ tool, arguments, target, id string }{
		{"list_orders", `"limit":1000`, "/v1/portfolio/orders?limit=1000", "client_order_id"},
		{"get_price_history", `"feed":0,"limit":1000`, "/v1/oracle/history?feed=0&limit=1000", "ts"},
	} {
		idsOf := func(text string) (ids []any) {
			for _, r := range at(t, text, pageRows[x.tool]).([]any) {
				ids = append(ids, r.(map[string]any)[x.id])
			}
			return ids
		}
		_, rest := d.Call(d.alice, "GET", x.target, "")
		want := idsOf(rest)
		var got []any
		pages, cursor := 0, ""
		for ; pages == 0 || cursor != "" && pages < 100; pages++ {
			text := string(d.callTool(d.alice, x.tool, fmt.Sprintf(`{%s,"cursor":%q}`, x.arguments, cursor)).StructuredContent)
			if len(text) >= maxAnswerBytes {
				t.Errorf("%s: a page of %d bytes, want less than %d", x.tool, len(text), maxAnswerBytes)
			}
			got = append(got, idsOf(text)...)
			cursor = at(t, text, "cursor").(string)
		}
		if len(rest) < 2*maxAnswerBytes || pages < 2 || !slices.Equal(got, want) {
			t.Errorf("%s: %d rows on %d pages, want the %d of %d bytes of REST: %v", x.tool, len(got), pages, len(want), len(rest), got)
		}
	}
}

// TestRowsThatFit tests that a page keeps at least one row and loses at least one.
func TestRowsThatFit(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		row, rows, want int
	}{{9000, 2, 1}, {3000, 3, 2}, {2600, 3, 2}, {100, 200, 77}} {
		rows := slices.Repeat([]jsontext.Value{jsontext.Value(strings.Repeat("1", x.row))}, x.rows)
		if got := rowsThatFit(100+x.rows*(x.row+1), rows); got != x.want {
			t.Errorf("%d rows of %d bytes: %d fit, want %d", x.rows, x.row, got, x.want)
		}
	}
}
