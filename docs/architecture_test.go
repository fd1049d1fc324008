package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// hopLine matches a line of a diagram: the number of the hop, its file, its declaration and a
// description.
var hopLine = regexp.MustCompile(`^[ │├└─]+ +(\d+)  (\S+\.go) +(\S+) {2,}\S`)

// TestDiagrams checks the diagrams of the architecture page: the hops are numbered without
// gaps, the text above has their count, and each hop names a declaration of its file.
func TestDiagrams(t *testing.T) {
	diagrams := 0
	for section := range strings.SplitSeq(read(t, "architecture.md"), "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		if !strings.HasPrefix(title, "The way of ") {
			continue
		}
		diagrams++
		hops := 0
		for line := range strings.Lines(text) {
			m := hopLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				if strings.HasPrefix(line, " ├─") || strings.HasPrefix(line, " └─") {
					t.Errorf("%s: not a hop: %s", title, line)
				}
				continue
			}
			hops++
			if m[1] != strconv.Itoa(hops) {
				t.Errorf("%s: hop %s must have the number %d", title, m[1], hops)
			}
			if !declares(t, m[2], m[3]) {
				t.Errorf("%s: %s does not declare %s", title, m[2], m[3])
			}
		}
		if !strings.Contains(text, " "+strconv.Itoa(hops)+" hops:") {
			t.Errorf("%s: the text does not say that there are %d hops", title, hops)
		}
	}
	if diagrams != 4 {
		t.Errorf("%d diagrams, want those of an order, a tool call, an event and a restart", diagrams)
	}
}

// step matches a file and its declaration in a step of a numbered list.
var step = regexp.MustCompile("`(\\S+\\.go)` `(\\w+(?:\\.\\w+)?)`")

// TestSteps checks that the steps of the shorter ways begin with a declaration of a file, and that each
// file has the declaration that is named after it.
func TestSteps(t *testing.T) {
	steps := 0
	for line := range strings.Lines(read(t, "architecture.md")) {
		n, text, _ := strings.Cut(line, ". ")
		if _, err := strconv.Atoi(n); err != nil || !strings.HasPrefix(text, "`") {
			continue
		}
		steps++
		if at := step.FindStringIndex(text); at == nil || at[0] != 0 {
			t.Errorf("not a step: %s", line)
		}
		for _, m := range step.FindAllStringSubmatch(text, -1) {
			if !declares(t, m[1], m[2]) {
				t.Errorf("step %s: %s does not declare %s", n, m[1], m[2])
			}
		}
	}
	if steps < 15 {
		t.Errorf("only %d steps were found", steps)
	}
}

// declares reports whether a file declares a function, a variable, or a method written as
// Type.Method.
func declares(t *testing.T, file, name string) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../"+file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return false
	}
	typ, method, isMethod := strings.Cut(name, ".")
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !isMethod && d.Recv == nil && d.Name.Name == name {
				return true
			}
			if isMethod && d.Recv != nil && d.Name.Name == method && receiver(d) == typ {
				return true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && !isMethod && v.Names[0].Name == name {
					return true
				}
			}
		}
	}
	return false
}

// receiver returns the name of a method's receiver type.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if i, ok := t.(*ast.IndexExpr); ok {
		t = i.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
