package docs_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"

	"duplex/docs"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// files returns the files below a folder whose names have an ending. It skips .git and
// node_modules.
func files(t *testing.T, dir, ending string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ending):
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// markdownPages returns the paths of all pages of documentation, relative to this folder.
func markdownPages(t *testing.T) []string { return append(files(t, ".", ".md"), "../README.md") }

var idAttribute = regexp.MustCompile(`id="([^"]+)"`)

// page is a parsed page.
type page struct {
	text    string
	root    ast.Node
	anchors map[string]int // number of occurrences of each
	links   []string
}

func open(t *testing.T, name string) *page {
	t.Helper()
	p := &page{text: read(t, name), anchors: map[string]int{}}
	source := []byte(p.text)
	p.root = docs.Parse(source)
	ids := func(html []byte) {
		for _, m := range idAttribute.FindAllSubmatch(html, -1) {
			p.anchors[string(m[1])]++
		}
	}
	err := ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			p.anchors[string(id.([]byte))]++
		case *ast.RawHTML:
			ids(n.Segments.Value(source))
		case *ast.HTMLBlock:
			ids(n.Lines().Value(source))
		case *ast.Link:
			p.links = append(p.links, string(n.Destination))
		case *ast.Image:
			p.links = append(p.links, string(n.Destination))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// onPortal lists the portal's paths that pages may link to.
var onPortal = []string{"/docs", "/docs?api=events", "/errors", "/errors.json", "/deprecation", "/changelog.atom"}

// TestLinks checks that every link between pages leads to an existing file and anchor.
func TestLinks(t *testing.T) {
	pages := map[string]*page{}
	at := func(name string) *page {
		if pages[name] == nil {
			pages[name] = open(t, name)
		}
		return pages[name]
	}
	seen := 0
	for _, name := range markdownPages(t) {
		for _, link := range at(name).links {
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue // another site
			}
			seen++
			file, anchor, anchored := strings.Cut(link, "#")
			switch {
			case strings.HasPrefix(link, "/"):
				if !slices.Contains(onPortal, link) {
					t.Errorf("%s: %s is not a path of the portal that pages link to", name, link)
				}
				continue
			case file == "":
				file = name
			default:
				file = filepath.Join(filepath.Dir(name), file)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: link to %s: %v", name, link, err)
			} else if anchored && at(file).anchors[anchor] == 0 {
				t.Errorf("%s: link to %s: no such anchor", name, link)
			}
		}
	}
	if seen < 500 {
		t.Errorf("only %d links were found", seen)
	}
}

// TestAnchorsAreUnique checks that each anchor occurs once in its page. A link to an anchor that
// occurs twice always leads to the first.
func TestAnchorsAreUnique(t *testing.T) {
	for _, name := range docs.Pages {
		for id, n := range open(t, name).anchors {
			if n > 1 {
				t.Errorf("%s: %s occurs %d times", name, id, n)
			}
		}
	}
}

var (
	citation = regexp.MustCompile(`docs/((?:rules/)?[a-z-]+\.md)(?:#([\w-]+))?`)
	comment  = []byte("docs/")
)

