package docs

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Page is a page of the rulebook, rendered as HTML.
type Page struct {
	Path     string // path of the HTML on the portal, such as /rules/orders
	Source   string // path of the Markdown on the portal, such as /rules/orders.md
	Title    string
	HTML     []byte // the content of the page with its h1, without the portal's frame
	Headings []Heading
	Markdown []byte
}

// Heading is an entry of a page's table of contents: a heading of level 2 or 3.
type Heading struct {
	Level    int
	ID, Text string
}

// Render renders the page at a path in Files. It fails if the file does not exist, has no h1, or
// links to a page that is not in Files.
func Render(name string) (Page, error) {
	source, err := Files.ReadFile(name)
	if err != nil {
		return Page{}, err
	}
	root := Parse(source)
	p := Page{Path: Served(name), Source: "/" + name, Markdown: source}
	err = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			p.heading(n, source)
		case *ast.Paragraph:
			if strings.HasPrefix(plain(n, source), "Shown by:") {
				n.SetAttributeString("class", []byte("shown"))
			}
		case *ast.Link:
			to, err := served(name, string(n.Destination))
			if err != nil {
				return ast.WalkStop, fmt.Errorf("%s: %w", name, err)
			}
			n.Destination = []byte(to)
		}
		return ast.WalkContinue, nil
	})
	if err == nil && p.Title == "" {
		err = fmt.Errorf("%s has no heading of level 1", name)
	}
	if err != nil {
		return Page{}, err
	}
	var out bytes.Buffer
	err = markdown.Renderer().Render(&out, source, root)
	p.HTML = out.Bytes()
	return p, err
}

func (p *Page) heading(n *ast.Heading, source []byte) {
	id, _ := n.AttributeString("id")
	switch h := (Heading{n.Level, string(id.([]byte)), plain(n, source)}); {
	case n.Level == 1:
		p.Title = h.Text
	case n.Level <= 3:
		p.Headings = append(p.Headings, h)
	}
}

// Served returns the path under which the portal serves a file of Files as HTML.
func Served(name string) string {
	return "/" + strings.TrimSuffix(strings.TrimSuffix(name, ".md"), "/README")
}

// served converts the target of a link in a page to a path on the portal. It returns links
// within the page and absolute links unchanged.
func served(page, to string) (string, error) {
	file, anchor, anchored := strings.Cut(to, "#")
	if file == "" || strings.HasPrefix(file, "/") || strings.Contains(file, "://") {
		return to, nil
	}
	file = path.Join(path.Dir(page), file)
	if _, err := Files.Open(file); err != nil {
		return "", fmt.Errorf("link to %s: %w", to, err)
	}
	if to = Served(file); anchored {
		to += "#" + anchor
	}
	return to, nil
}

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))), // the portal's Content-Security-Policy forbids inline styles
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(permalinks{}, 100))), // unsafe HTML is safe here: the pages are part of the binary
)

// Parse parses Markdown. The id of a heading is its Slug; repeated headings get the suffixes -1,
// -2 and so on, as on GitHub.
func Parse(source []byte) ast.Node {
	ids := parser.NewContext(parser.WithIDs(slugs{}))
	return markdown.Parser().Parse(text.NewReader(source), parser.WithContext(ids))
}

// slugs counts the headings with each slug.
type slugs map[string]int

// Generate implements parser.IDs.
func (s slugs) Generate(value []byte, _ ast.NodeKind) []byte {
	slug := Slug(string(value))
	n := s[slug]
	if s[slug]++; n > 0 {
		slug += "-" + strconv.Itoa(n)
	}
	return []byte(slug)
}

// Put implements parser.IDs.
func (s slugs) Put(value []byte) { s[string(value)]++ }

// permalinks renders each heading below the h1 with a link to itself.
type permalinks struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (permalinks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		h := n.(*ast.Heading)
		id, _ := h.AttributeString("id")
		var err error
		switch {
		case entering:
			_, err = fmt.Fprintf(w, "<h%d id=\"%s\">", h.Level, id)
		case h.Level == 1:
			_, err = w.WriteString("</h1>\n")
		default:
			_, err = fmt.Fprintf(w, " <a class=\"permalink\" href=\"#%s\" title=\"Link to this rule\">#</a></h%d>\n", id, h.Level)
		}
		return ast.WalkContinue, err
	})
}

// plain returns the text of a node without markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
