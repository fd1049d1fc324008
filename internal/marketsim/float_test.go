package marketsim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestFunctions(t *testing.T) {
	for x := -40.0; x <= 40; x += 0.37 {
		if got, want := exp(x), math.Exp(x); math.Abs(got/want-1) > 1e-14 {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
		if got, want := normalCDF(x/4), 0.5*math.Erfc(-x/4/math.Sqrt2); math.Abs(got-want) > 1e-7 {
			t.Errorf("normalCDF(%v) = %v, want %v", x/4, got, want)
		}
	}
	for x := 1e-12; x < 1e12; x *= 1.7 {
		if got, want := Ln(x), math.Log(x); math.Abs(got-want) > 1e-14*max(1, math.Abs(want)) {
			t.Errorf("Ln(%v) = %v, want %v", x, got, want)
		}
	}
}

// TestNoFusedProducts checks that floats are multiplied in mul alone, where the product is rounded,
// and that only exact functions of package math are used. Otherwise two machines could compute
// different orders from one seed.
func TestNoFusedProducts(t *testing.T) {
	exact := []string{"Abs", "Floor", "Frexp", "Ldexp", "Sqrt", "Inf", "Ln2", "Sqrt2"}
	integers := []string{"m.Qty", "10", "100", "slope", "step", "r.Left"} // an operand of each product of integers, and of durations
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		src, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		text := func(n ast.Node) string {
			return string(src[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				return n.Name.Name != "mul"
			case *ast.BinaryExpr:
				x, y := text(n.X), text(n.Y)
				constant := strings.Contains(x+y, "time.Second") || x == "math.Ln2"
				if n.Op == token.MUL && !constant && !slices.Contains(integers, x) && !slices.Contains(integers, y) {
					t.Errorf("%s: %s is not rounded; use mul", fset.Position(n.Pos()), text(n))
				}
			case *ast.AssignStmt:
				if n.Tok == token.MUL_ASSIGN {
					t.Errorf("%s: %s is not rounded; use mul", fset.Position(n.Pos()), text(n))
				}
			case *ast.SelectorExpr:
				if text(n.X) == "math" && !slices.Contains(exact, n.Sel.Name) {
					t.Errorf("%s: math.%s may differ between machines", fset.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}
