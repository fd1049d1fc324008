// Package docs embeds the rulebook, which lanes/portal serves, and renders its pages as HTML.
// The tests of this package compare every page of the documentation with the program: links,
// anchors, worked examples and figures.
package docs

import (
	"embed"
	"strings"
	"unicode"
)

// Files contains rules/*.md and glossary.md, under these paths.
//
//go:embed rules/*.md glossary.md
var Files embed.FS

// Pages lists the paths in Files in reading order: the table of contents first, the glossary
// last.
var Pages = []string{
	"rules/README.md", "rules/prices.md", "rules/orders.md", "rules/money.md", "rules/rounds.md", "rules/forecasts.md", "rules/accounts.md", "rules/limits.md", "rules/errors.md",
	"rules/rest.md", "rules/events.md", "rules/agents.md", "rules/oauth.md", "rules/agent-accounts.md", "rules/history.md", "rules/funding.md", "rules/prices-sources.md", "rules/operation.md", "glossary.md",
}

// Slug returns the anchor that GitHub generates for a heading: it converts letters to lower case
// and spaces to hyphens, and drops everything but letters, digits, hyphens and underscores.
func Slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, strings.TrimSpace(heading))
}
