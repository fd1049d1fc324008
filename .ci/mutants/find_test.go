package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

const sample = `package p

const limit = 3

type T struct{ n int }

func (t *T) take(n int, _ ...bool) (left int, ok bool) {
	if n < limit && !full(t) {
		t.n += n
	}
	for range n {
		t.n++
	}
	note(t)
	return t.n, true
}

func full(*T) bool { return false }

func note(t *T) {}

func none[K comparable, V any]() (m map[K]V, ok bool) { return m, false }
`

// TestFind checks the mutants of a small file.
func TestFind(t *testing.T) {
	f, err := findIn("p/p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fn := range f.Functions {
		for _, m := range fn.Mutants {
			got = append(got, m.Func+" "+m.Op+": "+m.Was+" → "+m.Is)
		}
	}
	for _, m := range f.Constants {
		got = append(got, m.Op+": "+m.Was+" → "+m.Is)
	}
	want := []string{
		"T.take logic: n < limit && !full(t) → n < limit || !full(t)",
		"T.take boundary: n < limit → n <= limit",
		"T.take negated: n < limit → n >= limit",
		"T.take sign: !full(t) → full(t)",
		"T.take arithmetic: t.n += n → t.n -= n",
		"T.take gone: t.n += n → _ = n",
		"T.take step: t.n++ → t.n--",
		"T.take gone: t.n++ → (gone)",
		"T.take gone: note(t) → (gone)",
		"T.take zero: return t.n, true → return *new(int), true",
		"T.take zero: return t.n, true → return t.n, *new(bool)",
		"T.take constant: return t.n, true → return t.n, false",
		"full constant: return false → return true",
		"none zero: return m, false → return *new(map[K]V), false",
		"none constant: return m, false → return m, true",
		"constant: limit = 3 → limit = (3+1)",
		"constant: limit = 3 → limit = (3-1)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestGraft checks that a grafted file parses, that the clones are at the reported lines, and that
// the original is unchanged except for the switch.
func TestGraft(t *testing.T) {
	f, err := findIn("p/p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	id := 0
	for _, fn := range f.Functions {
		for _, m := range fn.Mutants {
			id++
			m.ID = id
		}
	}
	src, spans := graft(f, func(m *Mutant) bool { return m.Op == "step" || m.Func == "full" || m.Func == "none" }, f.Constants[0])
	if _, err := findIn("p/p.go", src); err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	lines := strings.Split(string(src), "\n")
	for _, s := range spans {
		if !strings.HasPrefix(lines[s.first-1], "func ") || !strings.Contains(lines[s.first-1], "__") {
			t.Errorf("no clone in line %d: %q", s.first, lines[s.first-1])
		}
	}
	for _, want := range []string{"const limit = (3+1)\n", "case 7: return t.take__7(n, taken1_0...);", "func (t *T) take__7(", "t.n--\n", "func full(taken0_0 *T) bool { if askedMutant", "return full__13(taken0_0)", "return none__15[K, V]()"} {
		if !strings.Contains(string(src), want) {
			t.Errorf("no %q in\n%s", want, src)
		}
	}
}

func TestChangedLines(t *testing.T) {
	got, err := changedLines("diff --git core/a.go core/a.go\n--- core/a.go\n+++ core/a.go\n@@ -3 +3,2 @@ func a() {\n-x\n+y\n+z\n@@ -9,2 +9,0 @@\n-p\n-q\n@@ -20 +19 @@\n-u\n+v\n--- core/b.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-p\n")
	want := map[string]map[int]bool{"core/a.go": {3: true, 4: true, 19: true}, "/dev/null": {}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if _, err := changedLines("+++ core/a.go\n@@ no numbers @@\n"); err == nil {
		t.Error("a line without numbers is no error")
	}
}
