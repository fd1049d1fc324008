package arena

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"duplex/core"
	"duplex/core/replica"
)

// Verify recomputes the report of a complete run from its bundles, and compares it with report.json and
// report.html byte by byte. The error names what differs.
func Verify(dir string, progress func(done, total int)) (seeds int, err error) {
	r, err := verified(dir, progress)
	if r != nil {
		seeds = len(r.Seeds)
	}
	return seeds, err
}

// verified returns the report of a run with the error of Verify.
func verified(dir string, progress func(done, total int)) (*Report, error) {
	if err := checkComplete(dir); err != nil {
		return nil, err
	}
	want, err := MakeReport(dir, true, progress)
	if err != nil {
		return nil, err
	}
	text, page, err := want.files()
	if err != nil {
		return nil, err
	}
	have, err := os.ReadFile(filepath.Join(dir, reportName))
	if err != nil {
		return nil, err
	}
	havePage, err := os.ReadFile(filepath.Join(dir, pageName))
	if err != nil {
		return nil, err
	}
	err = compareReports(filepath.Join(dir, reportName), have, text, "dx arena report")
	if !bytes.Equal(havePage, page) {
		err = errors.Join(err, fmt.Errorf("%s is not the page of these bundles; dx arena report writes it again", filepath.Join(dir, pageName)))
	}
	return want, err
}

// compareReports compares the text of a report with what it should be. writer is the command that writes it.
func compareReports(path string, text, should []byte, writer string) error {
	if bytes.Equal(text, should) {
		return nil
	}
	var have, want any
	if err := json.Unmarshal(text, &have); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := json.Unmarshal(should, &want); err != nil {
		return err
	}
	var bad []error
	differences("", have, want, func(at string, have, want any) {
		bad = append(bad, fmt.Errorf("%s: %s is %v, the bundles give %v", path, strings.TrimPrefix(at, "."), show(have), show(want)))
	})
	if bad == nil { // such as a name that is there twice, of which readers see one or the other
		return fmt.Errorf("%s is not written as %s writes it", path, writer)
	}
	return errors.Join(bad...)
}

func show(v any) string {
	b, _ := json.Marshal(v) // it was JSON
	return string(b)
}

// differences calls f for each value in which two JSON values differ.
func differences(at string, have, want any, f func(at string, have, want any)) {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			f(at, have, want)
			return
		}
		for k := range w {
			differences(at+"."+k, h[k], w[k], f)
		}
		for k := range h {
			if _, ok := w[k]; !ok {
				f(at+"."+k, h[k], nil)
			}
		}
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			f(at, have, want)
			return
		}
		for i := range w {
			differences(fmt.Sprintf("%s[%d]", at, i), h[i], w[i], f)
		}
	default:
		if have != want {
			f(at, have, want)
		}
	}
}

// checkIndex returns a function that compares the prices in a bundle with those that its seed gives. It returns
// nil for a run on a tape of real prices, because a bundle does not contain the tape.
func checkIndex(m *Manifest) func(*replayBundle, *replica.Result) error {
	if m.Settings.TapeHash != "" {
		return nil
	}
	p := newPrices(m.Settings, m.Seed, nil)
	drawn, second := core.Price(0), int64(0)
	return func(b *replayBundle, out *replica.Result) error {
		for i := range out.Applied {
			c, ok := out.Applied[i].Command.(*core.PostIndex)
			if !ok {
				continue
			}
			second = cmp.Or(second, b.start/core.NsPerSec)
			for now := out.Applied[i].Stamp.Ts / core.NsPerSec; second < c.Tick.Second && second <= now; second++ { // a fault may have held some back
				var err error
				if drawn, err = p.next(); err != nil {
					return err
				}
			}
			if c.Tick.Feed != m.Settings.series.Feed || c.Tick.Price != drawn || c.Tick.Second != second {
				return fmt.Errorf("seq %d: the index is not the one that seed %d draws", out.Applied[i].Stamp.Seq, m.Seed)
			}
		}
		return nil
	}
}
