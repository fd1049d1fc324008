package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// replacedWords maps each word that identifiers and file names must not use to the words to use
// instead.
var replacedWords = map[string]string{
	"abreast":   "caught up, WaitApplied",
	"allowance": "budget, deadline",
	"clerk":     "worker",
	"clerks":    "worker",
	"crew":      "writer pool",
	"desk":      "manual oracle",
	"glimpse":   "PreviewFill",
	"house":     "server, venue",
	"keeper":    "session scheduler",
	"lately":    "recent",
	"lesson":    "hints",
	"manner":    "path options, deadlines",
	"park":      "long poll, block",
	"parked":    "long poll, block",
	"patience":  "deadline, timeout",
	"patient":   "deadline",
	"portrait":  "snapshot, image",
	"smuggle":   "framing",
	"spread":    "histogram (a spread is bid to ask)",
	"strangers": "authFailureLimiter",
	"teach":     "hints",
	"told":      "latency, sent",
	"turn":      "rotate, advance",
}

// allowedIdentifiers maps identifiers that contain a replaced word to the meaning that allows it.
var allowedIdentifiers = map[string]string{
	"Spread": "bid to ask", "spread": "bid to ask",
}

// goFiles calls f for each Go file of the project.
func goFiles(t *testing.T, f func(path string)) {
	t.Helper()
	for _, path := range files(t, "..", ".go") {
		if !strings.Contains(path, "/testdata/") {
			f(path)
		}
	}
}

// words splits an identifier or a file name at capitals, digits and underscores, and returns the
// parts in lower case.
func words(name string) (out []string) {
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		starts := unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if starts || !unicode.IsLetter(r) {
			flush()
		}
		if unicode.IsLetter(r) {
			word = append(word, r)
		}
	}
	flush()
	return out
}

func replacedWord(name string) (word, instead string) {
	if _, ok := allowedIdentifiers[name]; ok {
		return "", ""
	}
	for _, w := range words(name) {
		if instead, ok := replacedWords[w]; ok {
			return w, instead
		}
	}
	return "", ""
}

// TestReplacedNames rejects the replaced words in the names of files and in every
// declared identifier.
func TestReplacedNames(t *testing.T) {
	goFiles(t, func(path string) {
		if w, instead := replacedWord(strings.TrimSuffix(filepath.Base(path), ".go")); w != "" {
			t.Errorf("%s: the file name says %q: use %s", path, w, instead)
		}
		for name, at := range declarations(t, path) {
			if w, instead := replacedWord(name); w != "" {
				t.Errorf("%s: %s says %q: use %s", at, name, w, instead)
			}
		}
	})
}

// declarations returns the identifiers that a file declares, with their positions.
func declarations(t *testing.T, path string) map[string]token.Position {
	t.Helper()
	fset, out := token.NewFileSet(), map[string]token.Position{}
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			out[id.Name] = fset.Position(id.Pos())
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			add(n.Names...)
		case *ast.Field:
			add(n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, x := range n.Lhs {
					if id, ok := x.(*ast.Ident); ok {
						add(id)
					}
				}
			}
		}
		return true
	})
	return out
}

// TestReplacedNamesFindsThem checks which names replacedWord rejects.
func TestReplacedNamesFindsThem(t *testing.T) {
	for name, want := range map[string]string{
		"newCrew": "crew", "Keeper": "keeper", "session_keeper_test": "keeper", "isAbreast": "abreast", "TestHouse": "house",
		"warehouse": "", "housing": "", "returned": "", "Spread": "", "APIKeeper": "keeper", "toldAgain": "told",
	} {
		if got, _ := replacedWord(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// privateCitation matches comments that cite a document which readers cannot open.
var privateCitation = regexp.MustCompile(`\b(contract (core|rest|ws|mcp|operator|oracle)|spec [0-9]+(\.[0-9]+)*)\b`)

// TestNoPrivateCitations rejects comments and texts that cite anything but a rule of
// this project.
func TestNoPrivateCitations(t *testing.T) {
	var found []string
	goFiles(t, func(path string) {
		for i, line := range strings.Split(read(t, path), "\n") {
			if m := privateCitation.FindString(line); m != "" && !strings.HasSuffix(path, "language_test.go") {
				found = append(found, fmt.Sprintf("%s:%d: %s", path, i+1, m))
			}
		}
	})
	slices.Sort(found)
	for _, f := range found {
		t.Error(f + ": cite a rule, docs/rules/PAGE.md#ANCHOR")
	}
}
