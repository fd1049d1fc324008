package docs_test

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program type-checks packages of this module from source. It does not load other modules or
// the standard library, because the values of constants do not depend on them.
type program struct {
	t       *testing.T
	fset    *token.FileSet
	checked map[string]*checked
}

type checked struct {
	pkg   *types.Package
	files []*ast.File
	info  *types.Info
}

func newProgram(t *testing.T) *program {
	return &program{t, token.NewFileSet(), map[string]*checked{}}
}

// Import implements types.Importer. A package outside the module is empty, except that
// time has its durations, which constants of this module use.
func (p *program) Import(name string) (*types.Package, error) {
	if dir, ours := strings.CutPrefix(name, "duplex/"); ours {
		return p.check(dir).pkg, nil
	}
	pkg := types.NewPackage(name, path.Base(name))
	if name == "time" {
		duration := types.NewNamed(types.NewTypeName(token.NoPos, pkg, "Duration", nil), types.Typ[types.Int64], nil)
		pkg.Scope().Insert(duration.Obj())
		for name, d := range map[string]time.Duration{"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour} {
			pkg.Scope().Insert(types.NewConst(token.NoPos, pkg, name, duration, constant.MakeInt64(int64(d))))
		}
	}
	pkg.MarkComplete()
	return pkg, nil
}

// check type-checks the package in a folder of the module.
func (p *program) check(dir string) *checked {
	if c := p.checked[dir]; c != nil {
		return c
	}
	c := &checked{info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
	p.checked[dir] = c
	names, err := filepath.Glob("../" + dir + "/*.go")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(p.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			p.t.Fatal(err)
		}
		c.files = append(c.files, f)
	}
	if len(c.files) == 0 {
		p.t.Fatalf("%s has no Go files", dir)
	}
	conf := types.Config{Importer: p, Error: func(error) {}} // expressions that use a package outside the module fail to check, and are not constants
	c.pkg, err = conf.Check("duplex/"+dir, p.fset, c.files, c.info)
	var soft types.Error
	if c.pkg == nil || err != nil && !errors.As(err, &soft) {
		p.t.Fatalf("%s fails to type-check: %v", dir, err)
	}
	return c
}

// numbers returns the integer constants of a package and the constant integer fields of its
// package-level struct literals, by name, such as maxBackoff or defaultLimits.conflateBytes. It
// omits blocks of constants that use iota, bit patterns (written in hex) and codes (negative).
func (p *program) numbers(dir string) map[string]int64 {
	c, out := p.check(dir), map[string]int64{}
	add := func(name string, v constant.Value) {
		if v == nil {
			return
		}
		if n, exact := constant.Int64Val(constant.ToInt(v)); exact && n >= 0 && constant.ToInt(v).Kind() == constant.Int {
			out[name] = n
		}
	}
	for _, f := range c.files {
		for _, decl := range f.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.CONST && gen.Tok != token.VAR || gen.Tok == token.CONST && enumerates(gen) {
				continue
			}
			for _, s := range gen.Specs {
				spec := s.(*ast.ValueSpec)
				for i, name := range spec.Names {
					if i < len(spec.Values) && bits(spec.Values[i]) {
						continue
					}
					if obj, ok := c.pkg.Scope().Lookup(name.Name).(*types.Const); ok && name.Name != "_" {
						add(name.Name, obj.Val())
					} else if i < len(spec.Values) {
						for field, v := range c.fields(spec.Values[i]) {
							add(name.Name+"."+field, v)
						}
					}
				}
			}
		}
	}
	return out
}

// bits reports whether e is a literal in hex.
func bits(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && strings.HasPrefix(lit.Value, "0x")
}

// fields returns the named fields of a struct literal. The value of a field that is not
// constant is nil.
func (c *checked) fields(e ast.Expr) map[string]constant.Value {
	out := map[string]constant.Value{}
	if lit, ok := e.(*ast.CompositeLit); ok {
		for _, elt := range lit.Elts {
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok {
					out[key.Name] = c.info.Types[kv.Value].Value
				}
			}
		}
	}
	return out
}

// assigned returns the integer constants that a function assigns to fields with cmp.Or, by field name.
// These are the defaults of options.
func (p *program) assigned(dir, function string) map[string]int64 {
	c, out := p.check(dir), map[string]int64{}
	for _, f := range c.files {
		ast.Inspect(f, func(n ast.Node) bool {
			fn, ok := n.(*ast.FuncDecl)
			if !ok {
				return true
			}
			if fn.Name.Name != function {
				return false
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if set, ok := n.(*ast.AssignStmt); ok && len(set.Lhs) == 1 && set.Tok == token.ASSIGN {
					if field, ok := set.Lhs[0].(*ast.SelectorExpr); ok {
						if or, ok := set.Rhs[0].(*ast.CallExpr); ok && len(or.Args) > 0 {
							if v := c.info.Types[or.Args[len(or.Args)-1]].Value; v != nil && v.Kind() == constant.Int {
								out[field.Sel.Name], _ = constant.Int64Val(v)
							}
						}
					}
				}
				return true
			})
			return false
		})
	}
	return out
}

// enumerates reports whether a block of constants uses iota.
func enumerates(gen *ast.GenDecl) (yes bool) {
	ast.Inspect(gen, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "iota" {
			yes = true
		}
		return !yes
	})
	return yes
}
