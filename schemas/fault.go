package schemas

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"duplex/core"

	"github.com/go-json-experiment/json/jsontext"
)

// Fault is an error that decoding finds in a request. On the wire only its Code appears;
// the other fields feed the hints of the agent lane (docs/rules/agents.md#errors).
type Fault struct {
	Code    string // a code of ErrorTable
	Field   string // such as orders[2].qty; "" for the whole request
	Got     string // the value, as printable JSON text cut to maxShownBytes; "" if absent
	Limit   string // the legal values
	Instead string // for unknown_field: the field that was probably meant
	Doc     string // what that field means
}

func (f *Fault) Error() string { return f.Code + ": " + f.Message() }

// Message says for people what is wrong where.
func (f *Fault) Message() string {
	text := f.Limit
	if f.Field != "" && text != "" {
		text = f.Field + ": " + text
	}
	if f.Doc != "" {
		text += ". " + f.Doc
	}
	return text
}

// schemaViolation returns the fault of a rule that involves several fields.
func schemaViolation(field, limit string) *Fault {
	return newFault("schema_violation", field, "", limit)
}

// newFault returns a fault. got is JSON text from Shown or quoted, or "".
func newFault(code, field, got, limit string) *Fault {
	return &Fault{Code: code, Field: field, Got: got, Limit: limit}
}

// Shown returns a JSON value in the form in which a fault shows it: a number, true,
// false or null as it was sent, a string cut and made printable, and the text of any
// other value as a string.
func Shown(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return quoted(unquote(v))
	case '{', '[':
		return quoted(string(v))
	}
	if len(v) > maxShownBytes {
		return quoted(string(v))
	}
	return string(v)
}

// quoted returns text as a JSON string, cut and made printable.
func quoted(text string) string {
	b, err := jsontext.AppendQuote(nil, Printable(text))
	if err != nil {
		panic(err) // printable text is valid UTF-8
	}
	return string(b)
}

// maxShownBytes is the number of bytes of a wrong value that a fault shows.
const maxShownBytes = 64

// Printable cuts s and removes characters that could act on a terminal or a model.
func Printable(s string) string {
	cut := len(s) > maxShownBytes
	if cut {
		s = s[:maxShownBytes]
		for len(s) > 0 && !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	if cut {
		s += "…"
	}
	return s
}

// faultRank returns the rank of a code; of several faults the one with the lowest rank is
// returned (docs/rules/errors.md#which-code-answers). A code that is not listed ranks
// just before schema_violation. invalid_decrease ranks after it, because a request with
// both forms of a decrease is not a decrease.
func faultRank(code string) int {
	switch code {
	case "malformed_json":
		return 0
	case "unknown_field":
		return 1
	case "bad_qty":
		return 2
	case "bad_price_tick":
		return 3
	case "client_order_id_required":
		return 4
	case "invalid_timeout":
		return 5
	case "schema_violation":
		return 7
	case "invalid_decrease":
		return 8
	default:
		return 6
	}
}

// HigherRanked returns the fault that is returned to the caller of two that apply. nil
// means no fault. Of two faults with the same rank it returns a.
func HigherRanked(a, b *Fault) *Fault {
	if a == nil || (b != nil && faultRank(b.Code) < faultRank(a.Code)) {
		return b
	}
	return a
}

// FaultOfReject returns the fault of an order that the core rejects for one of its fields; nil for other reasons.
func (o *PlaceOrder) FaultOfReject(r core.Reject) *Fault {
	switch r {
	case core.BadQty:
		return newFault(r.String(), "qty", "", "an integer from 1 to 1000000")
	case core.ClientOrderIDRequired:
		return newFault(r.String(), "client_order_id", "", "a whole number as a string, not 0, new for every order")
	case core.CrossedQuote:
		return newFault(r.String(), "tick", "", "that of the bid is below that of the ask")
	case core.BadPriceTick:
		field := "tick"
		if o.IsMarket() && o.Tick == nil {
			field = "worst_tick"
		}
		return newFault(r.String(), field, "", "pips of the grid: 100 to 390 by 10, 400 to 9600 by 100, 9610 to 9990 by 10")
	}
	return nil
}

// coreRejectOf returns the reject of a fault that decoding finds and the core records.
func coreRejectOf(code string) core.Reject {
	switch code {
	case "bad_qty":
		return core.BadQty
	case "bad_price_tick":
		return core.BadPriceTick
	case "client_order_id_required":
		return core.ClientOrderIDRequired
	}
	return core.OK
}
