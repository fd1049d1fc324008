package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

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
	var e *client.Error
	if errors.As(err, &e) {
		m := schemas.ErrorInfoOf(e.Code)
		return fmt.Errorf("%w: %s %s", err, m.Means, m.Next)
	}
	return err
}
