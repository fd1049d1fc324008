package portal

import (
	"encoding/xml"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/google/uuid"
)

// atomFeed is RFC 4287, as far as a changelog needs it.
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

// atom makes the changelog feed (spec 9): one entry for each heading of the second
// level, with the text below it as it stands.
func atom(changelog []byte) []byte {
	f := atomFeed{ID: urn("feed"), Title: "Duplex changelog", Updated: undated(), Author: "Duplex", Links: []atomLink{{"self", "/changelog.atom"}, {"alternate", "/"}}}
	f.Entries = entries(string(changelog))
	if len(f.Entries) > 0 {
		f.Updated = f.Entries[0].Updated
	}
	for _, e := range f.Entries {
		f.Updated = max(f.Updated, e.Updated)
	}
	return append([]byte(xml.Header), must(xml.MarshalIndent(f, "", " "))...)
}

var day = regexp.MustCompile(`\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`)

// entries splits the text at its headings. The date of an entry is the one in its
// heading; its id is made of the heading without it, so that dating a release does
// not announce it twice.
func entries(text string) (out []atomEntry) {
	parts := strings.Split("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n## ")
	for _, part := range parts[1:] {
		title, body, _ := strings.Cut(part, "\n")
		title = strings.TrimSpace(title)
		date := day.FindString(title)
		e := atomEntry{ID: urn(strings.Trim(strings.Replace(title, date, "", 1), " ()–—-")), Title: title, Updated: undated(), Content: atomText{"text", strings.TrimSpace(body)}}
		if date != "" {
			e.Updated = date + "T00:00:00Z"
		}
		out = append(out, e)
	}
	return out
}

// urn is a lasting id of a name within the changelog.
func urn(name string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("duplex changelog "+name)).URN()
}

// undated is the time of what has no date: that of the commit the binary was built
// from, so that it does not change from one start to the next.
func undated() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				return s.Value
			}
		}
	}
	return "1970-01-01T00:00:00Z"
}
