package arena

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"duplex/core/export"
)

// TestLogLossIsTheSameEverywhere tests that the bits of the log loss are those of every other machine.
func TestLogLossIsTheSameEverywhere(t *testing.T) {
	h := sha256.New()
	for p := range int64(10_001) {
		for _, yes := range []bool{true, false} {
			h.Write(binary.BigEndian.AppendUint64(nil, math.Float64bits(logLoss(p, yes))))
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)[:8]); got != "c2eac9702e6fc9e1" {
		t.Error(got)
	}
}

// TestVerify tests that a changed page, a changed figure of the report and a bundle of another version
// fail. TestVerifyBundle changes every file of a bundle.
func TestVerify(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	dir := t.TempDir()
	mustRun(t, testConfig(t, func(c *Config) { c.Rounds = 1 }), Options{Dir: dir})
	if n, err := Verify(dir, nil); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	if err := edit(filepath.Join(dir, pageName), "<html", "<HTML"); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(dir, nil); err == nil || !strings.Contains(err.Error(), pageName+" is not the page of these bundles") {
		t.Errorf("a page that was changed: %v", err)
	}
	everyFigure(t, filepath.Join(dir, reportName))

	if err := edit(filepath.Join(dir, "2", manifestName), `"bundle": 2`, `"bundle": 9`); err != nil {
		t.Fatal(err)
	}
	_, err1 := Verify(dir, nil)
	_, err2 := Rank([]string{dir})
	_, err3 := MakeReport(dir, false, nil)
	_, err4 := Run(t.Context(), testConfig(t, func(c *Config) { c.Rounds = 1 }), Options{Dir: dir})
	for i, err := range []error{err1, err2, err3, err4, Export(dir, filepath.Join(t.TempDir(), "x"), export.Options{Format: export.CSV}, nil)} {
		var bad *ConfigError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "a bundle of version 9") {
			t.Errorf("%d: a bundle of another version: %v", i, err)
		}
	}
}

// everyFigure changes each value of a report, one after the other: the comparison names it. A name that
// is there twice does not pass either.
func everyFigure(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var change func(v any, set func(any), at string, root *any)
	change = func(v any, set func(any), at string, root *any) {
		switch x := v.(type) {
		case map[string]any:
			for k, y := range x {
				change(y, func(z any) { x[k] = z }, at+"."+k, root)
			}
			return
		case []any:
			for i, y := range x {
				change(y, func(z any) { x[i] = z }, fmt.Sprintf("%s[%d]", at, i), root)
			}
			return
		case float64:
			set(x + 0.000001)
		case string:
			set(x + "x")
		case bool:
			set(!x)
		case nil:
			set(0.0)
		}
		changed, err := json.Marshal(*root)
		if err != nil {
			t.Fatal(err)
		}
		if err := compareReports(path, changed, text, "dx"); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(at, ".")) {
			t.Errorf("%s: a changed figure was not found: %v", at, err)
		}
		set(v)
		n++
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	change(root, nil, "", &root)
	if n < 100 {
		t.Errorf("%d values changed", n)
	}
	if compareReports(path, bytes.Replace(text, []byte(`"seeds"`), []byte(`"seeds": [9], "seeds"`), 1), text, "dx") == nil {
		t.Error("a name that is there twice was not found")
	}
}

// script returns a program of testdata. The test reads it itself, because the go command repeats a test when a
// file that it has read changes, and does not see what a child of it reads.
func script(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
