package main

import (
	"go/ast"
	"go/token"
	"strings"
)

// walker finds the mutants of one function.
type walker struct {
	file  *File
	fn    string
	types []*ast.FuncType // the enclosing functions, innermost last
	path  []ast.Node      // from the function down to the current node
	found []*Mutant
}

func (w *walker) walk(n ast.Node, t *ast.FuncType) {
	w.types = append(w.types, t)
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil {
			if _, ok := w.path[len(w.path)-1].(*ast.FuncLit); ok {
				w.types = w.types[:len(w.types)-1]
			}
			w.path = w.path[:len(w.path)-1]
			return true
		}
		if _, ok := n.(*ast.ArrayType); ok {
			return false // an array's length is part of its type
		}
		w.path = append(w.path, n)
		if l, ok := n.(*ast.FuncLit); ok {
			w.types = append(w.types, l.Type)
		}
		w.visit(n)
		return true
	})
}

func (w *walker) text(n ast.Node) string {
	return string(w.file.Src[w.file.offset(n.Pos()):w.file.offset(n.End())])
}

// parent returns the parent of the current node.
func (w *walker) parent() ast.Node {
	if len(w.path) < 2 {
		return w.path[0]
	}
	return w.path[len(w.path)-2]
}

// add adds a mutant that replaces from..to by text. Its key shows it as a change of the node of.
func (w *walker) add(op string, of ast.Node, from, to token.Pos, text string) {
	m := &Mutant{File: w.file.Path, Line: w.file.Fset.Position(from).Line, Func: w.fn, Op: op, Start: w.file.offset(from), End: w.file.offset(to), To: text}
	a, b := w.file.offset(of.Pos()), w.file.offset(of.End())
	was := string(w.file.Src[a:b])
	m.Was = brief(was)
	m.Is = brief(was[:m.Start-a] + text + was[min(m.End-a, len(was)):])
	if m.Is == "" {
		m.Is = "(gone)"
	}
	w.found = append(w.found, m)
}

func brief(s string) string { return strings.Join(strings.Fields(s), " ") }

func (w *walker) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB || n.Op == token.XOR {
			w.add("sign", n, n.OpPos, n.X.Pos(), "")
		}
	case *ast.IfStmt:
		w.condition(n.Cond)
	case *ast.ForStmt:
		w.condition(n.Cond)
	case *ast.SwitchStmt:
		w.cases(n)
	case *ast.IncDecStmt:
		w.add("step", n, n.TokPos, n.End(), map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok])
		w.add("gone", n, n.Pos(), n.End(), "")
	case *ast.AssignStmt:
		w.assign(n)
	case *ast.ExprStmt:
		w.call(n)
	case *ast.DeferStmt:
		w.add("gone", n, n.Pos(), n.End(), "")
	case *ast.ReturnStmt:
		w.returns(n)
	case *ast.BranchStmt:
		if to, ok := map[token.Token]string{token.BREAK: "continue", token.CONTINUE: "break"}[n.Tok]; ok {
			w.add("branch", n, n.Pos(), n.End(), to)
		}
	case *ast.BasicLit:
		w.literal(n)
	case *ast.Ident:
		w.ident(n)
	case *ast.CompositeLit:
		w.fields(n)
	}
}

var boundary = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

var negated = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.LEQ: ">", token.GTR: "<=", token.GEQ: "<",
}

var swapped = map[token.Token]string{
	token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.REM: "*",
	token.AND: "|", token.OR: "&", token.XOR: "&", token.AND_NOT: "&", token.SHL: ">>", token.SHR: "<<",
}

var swappedAssign = map[token.Token]string{
	token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.MUL_ASSIGN: "/=", token.QUO_ASSIGN: "*=",
	token.AND_ASSIGN: "|=", token.OR_ASSIGN: "&=", token.AND_NOT_ASSIGN: "&=", token.SHL_ASSIGN: ">>=", token.SHR_ASSIGN: "<<=",
}

func (w *walker) binary(n *ast.BinaryExpr) {
	end := n.OpPos + token.Pos(len(n.Op.String()))
	put := func(op, to string) { w.add(op, n, n.OpPos, end, to) }
	if to, ok := boundary[n.Op]; ok {
		put("boundary", to)
	}
	if to, ok := negated[n.Op]; ok {
		put("negated", to)
	}
	if to, ok := swapped[n.Op]; ok {
		put("arithmetic", to)
	}
	switch n.Op {
	case token.LAND:
		put("logic", "||")
	case token.LOR:
		put("logic", "&&")
	}
}

