package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Mutant is one small change to a file: To replaces the bytes from Start to End.
type Mutant struct {
	ID         int // from 1
	File       string
	Line       int
	Func       string // "Venue.place"; "" at package level
	Op         string
	Was, Is    string // the change as shown to a reader
	Nth        int    // number among mutants with the same text, from 1
	Start, End int
	To         string
}

// Key identifies a mutant as long as the text that it changes is the same.
func (m *Mutant) Key() string {
	k := fmt.Sprintf("%s %s %s: %s → %s", m.File, m.Func, m.Op, m.Was, m.Is)
	if m.Nth > 1 {
		k += fmt.Sprintf(" #%d", m.Nth)
	}
	return k
}

// Function is a function with its mutants.
type Function struct {
	Decl    *ast.FuncDecl
	Name    string
	Mutants []*Mutant
}

// File is a source file with the mutants of its functions and constants.
type File struct {
	Path      string // from the root
	Src       []byte
	Fset      *token.FileSet
	Functions []*Function
	Constants []*Mutant
}

func (f *File) offset(p token.Pos) int { return f.Fset.Position(p).Offset }

// find returns the mutants of the packages in source order.
func find(root string, pkgs []string) (files []*File, all []*Mutant, err error) {
	for _, pkg := range pkgs {
		paths, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil {
			return nil, nil, err
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return nil, nil, err
			}
			f, err := findIn(pkg+"/"+filepath.Base(path), src)
			if err != nil {
				return nil, nil, err
			}
			files = append(files, f)
			for _, fn := range f.Functions {
				all = append(all, fn.Mutants...)
			}
			all = append(all, f.Constants...)
		}
	}
	seen := map[string]int{}
	for i, m := range all {
		m.ID, m.Nth = i+1, 1
		seen[m.Key()]++
		m.Nth = seen[m.Key()]
	}
	return files, all, nil
}

func findIn(path string, src []byte) (*File, error) {
	f := &File{Path: path, Src: src, Fset: token.NewFileSet()}
	tree, err := parser.ParseFile(f.Fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				name := nameOf(d)
				w := &walker{file: f, fn: name}
				w.walk(d.Body, d.Type)
				f.Functions = append(f.Functions, &Function{d, name, w.found})
			}
		case *ast.GenDecl:
			if d.Tok == token.CONST {
				w := &walker{file: f, fn: "(const)"}
				w.walk(d, nil)
				f.Constants = append(f.Constants, w.found...)
			}
		}
	}
	return f, nil
}

func nameOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	return t.(*ast.Ident).Name + "." + d.Name.Name
}

// changedSince returns the lines of each file of the packages that are not as in a commit, by path from
// the root.
func changedSince(ctx context.Context, root, commit string, pkgs []string) (map[string]map[int]bool, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"diff", "--no-ext-diff", "--no-color", "--no-prefix", "--relative", "-U0", commit, "--"}, pkgs...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the changes since %s: %w", commit, err)
	}
	return changedLines(string(out))
}

// changedLines reads the lines of the new side from a diff without context.
func changedLines(diff string) (map[string]map[int]bool, error) {
	changed := map[string]map[int]bool{}
	var lines map[int]bool
	for line := range strings.Lines(diff) {
		if file, ok := strings.CutPrefix(line, "+++ "); ok {
			lines = map[int]bool{}
			changed[strings.TrimSpace(file)] = lines
		} else if strings.HasPrefix(line, "@@ ") {
			_, after, _ := strings.Cut(line, " +")
			first, n := 0, 1
			if _, err := fmt.Sscanf(after, "%d,%d", &first, &n); err != nil {
				n = 1
				if _, err := fmt.Sscanf(after, "%d", &first); err != nil {
					return nil, fmt.Errorf("not a line of a diff: %q", line)
				}
			}
			for i := range n {
				lines[first+i] = true
			}
		}
	}
	return changed, nil
}
