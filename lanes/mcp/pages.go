package mcp

import (
	"context"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/schemas"
	"duplex/tools"
)

const (
	// defaultPageSize is the default page size of this lane; REST's is larger
	// (docs/rules/limits.md#page-size).
	defaultPageSize = 20
	// maxAnswerBytes bounds the text of a page, whatever limit the call has, and of a batch.
	maxAnswerBytes = 8000
	// cursorRoom is what a cursor takes that the page had not before it was cut, in bytes.
	cursorRoom = 64
)

// pager is the input of a list.
type pager interface {
	SetDefault(size int)
	SetSize(size int)
}

// rowsOf returns the member of a page that holds its rows, the only array of its type.
func rowsOf(page reflect.Type) string {
	for _, m := range schemas.Members(page) {
		if m.Type.Kind() == reflect.Slice {
			return m.Name
		}
	}
	panic("mcp: a page without rows: " + page.String())
}

// shortOutput encodes the output of an operation. A page over maxAnswerBytes is read again
// with a limit that fits, so that its cursor is that of the last row shown. The rows were
// paid for with the first read.
func (l *Lane) shortOutput(ctx context.Context, c *call, t *tool, op tools.Operation, in, out any) (jsontext.Value, error) {
	for {
		b, err := l.encodeOutput(c, t, in, out)
		if err != nil { // outputs always encode: their text was checked to be UTF-8
			panic(err)
		}
		if !t.paged || len(b) < maxAnswerBytes {
			return b, nil
		}
		rows := arrayItems(parseRow(b).value(t.rows))
		if len(rows) < 2 {
			return b, nil
		}
		in.(pager).SetSize(rowsThatFit(len(b), rows))
		caller := l.gate.Caller(c.Call)
		caller.Charge = nil
		if out, err = op.Call(ctx, l.gate.Venue, caller, in); err != nil {
			return nil, err
		}
	}
}

// rowsThatFit returns how many of the rows of a page of size bytes to show: at least one,
// and fewer than all.
func rowsThatFit(size int, rows []jsontext.Value) int {
	n := len(rows)
	for n > 1 && (n == len(rows) || size+cursorRoom >= maxAnswerBytes) {
		n--
		size -= len(rows[n]) + len(",")
	}
	return n
}
