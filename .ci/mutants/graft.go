package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// asked is a file added to each package. It reads the number of the mutant to run, 0 for the
// original.
const asked = `package %s

import (
	"os"
	"strconv"
)

var askedMutant, _ = strconv.Atoi(os.Getenv("DX_MUTANT"))
`

// span is the lines of a clone in a grafted file.
type span struct {
	first, last int
	mutant      *Mutant
}

// edit replaces a range of bytes of a file.
type edit struct {
	start, end int
	to         string
}

func apply(src []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(src[at:e.start])
		out.WriteString(e.to)
		at = e.end
	}
	out.Write(src[at:])
	return out.Bytes()
}

// graft returns the file with a clone of its function for each mutant to keep, and the lines of the
// clones. If constant is not nil, its change is made in place.
func graft(f *File, keep func(*Mutant) bool, constant *Mutant) ([]byte, []span) {
	var edits []edit
	var clones bytes.Buffer
	var spans []span
	line := 1 + bytes.Count(f.Src, []byte("\n"))
	for _, fn := range f.Functions {
		var cases strings.Builder
		for _, m := range fn.Mutants {
			if !keep(m) {
				continue
			}
			cases.WriteString(f.goTo(fn.Decl, m))
			text := "\n" + f.clone(fn.Decl, m)
			n := strings.Count(text, "\n")
			spans = append(spans, span{line + 1, line + n, m})
			clones.WriteString(text)
			line += n
		}
		if cases.Len() > 0 {
			edits = append(edits, f.named(fn.Decl)...)
			at := f.offset(fn.Decl.Body.Lbrace) + 1
			edits = append(edits, edit{at, at, " if askedMutant != 0 { switch askedMutant { " + cases.String() + "} }; "})
		}
	}
	if constant != nil && constant.File == f.Path {
		edits = append(edits, edit{constant.Start, constant.End, constant.To})
	}
	return append(apply(f.Src, edits), clones.Bytes()...), spans
}

// named returns edits that name a function's unnamed receiver and parameters, so that the switch
// can pass them on.
func (f *File) named(d *ast.FuncDecl) (edits []edit) {
	if d.Recv != nil && len(d.Recv.List[0].Names) == 0 {
		at := f.offset(d.Recv.List[0].Type.Pos())
		edits = append(edits, edit{at, at, "self "})
	}
	for i, p := range d.Type.Params.List {
		if len(p.Names) == 0 {
			at := f.offset(p.Type.Pos())
			edits = append(edits, edit{at, at, taken(i, 0) + " "})
		}
		for j, n := range p.Names {
			if n.Name == "_" {
				edits = append(edits, edit{f.offset(n.Pos()), f.offset(n.End()), taken(i, j)})
			}
		}
	}
	return edits
}

// taken returns the name for an unnamed parameter.
func taken(field, name int) string { return fmt.Sprintf("taken%d_%d", field, name) }

// goTo returns the case of the switch that calls a clone.
func (f *File) goTo(d *ast.FuncDecl, m *Mutant) string {
	var args []string
	for i, p := range d.Type.Params.List {
		if len(p.Names) == 0 {
			args = append(args, taken(i, 0))
		}
		for j, n := range p.Names {
			if n.Name == "_" {
				args = append(args, taken(i, j))
			} else {
				args = append(args, n.Name)
			}
		}
		if _, ok := p.Type.(*ast.Ellipsis); ok {
			args[len(args)-1] += "..."
		}
	}
	call := fmt.Sprintf("%s__%d%s(%s)", d.Name.Name, m.ID, typeArguments(d), strings.Join(args, ", "))
	if d.Recv != nil {
		self := "self"
		if n := d.Recv.List[0].Names; len(n) > 0 {
			self = n[0].Name
		}
		call = self + "." + call
	}
	if d.Type.Results != nil {
		return fmt.Sprintf("case %d: return %s; ", m.ID, call)
	}
	return fmt.Sprintf("case %d: %s; return; ", m.ID, call)
}

// typeArguments returns the type parameters of a function as arguments, because not all can be inferred.
func typeArguments(d *ast.FuncDecl) string {
	if d.Type.TypeParams == nil {
		return ""
	}
	var names []string
	for _, p := range d.Type.TypeParams.List {
		for _, n := range p.Names {
			names = append(names, n.Name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// clone returns the changed function under another name.
func (f *File) clone(d *ast.FuncDecl, m *Mutant) string {
	from, to := f.offset(d.Pos()), f.offset(d.End())
	name := f.offset(d.Name.End())
	edits := append(f.named(d), edit{name, name, fmt.Sprintf("__%d", m.ID)}, edit{m.Start, m.End, m.To})
	for i := range edits {
		edits[i].start -= from
		edits[i].end -= from
	}
	return string(apply(f.Src[from:to], edits)) + "\n"
}
