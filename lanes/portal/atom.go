package portal

import (
	"encoding/xml"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/google/uuid"
)

// atomFeed is the part of RFC 4287 that a changelog needs.
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Content atomText `xml:"content"`
}

type atomText struct {
	Type string `xml:"type,attr"`
	Body string `xml:",chardata"`
}

// atom returns the changelog as a feed (docs/rules/rest.md#changes): one entry for each
// second-level heading, with the text below it unchanged.
func atom(changelog []byte) []byte {
	f := atomFeed{ID: urn("feed"), Title: "Duplex changelog", Updated: buildTime(), Author: "Duplex", Links: []atomLink{{"self", "/changelog.atom"}, {"alternate", "/"}}}
	f.Entries = entries(string(changelog))
	if len(f.Entries) > 0 {
		f.Updated = f.Entries[0].Updated
	}
	for _, e := range f.Entries {
		f.Updated = max(f.Updated, e.Updated)
	}
	return append([]byte(xml.Header), must(xml.MarshalIndent(f, "", " "))...)
}

var datePattern = regexp.MustCompile(`\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`)

// entries splits the text at its second-level headings. An entry is dated by its heading.
// Its id is derived from the heading without the date, so that adding a date to a release
// does not announce it again.
func entries(text string) (out []atomEntry) {
	parts := strings.Split("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n## ")
	for _, part := range parts[1:] {
		title, body, _ := strings.Cut(part, "\n")
		title = strings.TrimSpace(title)
		date := datePattern.FindString(title)
		e := atomEntry{ID: urn(strings.Trim(strings.Replace(title, date, "", 1), " ()–—-")), Title: title, Updated: buildTime(), Content: atomText{"text", strings.TrimSpace(body)}}
		if date != "" {
			e.Updated = date + "T00:00:00Z"
		}
		out = append(out, e)
	}
	return out
}

// urn returns the stable id of a name within the changelog.
func urn(name string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("duplex changelog "+name)).URN()
}

// buildTime returns the time of the commit the binary was built from. It dates undated
// entries, so that their dates do not change at every start.
func buildTime() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				return s.Value
			}
		}
	}
	return "1970-01-01T00:00:00Z"
}
