package schemas

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"duplex/core"
)

// Fault is what is wrong with a request, found before the core sees it. On the
// wire only its Code shows (spec 7); the rest feeds the hints of the agent lane.
type Fault struct {
	Code    string // of the fault table
	Field   string // where, as in orders[2].qty; "" for the whole
	Got     string // what was there, printable and cut short
	Limit   string // what would have been right
	Message string // for a person
}

func (f *Fault) Error() string { return f.Code + ": " + f.Message }

// violation is a schema_violation that a rule over several fields found.
func violation(field, limit string) *Fault {
	return &Fault{Code: "schema_violation", Field: field, Limit: limit, Message: field + ": " + limit}
}

func faultAt(code, field, got, limit string) *Fault {
	msg := limit
	if field != "" {
		msg = field + ": " + limit
	}
	return &Fault{Code: code, Field: field, Got: printable(got), Limit: limit, Message: msg}
}

// gotMax is how much of a wrong value is shown back.
const gotMax = 64

// printable cuts s short and takes out what could act on a terminal or a model.
func printable(s string) string {
	cut := len(s) > gotMax
	if cut {
		s = s[:gotMax]
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

// telling ranks the codes: the lowest that applies answers (contract core, "the
// most telling code wins"). What is not listed ranks just before schema_violation;
// invalid_decrease behind it, for two forms at once are no decrease at all.
func telling(code string) int {
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

// MostTelling picks the one of two faults that answers; nil is no fault. Of two
// alike the first stays.
func MostTelling(a, b *Fault) *Fault {
	if a == nil || (b != nil && telling(b.Code) < telling(a.Code)) {
		return b
	}
	return a
}

// carried is the core reject of a code that decoding finds but the core answers.
func carried(code string) core.Reject {
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
