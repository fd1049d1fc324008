package schemas

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainTextLimit says which characters PlainText refuses.
const plainTextLimit = "valid UTF-8 without control characters, line or paragraph separators and marks of text direction"

// PlainText reports whether text may be stored and shown (docs/rules/rest.md#text). It has no
// control characters and no U+2028 or U+2029, which could forge a line of a log or a list, and no
// marks of text direction (the Unicode property Bidi_Control, such as U+202E), which show a text in
// another order than the one in which programs read it. Every string of a request is checked.
func PlainText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, notPlain)
}

func notPlain(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// ForTerminal returns text that a terminal shows and does not obey: every character that PlainText refuses is
// U+FFFD, except line ends and tabs.
func ForTerminal(text string) string {
	return strings.Map(func(r rune) rune {
		if notPlain(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, text)
}
