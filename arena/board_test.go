package arena

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"duplex/arena/stats"
)

// boardTags matches the markup of a page.
var boardTags = regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`)

// boardRows returns the rows of the tables of a page: the texts of their cells, each followed by "|", and those of the line
// below a row.
func boardRows(page []byte) (rows []string) {
	_, body, _ := strings.Cut(strings.ReplaceAll(string(page), "</tr>\n<tr><td class=\"text\" colspan", "<td colspan"), "<tbody>")
	body = strings.ReplaceAll(body, "</li>", "; ")
	for row := range strings.SplitSeq(body, "<tr>") {
		if strings.Contains(row, `scope="col"`) {
			continue
		}
		text := boardTags.ReplaceAllString(regexp.MustCompile(`</t[dh]>|<small>`).ReplaceAllString(row, "|"), "")
		if line, _, ok := strings.Cut(text, "\n"); ok && strings.Contains(line, "|") {
			rows = append(rows, html.UnescapeString(line))
		}
	}
	return rows
}

func mustBoard(t *testing.T, faults []string, dirs ...string) []byte {
	t.Helper()
	b, err := makeBoard(dirs, faults, nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := b.page()
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// TestBoard tests the board of runs of two setups, sealed and not, and of a certification of one of their agents. The
// page loads nothing, has each row with what is needed to verify it, and is the same each time.
func TestBoard(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	base := t.TempDir()
	run := func(name, seeds, kind, agent string) string {
		dir := filepath.Join(base, name)
		mustRun(t, testConfig(t, func(c *Config) {
			c.Rounds, c.Seeds, c.Solo, c.Seats = 1, seeds, true, []Seat{{Name: kind, Kind: kind}}
		}, withAgent(agent)), Options{Dir: dir, Jobs: 2})
		return dir
	}
	known, first, second := run("it's <b>known", "1..2", "hold", "fragile"), run("first", "fresh:1", "hold", "careful"), run("second", "fresh:1", "random", "fragile")
	faults := []string{lostAnswer}
	certified := filepath.Join(base, "certified")
	c := testConfig(t, func(c *Config) { c.Seats = nil }, withAgent("careful"), withAgent("fragile"), func(c *Config) { c.Seeds, c.Rounds = "5", 2 })
	certificate, err := Certify(t.Context(), c, Options{Dir: certified, faults: faults}, nil)
	if err != nil {
		t.Fatal(err)
	}
	page := mustBoard(t, faults, known, first, certified, second)
	if again := mustBoard(t, faults, second, certified, first, known); !bytes.Equal(page, again) {
		t.Error("a board of the same folders in another order is another page")
	}
	if at := regexp.MustCompile(`(?i)<(script|link|img|iframe|object)|\b(src|href|style)=|url\(|@import|https?:`).Find(page); at != nil || !bytes.Contains(page, []byte(`content="default-src 'none'; style-src 'unsafe-inline'; base-uri`)) {
		t.Errorf("the page has %q, with which it could load something, or no policy", at)
	}
	if bytes.Contains(page, []byte("<b>known")) {
		t.Error("the name of a folder is markup of the page")
	}

	for _, title := range []string{", 1 sealed seed</h2>", ", 2 seeds known before the run</h2>"} {
		if !bytes.Contains(page, []byte(title)) {
			t.Errorf("no group has the title %s", title)
		}
	}

	digests, want := map[string]string{}, map[string]string{"careful": certificate.verdictOf("careful"), "fragile": certificate.verdictOf("fragile")}
	for _, dir := range []string{first, second} {
		r, err := MakeReport(dir, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		digests[r.Seats[1].Name] = r.Seats[1].digests[0]
	}
	if len(digests["careful"]) != 64 || digests["careful"] == digests["fragile"] {
		t.Fatalf("the digests of the agents are %v", digests)
	}
	var order []string // of the rows: group, run and seat
	rows := boardRows(page)
	for _, row := range rows {
		cells := strings.Split(row, "|")
		if cells[0] == "certified" {
			order = append(order, "certified/"+cells[1])
			continue
		}
		seat, kind, verdict, certificate, hash, sealed, name, command := cells[1], cells[2], cells[5], cells[len(cells)-6], cells[len(cells)-5], cells[len(cells)-4], cells[len(cells)-3], cells[len(cells)-2]
		order = append(order, name+"/"+seat)
		wantHash, wantCertificate := "–", "–"
		if kind == "process" {
			wantHash, wantCertificate = digests[seat][:12]+"…"+digests[seat], want[seat]
		}
		wantSealed, dir := "fresh", filepath.Join(base, name)
		if name == "it's <b>known" {
			wantSealed = "no"
		}
		if hash != wantHash || certificate != wantCertificate || sealed != wantSealed || verdict == "" || command != "dx verify "+quoteCommand(dir) {
			t.Errorf("the row %q, want digest %s, certificate %s, sealed %s and a command for %s", row, wantHash, wantCertificate, wantSealed, dir)
		}
	}
	if len(rows) != 8 || !slices.Equal(slices.Sorted(slices.Values(order[4:6])), []string{"it's <b>known/fragile", "it's <b>known/hold"}) || !slices.Equal(order[6:], []string{"certified/careful", "certified/fragile"}) {
		t.Errorf("the rows are %v, want the sealed runs first, then the other one, then the certification", order)
	}
	list, err := Rank([]string{first, second})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Rows {
		if x := &list.Rows[i]; order[i] != x.Run+"/"+x.Seat || !strings.HasPrefix(rows[i], fmt.Sprint(i+1, "|")) || !strings.Contains(rows[i], "|"+money(x.ProfitOwn.Mean)+"|"+interval(x.ProfitOwn)+"|") {
			t.Errorf("row %d is %q, want %s of %s as rank has it", i, rows[i], x.Seat, x.Run)
		}
	}
	if last := rows[len(rows)-1]; !strings.Contains(last, "|"+want["fragile"]+"|") || !strings.Contains(last, "dx verify "+certified) {
		t.Errorf("the last row is %q, want that fragile failed, and how to verify it", last)
	}

	out := filepath.Join(base, "board")
	b, err := makeBoard([]string{known}, faults, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second replaces the first
		if err := b.Write(out); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) != 1 || entries[0].Name() != boardName {
		t.Errorf("the folder of the board has %v, %v", entries, err)
	}

	// A board without a certificate of the agent says so.
	for _, row := range boardRows(mustBoard(t, faults, second)) {
		if strings.Contains(row, "|fragile|") && !strings.Contains(row, "|none|") {
			t.Errorf("the row %q, want no certificate", row)
		}
	}
	// Copies and links.
	again, link := filepath.Join(base, "again"), filepath.Join(base, "link")
	copied := filepath.Join(base, "copied")
	if err := errors.Join(os.CopyFS(again, os.DirFS(first)), os.Symlink(certified, link), os.CopyFS(copied, os.DirFS(certified))); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(base, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		dirs []string
		want string
	}{
		"twice":                  {[]string{first, second, first}, "is the folder " + first + " once more"},
		"with a dot":             {[]string{first, base + "/./first/"}, "is the folder " + first + " once more"},
		"a copy":                 {[]string{first, again}, "is the run " + first + " once more"},
		"a certification linked": {[]string{first, certified, link}, "is the folder " + certified + " once more"},
		"a certification copied": {[]string{first, certified, copied}, "is the certification certified once more"},
		"no run":                 {[]string{certified}, "no run"},
		"another folder":         {[]string{first, filepath.Join(base, "other")}, "is neither a run nor a certification"},
		"no folder":              {[]string{first, filepath.Join(base, "none")}, "is neither a run nor a certification"},
		"a name of two lines":    {[]string{filepath.Join(base, "a\nb")}, "not plain text"},
	} {
		var bad *ConfigError
		if _, err := makeBoard(x.dirs, faults, nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want an error of the settings with %q", name, err, x.want)
		}
	}
	// What was changed, and a run that is not complete.
	if err := edit(filepath.Join(copied, certificateName), `"passed": true`, `"passed": false`); err != nil {
		t.Fatal(err)
	}
	if _, err := makeBoard([]string{first, copied}, faults, nil); err == nil || !strings.Contains(err.Error(), "passed is false") {
		t.Errorf("a certificate that was changed: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(known, "2")); err != nil {
		t.Fatal(err)
	}
	if _, err := makeBoard([]string{first, known}, faults, nil); err == nil || !strings.Contains(err.Error(), "has 1 of 2 seeds") {
		t.Errorf("a run that is not complete: %v", err)
	}
	// Where a board must not be written.
	other := filepath.Join(base, "other", boardName)
	if err := os.WriteFile(other, []byte("<p>mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(other), filepath.Join(first, "board")} {
		var bad *ConfigError
		if err := b.Write(dir); !errors.As(err, &bad) {
			t.Errorf("a board in %s: %v", dir, err)
		}
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "<p>mine" {
		t.Errorf("another page has %q, %v", text, err)
	}
}

// TestVerdictOfASeat tests that a certificate says of each seat alone whether it passed.
func TestVerdictOfASeat(t *testing.T) {
	pass, fail, skip := Check{Passed: true}, Check{Found: "3 times"}, Check{Found: notExercised}
	for want, checks := range map[string][]Check{
		"pass: 2 checks in runs of 1 round":        {pass, pass},
		"fail: 1 of 2 checks":                      {pass, fail},
		"fail: 1 of 3 checks not exercised":        {pass, skip, pass},
		"fail: 1 of 3 checks, and 1 not exercised": {pass, fail, skip},
	} {
		c := &Certificate{Rounds: 1, Checks: []Check{{Seat: "other", Found: "2 times"}, {Seat: "other", Passed: true}}}
		for _, x := range checks {
			x.Seat = "mine"
			c.Checks = append(c.Checks, x)
		}
		if got := c.verdictOf("mine"); got != want {
			t.Errorf("%+v: %q, want %q", checks, got, want)
		}
	}
}

// TestBoardModels tests that the models that a seat has reported are on the board, with the profit after their cost, and
// that no text of a run is markup.
func TestBoardModels(t *testing.T) {
	const markup = `<b title="x">`
	report := &SeatReport{digests: []string{markup, "short"}}
	report.Verdict = markup
	costly := *report
	costly.Usage.Models = map[string]ModelUsage{"small, quick": {9, 2, 0.1}, markup: {}}
	costly.AfterCost = stats.Figure{Mean: 1.5}
	row := Ranked{Run: markup, Seat: markup, Kind: markup, Sealed: markup, ProfitOwn: stats.Figure{Mean: 2}, report: report}
	used := row
	used.report = &costly
	b := &Board{
		groups:         []boardGroup{{Title: markup, Lines: []string{markup}, Setup: markup, Models: true, Rows: []boardRow{{Ranked: used, Certificate: markup, Command: markup}, {Ranked: row}}}},
		certifications: []certification{{Name: markup, Verdicts: []seatVerdict{{Seat: markup, Digest: markup, Verdict: markup}}, Command: markup}},
	}
	page, err := b.page()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(page, []byte("<b ")) {
		t.Errorf("the page has markup of its texts:\n%s", page)
	}
	rows := boardRows(page)
	if len(rows) != 3 || !strings.Contains(rows[0], "|"+markup+"; small, quick; |$2.00|under 5 seeds|$1.50|under 5 seeds|") || !strings.Contains(rows[1], "|–|$2.00|under 5 seeds|–|") {
		t.Errorf("the rows are %q", rows)
	}
	b.groups[0].Models = false
	if page, err = b.page(); err != nil || bytes.Contains(page, []byte("after cost")) {
		t.Errorf("a board without models has the profit after their cost, %v", err)
	}
}

// TestCertificateOnTheSameTerms tests that a certificate counts for the agent and the terms that it was made with, and that
// a failed one counts more than one that passed.
func TestCertificateOnTheSameTerms(t *testing.T) {
	verdict := func(text, terms string) certification {
		return certification{Verdicts: []seatVerdict{{Digest: "agent", Verdict: text, terms: terms}}}
	}
	pass, fail, other := verdict("pass: 9 checks", "small"), verdict("fail: 1 of 9 checks", "small"), verdict("pass: 9 checks", "large")
	for _, x := range []struct {
		have []certification
		want string
	}{
		{nil, "none"}, {[]certification{pass}, "pass: 9 checks"}, {[]certification{other}, otherTerms}, {[]certification{other, pass}, "pass: 9 checks"},
		{[]certification{pass, other}, "pass: 9 checks"}, {[]certification{fail, pass, other}, "fail: 1 of 9 checks"},
	} {
		b := &Board{certifications: x.have}
		if got := b.certificateOf(&SeatReport{Kind: "process", digests: []string{"agent"}, terms: "small"}); got != x.want {
			t.Errorf("%+v: %q, want %q", x.have, got, x.want)
		}
		if got := b.certificateOf(&SeatReport{Kind: "process", digests: []string{"another"}, terms: "small"}); got != "none" {
			t.Errorf("another agent: %q", got)
		}
	}
	c := testConfig(t, func(c *Config) {
		c.Seats = []Seat{{Name: "a", Kind: "hold", Fund: int64(5)}, {Name: "b", Kind: "hold", Fund: "5"}, {Name: "c", Kind: "hold", Holds: true, Fund: int64(5)}}
	})
	if termsOf(c, "a") != termsOf(c, "b") || termsOf(c, "a") == termsOf(c, "c") {
		t.Errorf("the terms are %s, %s and %s", termsOf(c, "a"), termsOf(c, "b"), termsOf(c, "c"))
	}
}
