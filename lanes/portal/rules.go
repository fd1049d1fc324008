package portal

import (
	"html/template"
	"sync"

	"duplex/docs"
	"duplex/lanes/gate"
)

// rulesPage is the data of a page of the rulebook.
type rulesPage struct {
	docs.Page
	Body   template.HTML
	Others []docs.Page // every page, in reading order
	Next   *docs.Page  // nil on the last page
}

// rulebook serves each page of the rulebook as HTML, such as /rules/orders, and as
// Markdown, such as /rules/orders.md.
func (l *lane) rulebook(m *gate.Routes) {
	for i, name := range docs.Pages {
		l.serve(m, docs.Served(name), html, func() []byte {
			pages := rendered()
			data := rulesPage{Page: pages[i], Body: template.HTML(pages[i].HTML), Others: pages}
			if i+1 < len(pages) {
				data.Next = &pages[i+1]
			}
			return renderPage(rulesTemplate, data)
		})
		l.serve(m, "/"+name, "text/markdown; charset=utf-8", func() []byte { return rendered()[i].Markdown })
	}
}

// rendered returns the pages of the rulebook in reading order. The value is shared and
// read-only.
var rendered = sync.OnceValue(func() []docs.Page {
	pages := make([]docs.Page, len(docs.Pages))
	for i, name := range docs.Pages {
		p, err := docs.Render(name)
		if err != nil {
			panic(err) // the rulebook is part of the binary
		}
		pages[i] = p
	}
	return pages
})
