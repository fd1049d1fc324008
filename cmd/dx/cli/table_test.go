package cli

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"duplex/schemas"
)

// Numbers are aligned to the right and grouped, ids are not, colors have no width, and an empty table is a sentence.
func TestTable(t *testing.T) {
	table := NewTable("SERIES", ">QTY", ">PROFIT", "STATUS")
	var out bytes.Buffer
	if err := table.Print(&out, "Nothing."); err != nil || out.String() != "Nothing.\n" {
		t.Errorf("an empty table prints %q, %v, want the sentence", &out, err)
	}
	table.Row("btc-60s", 5, FormatGain(-12_300, true), "52¢")
	table.Row(ID(uint32(1000)), schemas.U64(1_234_567), FormatGain(0, true), "")
	out.Reset()
	want := "SERIES         QTY  PROFIT  STATUS\nbtc-60s          5  \x1b[31m-$1.23\x1b[m  52¢\n1000     1,234,567   $0.00\n"
	if err := table.Print(&out, ""); err != nil || out.String() != want {
		t.Errorf("%q, want %q, %v", &out, want, err)
	}
}

func TestFormatGain(t *testing.T) {
	for _, c := range []struct {
		pips  int64
		color bool
		want  string
	}{
		{500, false, "$0.05"}, {-500, false, "-$0.05"}, {0, true, "$0.00"}, {500, true, "\x1b[32m$0.05\x1b[m"}, {-500, true, "\x1b[31m-$0.05\x1b[m"},
	} {
		if got := FormatGain(c.pips, c.color); got != c.want {
			t.Errorf("%d: %q, want %q", c.pips, got, c.want)
		}
	}
	if HasColor(new(bytes.Buffer)) {
		t.Error("a buffer has no colors")
	}
}

// TestCellsAreNumbersOrIDs checks that no command makes the text of a cell from a number itself, which would leave out
// its commas: it gives the number to Row, or says with ID that it is the number of a thing.
func TestCellsAreNumbersOrIDs(t *testing.T) {
	rows := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "load" { // measurements, which scripts read
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		called := func(n ast.Node) (name string, args []ast.Expr) {
			if call, is := n.(*ast.CallExpr); is {
				if f, is := call.Fun.(*ast.SelectorExpr); is {
					return f.Sel.Name, call.Args
				}
			}
			return "", nil
		}
		ast.Inspect(file, func(n ast.Node) bool {
			name, cells := called(n)
			if name != "Row" {
				return true
			}
			rows++
			for _, cell := range cells {
				if name, args := called(cell); name == "Sprint" && len(args) == 1 {
					t.Errorf("%s: a cell is the text of a number", files.Position(cell.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || rows < 20 {
		t.Errorf("%d rows, %v", rows, err)
	}
}
