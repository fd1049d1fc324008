package main

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"duplex/core/mirror"
	"duplex/internal/memdir"
)

var update = flag.Bool("update", false, "rewrite the outputs and results in docs/guides/data.md")

const dataGuide = "../../docs/guides/data.md"

// TestDataGuide runs the commands of docs/guides/data.md in their order and its queries on the
// mirror of the recorded run, and compares every output and every result with the page.
func TestDataGuide(t *testing.T) {
	if !long() {
		t.Skip("runs an arena and reads its 163,000 rows several times: DX_LONG=1 go test ./cmd/dx -run DataGuide")
	}
	page, err := os.ReadFile(dataGuide)
	if err != nil {
		t.Fatal(err)
	}
	g := &guide{t: t, queries: map[string]string{}}
	if g.root, err = filepath.Abs("../.."); err != nil {
		t.Fatal(err)
	}
	if g.python, err = exec.LookPath("python3"); err != nil {
		t.Log("python3 is not installed: its lines are not checked")
	}
	t.Chdir(memdir.New(t))
	if err := os.Symlink(filepath.Join(g.root, "examples"), "examples"); err != nil {
		t.Fatal(err)
	}
	fresh := fenced.ReplaceAllStringFunc(string(page), func(old string) string {
		m := fenced.FindStringSubmatch(old)
		kind, name, _ := strings.Cut(m[1], " ")
		switch {
		case kind == "console":
			return "```" + m[1] + "\n" + g.console(m[2]) + "```\n"
		case kind == "sql":
			g.queries[name] = m[2]
		case kind == "text" && g.queries[name] != "":
			return "```" + m[1] + "\n" + g.query(g.queries[name]) + "```\n"
		}
		return old
	})
	if *update {
		if err := os.WriteFile(filepath.Join(g.root, "docs/guides/data.md"), []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if fresh != string(page) {
		t.Errorf("with -update the page gets the outputs and results of this program:\n%s", firstDifference(string(page), fresh))
	}
	if len(g.queries) < 5 || g.commands < 6 {
		t.Errorf("%d queries and %d commands", len(g.queries), g.commands)
	}
	g.checkMoney()
}

// fenced matches a block of code with its info string and its lines.
var fenced = regexp.MustCompile("(?ms)^```(\\S+ ?[^\n]*)\n(.*?)^```\n")

// guide runs the commands and queries of the page.
type guide struct {
	t        *testing.T
	root     string // of the project
	python   string // "" if there is none
	queries  map[string]string
	commands int
}

// console runs the commands of a block and returns it with their outputs.
func (g *guide) console(block string) string {
	g.t.Helper()
	var out strings.Builder
	old := "" // the outputs in the page
	for line := range strings.Lines(block) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			old += line
			continue
		}
		g.commands++
		out.WriteString(line)
		args := strings.Fields(command)
		switch args[0] {
		case "go": // go run ./cmd/dx …
			_, text, errs := runCommand(args[3:]...)
			out.WriteString(text + errs)
		case "python3":
			if g.python == "" {
				return block
			}
			out.WriteString(g.run(exec.Command(g.python, append([]string{"-B"}, args[1:]...)...)))
		default:
			out.WriteString(g.run(exec.Command("sh", "-c", command)))
		}
	}
	return out.String()
}

func (g *guide) run(cmd *exec.Cmd) string {
	g.t.Helper()
	b, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Errorf("%s failed: %v\n%s", cmd, err, b)
	}
	return string(b)
}

func (g *guide) open() *sql.DB {
	g.t.Helper()
	db, err := sql.Open("sqlite", "file:"+mirror.SQLitePath("data")+"?mode=ro")
	if err != nil {
		g.t.Fatal(err)
	}
	return db
}

// query returns the result of a query as a table of aligned columns.
func (g *guide) query(text string) string {
	g.t.Helper()
	db := g.open()
	defer db.Close()
	rows, err := db.Query(text)
	if err != nil {
		g.t.Fatalf("the query %s failed: %v", text, err)
	}
	defer rows.Close()
	header, err := rows.Columns()
	if err != nil {
		g.t.Fatal(err)
	}
	table := [][]string{header}
	values, into := make([]any, len(header)), make([]any, len(header))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			g.t.Fatal(err)
		}
		line := make([]string, len(values))
		for i, v := range values {
			line[i] = cell(v)
		}
		table = append(table, line)
	}
	if err := rows.Err(); err != nil {
		g.t.Fatal(err)
	}
	return alignColumns(table)
}

// cell formats a value as sqlite3 does: a real number has a decimal point.
func cell(v any) string {
	f, ok := v.(float64)
	if !ok {
		return fmt.Sprint(v)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// alignColumns writes rows as columns: text to the left, numbers to the right.
func alignColumns(rows [][]string) string {
	width, number := make([]int, len(rows[0])), make([]bool, len(rows[0]))
	for i := range width {
		for j, row := range rows {
			width[i] = max(width[i], len(row[i]))
			if j > 0 {
				_, err := strconv.ParseFloat(row[i], 64)
				number[i] = err == nil
			}
		}
	}
	var out strings.Builder
	for _, row := range rows {
		line := ""
		for i, c := range row {
			if number[i] {
				line += fmt.Sprintf("%*s  ", width[i], c)
			} else {
				line += fmt.Sprintf("%-*s  ", width[i], c)
			}
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.String()
}

// checkMoney checks what the page says of the sums: profits and fees cancel each other.
func (g *guide) checkMoney() {
	g.t.Helper()
	db := g.open()
	defer db.Close()
	var profit, fees int64
	if err := db.QueryRow("SELECT sum(profit), sum(fees) FROM user_rounds WHERE profit IS NOT NULL").Scan(&profit, &fees); err != nil {
		g.t.Fatal(err)
	}
	if profit != -fees || fees == 0 {
		g.t.Errorf("profits of %d, fees of %d", profit, fees)
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d\n-%s\n+%s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, and %d", len(x), len(y))
}

// TestDataGuideHasEveryColumn compares the tables of docs/guides/data.md with the mirror's schema.
func TestDataGuideHasEveryColumn(t *testing.T) {
	b, err := os.ReadFile(dataGuide)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	name := regexp.MustCompile("`([a-z_]+)`")
	for _, table := range mirror.ExportTables() {
		_, section, _ := strings.Cut(page, "\n### `"+table.Name+"`\n")
		section, _, _ = strings.Cut(section, "\n#")
		var says, want []string
		for line := range strings.Lines(section) {
			if cells := strings.Split(line, "|"); len(cells) == 4 && strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
				for _, m := range name.FindAllStringSubmatch(cells[1], -1) {
					says = append(says, m[1])
				}
			}
		}
		for _, c := range table.Columns {
			want = append(want, c.Name)
		}
		if !slices.Equal(says, want) {
			t.Errorf("table %s: the page has the columns\n%s\nand the mirror\n%s", table.Name, says, want)
		}
		if !strings.Contains(section, " Key: `"+want[0]+"`") {
			t.Errorf("table %s: the page does not name its key", table.Name)
		}
	}
}