// condition negates a condition that neither binary nor the sign operator changes.
func (w *walker) condition(e ast.Expr) {
	switch e.(type) {
	case nil, *ast.BinaryExpr, *ast.UnaryExpr:
		return
	}
	w.add("negated", e, e.Pos(), e.End(), "!("+w.text(e)+")")
}

func (w *walker) cases(s *ast.SwitchStmt) {
	if s.Tag != nil {
		return
	}
	for _, c := range s.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			w.condition(e)
		}
	}
}

// assign removes one assignment; its right side is still evaluated.
func (w *walker) assign(n *ast.AssignStmt) {
	if to, ok := swappedAssign[n.Tok]; ok {
		w.add("arithmetic", n, n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), to)
	}
	switch {
	case n.Tok == token.DEFINE:
	case n.Tok == token.ASSIGN:
		for _, l := range n.Lhs {
			if id, ok := l.(*ast.Ident); !ok || id.Name != "_" {
				w.add("gone", n, l.Pos(), l.End(), "_")
			}
		}
	default:
		w.add("gone", n, n.Pos(), n.Rhs[0].Pos(), "_ = ")
	}
}

// call removes a call, but keeps variables that only the call uses in use.
func (w *walker) call(n *ast.ExprStmt) {
	c, ok := n.X.(*ast.CallExpr)
	if !ok {
		return
	}
	var uses []string
	for _, a := range c.Args {
		ast.Inspect(a, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit, *ast.CompositeLit, *ast.CallExpr, *ast.SelectorExpr:
				return false
			case *ast.Ident:
				if n.Name != "nil" {
					uses = append(uses, "_ = "+n.Name)
				}
			}
			return true
		})
	}
	w.add("gone", n, n.Pos(), n.End(), strings.Join(uses, "; "))
	w.found[len(w.found)-1].Is = "(gone)"
}

// returns replaces each result in turn by its zero value.
func (w *walker) returns(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		if !w.last(n) {
			w.add("gone", n, n.Pos(), n.End(), "")
		}
		return
	}
	var types []ast.Expr
	for _, f := range w.types[len(w.types)-1].Results.List {
		for range max(1, len(f.Names)) {
			types = append(types, f.Type)
		}
	}
	if len(types) != len(n.Results) {
		return
	}
	for i, e := range n.Results {
		if !isZero(w.text(e)) {
			w.add("zero", n, e.Pos(), e.End(), "*new("+w.text(types[i])+")")
		}
	}
}

// last reports whether n is the last statement of a function.
func (w *walker) last(n ast.Stmt) bool {
	block, ok := w.parent().(*ast.BlockStmt)
	if !ok || block.List[len(block.List)-1] != n {
		return false
	}
	if len(w.path) < 3 {
		return true
	}
	_, ok = w.path[len(w.path)-3].(*ast.FuncLit)
	return ok
}

func isZero(s string) bool {
	switch s {
	case "0", "nil", "false", `""`, "core.OK":
		return true
	}
	return strings.HasSuffix(s, "{}")
}

func (w *walker) literal(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	of := w.parent()
	if !isExpr(of) {
		of = n
		if s, ok := w.parent().(ast.Stmt); ok && s.End()-s.Pos() < 120 {
			of = s
		}
	}
	w.add("constant", of, n.Pos(), n.End(), "("+n.Value+"+1)")
	if n.Value != "0" {
		w.add("constant", of, n.Pos(), n.End(), "("+n.Value+"-1)")
	}
}

func isExpr(n ast.Node) bool {
	switch n.(type) {
	case *ast.CompositeLit:
		return false
	case ast.Expr, *ast.ValueSpec:
		return true
	}
	return false
}

func (w *walker) ident(n *ast.Ident) {
	other, ok := map[string]string{"true": "false", "false": "true", "min": "max", "max": "min"}[n.Name]
	if !ok {
		return
	}
	of := w.parent()
	op := "constant"
	if n.Name == "min" || n.Name == "max" {
		op = "arithmetic"
		if c, ok := of.(*ast.CallExpr); !ok || c.Fun != ast.Expr(n) {
			return
		}
	}
	if k, ok := of.(*ast.KeyValueExpr); ok && k.Key == ast.Expr(n) {
		return
	}
	w.add(op, of, n.Pos(), n.End(), other)
}

// fields leaves one field of a struct literal unset.
func (w *walker) fields(n *ast.CompositeLit) {
	for i, e := range n.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if _, ok := kv.Key.(*ast.Ident); !ok {
			continue
		}
		end := n.Rbrace
		if i+1 < len(n.Elts) {
			end = n.Elts[i+1].Pos()
		}
		w.add("gone", kv, kv.Pos(), end, "")
	}
}