// TestCitations checks that every page and anchor that a Go comment cites exists.
func TestCitations(t *testing.T) {
	pages := map[string]*page{}
	for _, name := range docs.Pages {
		pages[name] = open(t, name)
	}
	seen := 0
	for _, file := range files(t, "..", ".go") {
		source := []byte(read(t, file))
		if !bytes.Contains(source, comment) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range parsed.Comments {
			for _, c := range group.List {
				for _, m := range citation.FindAllStringSubmatch(c.Text, -1) {
					seen++
					switch p := pages[m[1]]; {
					case p == nil && strings.HasPrefix(m[1], "rules/"):
						t.Errorf("%s cites docs/%s, which does not exist", file, m[1])
					case p == nil:
						if _, err := os.Stat(m[1]); err != nil {
							t.Errorf("%s cites docs/%s: %v", file, m[1], err)
						}
					case m[2] != "" && p.anchors[m[2]] == 0:
						t.Errorf("%s cites docs/%s#%s: no such anchor", file, m[1], m[2])
					}
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no comment cites a page: is the pattern still right?")
	}
}

var (
	shown = regexp.MustCompile(`^Shown by: (.+)$`)
	proof = regexp.MustCompile(`^((?:Test|Fuzz)\w+)(?:/([\w-]+))? \(([\w./-]+_test\.go)\)$`)
)

// TestShownBy checks that every rule names the tests that show it, and that these exist.
func TestShownBy(t *testing.T) {
	seen := 0
	for _, name := range docs.Pages[1 : len(docs.Pages)-1] { // without the table of contents and the glossary
		for _, section := range sections(t, name) {
			switch {
			case section.shown == "" && section.leaf:
				t.Errorf("%s: %q names no test that shows it", name, section.title)
			case section.shown != "":
				seen++
				for _, one := range strings.Split(section.shown, ", ") {
					checkProof(t, name+": "+section.title, one)
				}
			}
		}
	}
	if seen < 150 {
		t.Errorf("only %d rules were found", seen)
	}
}

// TestThreats checks that each defence of security.md names the tests that show it.
func TestThreats(t *testing.T) {
	for _, section := range sections(t, "security.md") {
		switch {
		case section.title == "Security" || section.title == "Trust" || section.title == "Not defended":
		case section.shown == "":
			t.Errorf("%q names no test that shows it", section.title)
		default:
			for _, one := range strings.Split(section.shown, ", ") {
				checkProof(t, section.title, one)
			}
		}
	}
}

// checkProof checks that the test and the case in "TestName/case (path)" exist.
func checkProof(t *testing.T, rule, one string) {
	t.Helper()
	m := proof.FindStringSubmatch(one)
	if m == nil {
		t.Errorf("%s: %q is not TestName (path)", rule, one)
		return
	}
	b, err := os.ReadFile(filepath.Join("..", m[3]))
	if err != nil {
		t.Errorf("the test of rule %s cannot be read: %v", rule, err)
		return
	}
	if !bytes.Contains(b, []byte("\nfunc "+m[1]+"(")) {
		t.Errorf("%s: %s has no %s", rule, m[3], m[1])
	}
	if m[2] == "" || bytes.Contains(b, []byte(`"`+m[2]+`"`)) {
		return
	}
	if _, err := os.Stat(filepath.Join("..", filepath.Dir(m[3]), "testdata", m[2]+".txt")); err != nil {
		t.Errorf("%s: %s has no case %s", rule, m[1], m[2])
	}
}

// section is a heading of level 2 or more with its text up to the next heading. A leaf has no
// subsections.
type section struct {
	title, shown string
	leaf         bool
}

func sections(t *testing.T, name string) (out []section) {
	p := open(t, name)
	source := []byte(p.text)
	level := 0
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			if len(out) > 0 && n.Level > level {
				out[len(out)-1].leaf = false
			}
			if level = n.Level; level > 1 {
				out = append(out, section{title: string(n.Lines().Value(source)), leaf: true})
			}
		case *ast.Paragraph:
			if m := shown.FindStringSubmatch(string(n.Lines().Value(source))); m != nil && len(out) > 0 {
				out[len(out)-1].shown = m[1]
			}
		}
	}
	return out
}

// TestPages checks that docs.Pages lists every page of the rulebook and that all of them can be
// rendered.
func TestPages(t *testing.T) {
	for _, file := range files(t, "rules", ".md") {
		if !slices.Contains(docs.Pages, filepath.ToSlash(file)) {
			t.Errorf("%s is not among docs.Pages", file)
		}
	}
	for _, name := range docs.Pages {
		if p, err := docs.Render(name); err != nil || p.Title == "" || len(p.HTML) == 0 {
			t.Errorf("%s: %v, want a title and HTML", name, err)
		}
	}
	if _, err := docs.Render("rules/nothing.md"); err == nil {
		t.Error("a page that does not exist is rendered")
	}
}

func TestSlug(t *testing.T) {
	for heading, want := range map[string]string{
		"Self-trade prevention": "self-trade-prevention", "bad_price_tick": "bad_price_tick", "Operator's price": "operators-price",
		"`GET /v1/time`": "get-v1time", "Über 2 %": "über-2-", " wscodes ": "wscodes",
	} {
		if got := docs.Slug(heading); got != want {
			t.Errorf("%q: %q, want %q", heading, got, want)
		}
	}
}
