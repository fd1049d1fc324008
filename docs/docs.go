// Package docs embeds the rulebook, which lanes/portal serves, and gives the anchors
// of its headings. The tests of this package hold every page of the project's
// documentation against the program: links, anchors, worked examples and figures.
package docs

import (
	"embed"
	"strings"
	"unicode"
)

// Files holds rules/*.md and glossary.md, under these paths.
//
//go:embed rules/*.md glossary.md
var Files embed.FS

// Pages lists the paths in Files in reading order, the contents first and the glossary
// last.
var Pages = []string{
	"rules/README.md", "rules/prices.md", "rules/orders.md", "rules/money.md", "rules/rounds.md", "rules/accounts.md", "rules/limits.md", "rules/errors.md",
	"rules/rest.md", "rules/events.md", "rules/agents.md", "rules/prices-sources.md", "rules/operation.md", "glossary.md",
}

// Slug is the anchor that GitHub gives a heading: lower case, spaces become hyphens,
// and of everything else letters, digits, hyphens and underscores stay.
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
