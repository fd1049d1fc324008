package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"duplex/client"
	"duplex/schemas"
)

// IsTerminal reports whether w, or a reader, is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// PrintJSON prints JSON on lines of its own: indented on a terminal, unchanged elsewhere.
func PrintJSON(out io.Writer, text []byte) error {
	if IsTerminal(out) {
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", "  "); err == nil {
			text = b.Bytes()
		}
	}
	_, err := fmt.Fprintf(out, "%s\n", text)
	return err
}

// PrintResult prints v as JSON. If err is not nil, it prints nothing and returns err,
// explained.
func PrintResult(out io.Writer, v any, err error) error {
	if err != nil {
		return Explain(err)
	}
	b, err := schemas.Append(nil, v)
	if err != nil {
		return err
	}
	return PrintJSON(out, b)
}

// Explain adds to an error of the venue what it means and what to do next. Other errors
// are returned unchanged.
func Explain(err error) error {
	if e, ok := errors.AsType[*client.Error](err); ok {
		if e.Details != nil && (*e.Details)["rule"] != "" {
			return fmt.Errorf("%w: %s", err, explainMandate(*e.Details))
		}
		if e.Code == "unauthorized" {
			return UnauthorizedError{fmt.Errorf("%w: %s", err, unauthorizedText)}
		}
		m := schemas.ErrorInfoOf(e.Code)
		return fmt.Errorf("%w: %s %s", err, m.Means, m.Next)
	}
	return err
}

// unauthorizedText is for those for whom dx signs.
const unauthorizedText = "The venue does not have the key, or the secret belongs to another one. Set DX_KEY and DX_SECRET together, use the dev file of the running venue, or make another key of the agent."

// UnauthorizedError is the error of a command whose key the venue does not have. dx adds NewKeyCommand to its text.
type UnauthorizedError struct{ Err error }

func (e UnauthorizedError) Error() string { return e.Err.Error() }
func (e UnauthorizedError) Unwrap() error { return e.Err }

// explainMandate says which bound of the mandate rejected an order, and what passes
// (docs/rules/agent-accounts.md#rejections). Amounts are in dollars, and prices in cents.
func explainMandate(d schemas.Details) string {
	number := func(name string) int64 {
		n, err := strconv.ParseUint(d[name], 10, 64)
		if err != nil {
			return 0
		}
		return schemas.U64(n).Int64()
	}
	switch rule := d["rule"]; rule {
	case "halted":
		return "The agent is halted. Its owner can resume it."
	case "expires_ts":
		return "The agent's mandate has expired. Its owner can set another one."
	case "categories":
		return "The agent's mandate does not allow this series."
	case "reduce_only":
		return "The agent's mandate allows only orders with --reduce-only, and sales."
	case "price_collar":
		return fmt.Sprintf("The price of %s is outside the price collar of the agent's mandate; the last price that passes is %s.", FormatCents(number("asked")), FormatCents(number("limit")))
	case "max_order_cost", "max_market_cost", "max_open_cost", "max_daily_loss":
		return fmt.Sprintf("The order can cost %s, and %s of the agent's mandate leaves %s of %s.", FormatDollars(number("asked")), rule, FormatDollars(number("headroom")), FormatDollars(number("limit")))
	case "ask_above":
		return fmt.Sprintf("With the order %s would be at stake in the round, and only %s may be without the owner's approval (ask_above of the agent's mandate). A placement of as much waits for the owner; a replace and a quote cannot wait.", FormatDollars(number("used")+number("asked")), FormatDollars(number("limit")))
	default:
		return fmt.Sprintf("The order asks for %s, and %s of the agent's mandate leaves %s of %s.", Grouped(number("asked")), rule, Grouped(number("headroom")), Grouped(number("limit")))
	}
}
