package arena

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/core"
)

// barsBegin is the begin of the first bar of a test, in Unix seconds.
const barsBegin = 1_767_571_200 // 2026-01-05T00:00:00Z

// closesOf returns n closes of a random walk, as text with two decimals and as prices.
func closesOf(n int) (text []string, prices []core.Price) {
	r := rand.New(rand.NewPCG(3, 4))
	cents := 9_000_000
	for range n {
		cents += r.IntN(2001) - 1000
		text, prices = append(text, fmt.Sprintf("%d.%02d", cents/100, cents%100)), append(prices, core.Price(cents)*1_000_000)
	}
	return text, prices
}

// klines are the bars of a file of Binance, which has no names: open time in µs, open, high, low, close, volume, close
// time, quote volume, trades, taker buys in both, and a column that is not used.
func klines(closes []string, missing ...int) string {
	var b strings.Builder
	for i, c := range closes {
		if at := int64(barsBegin+i) * 1e6; !slices.Contains(missing, i) {
			fmt.Fprintf(&b, "%d,%s,%s,%s,%s,0.51200000,%d,46080.12,7,0.2,18000.5,0\n", at, c, c, c, c, at+999_999)
		}
	}
	return b.String()
}

// candles are the bars of a file with the names of Kraken's columns, a minute each.
func candles(closes []string) string {
	var b strings.Builder
	b.WriteString("time,open,high,low,close,vwap,volume,count\n")
	for i, c := range closes {
		fmt.Fprintf(&b, "%d,%s,%s,%s,%s,%s,1.5,20\n", barsBegin+60*i, "1.0", "2.0", "0.5", c, c)
	}
	return b.String()
}

// newestFirst returns a file whose lines, but the first n, are in falling order.
func newestFirst(n int, file string) string {
	lines := strings.SplitAfter(file, "\n")
	slices.Reverse(lines[n : len(lines)-1])
	return strings.Join(lines, "")
}

func writeText(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// playTape runs a seed on a tape and returns the report and the prices of its index.
func playTape(t *testing.T, tape string, change func(*Config)) (*Report, []core.Price) {
	t.Helper()
	dir := t.TempDir()
	r := mustRun(t, testConfig(t, func(c *Config) { c.Tape, c.Seeds, c.Rounds, c.Seats = tape, "1", 1, c.Seats[:2] }, change), Options{Dir: dir})
	if _, err := Verify(dir, nil); err != nil {
		t.Error(err)
	}
	return r, indexOf(t, filepath.Join(dir, "1"))
}

// TestImportSeconds imports bars of a second in the columns of Binance, of which up to five in a row are missing, and
// plays them to the end.
func TestImportSeconds(t *testing.T) {
	const seconds = (1+2)*60 + 60 // of one round of 60 s
	text, want := closesOf(seconds)
	missing := []int{7, 100, 101, 102, 103, 104}
	for _, i := range missing {
		want[i] = want[i-1]
	}
	m := &Import{File: writeText(t, "klines.csv", klines(text, missing...)), Out: filepath.Join(t.TempDir(), "new", "tape.csv"), Source: "binance, 1 s", Feed: "btc"}
	x, err := m.Run()
	if err != nil || *x != (Imported{core.BTC, time.Second, seconds, time.Unix(barsBegin+1, 0).UTC()}) {
		t.Fatalf("%+v, %v", x, err)
	}
	tape, err := readTape(m.Out, core.BTC)
	if err != nil || !slices.Equal(tape.prices, want) || tape.start != (barsBegin+1)*core.NsPerSec {
		t.Errorf("the tape begins at %d, %v, and has the prices\n%v", tape.start, err, tape.prices)
	}
	r, played := playTape(t, m.Out, func(*Config) {})
	if len(played) <= 60 || !slices.Equal(played, want[:len(played)]) {
		t.Errorf("%d prices were played that are not those of a round:\n%v", len(played), played)
	}
	if r.Tape == nil || r.Tape.Source != m.Source || r.Tape.Windows != 1 || r.Lines()[0] != "BTC index of tape binance, 1 s, synthetic maker and noise: says nothing about a real market." {
		t.Errorf("the report has the tape %+v, and says %q", r.Tape, r.Lines()[0])
	}
	falling := *m
	falling.File, falling.Out = writeText(t, "klines.csv", newestFirst(0, klines(text, missing...))), filepath.Join(t.TempDir(), "tape.csv")
	if again, err := falling.Run(); err != nil || *again != *x || readText(t, falling.Out) != readText(t, m.Out) {
		t.Errorf("bars that fall make another tape: %+v, %v", again, err)
	}
}

// TestImportMinutes imports bars of a minute in the columns of Kraken and plays them to the end: a close holds until the
// next. They are not for a series of 60 s.
func TestImportMinutes(t *testing.T) {
	const minutes = (1+2)*5 + 1 // of one round of 5 min
	text, closes := closesOf(minutes)
	m := &Import{File: writeText(t, "candles.csv", candles(text)), Out: filepath.Join(t.TempDir(), "tape.csv"), Source: "kraken", Feed: "BTC"}
	x, err := m.Run()
	if err != nil || *x != (Imported{core.BTC, time.Minute, 60 * minutes, time.Unix(barsBegin+60, 0).UTC()}) {
		t.Fatalf("%+v, %v", x, err)
	}
	var want []core.Price
	for _, c := range closes {
		want = append(want, slices.Repeat([]core.Price{c}, 60)...)
	}
	if tape, err := readTape(m.Out, core.BTC); err != nil || !slices.Equal(tape.prices, want) {
		t.Errorf("the tape has the prices\n%v, %v", tape.prices, err)
	}
	r, played := playTape(t, m.Out, func(c *Config) { c.Series = "btc-5m" })
	if len(played) <= 5*60 || !slices.Equal(played, want[:len(played)]) {
		t.Errorf("%d prices were played that are not those of a round:\n%v", len(played), played)
	}
	if r.Tape == nil || r.Tape.Source != "kraken" || r.Tape.Windows != 1 {
		t.Errorf("the report has the tape %+v", r.Tape)
	}
	falling := *m
	falling.File, falling.Out = writeText(t, "candles.csv", newestFirst(1, candles(text))), filepath.Join(t.TempDir(), "tape.csv")
	if again, err := falling.Run(); err != nil || *again != *x || readText(t, falling.Out) != readText(t, m.Out) {
		t.Errorf("bars that fall make another tape: %+v, %v", again, err)
	}
	c := NewConfig()
	c.Tape, c.Seeds, c.Rounds, c.Seats = m.Out, "1", 1, []Seat{{Name: "hold", Kind: "hold"}}
	var bad *ConfigError
	if err := c.Complete(); !errors.As(err, &bad) || !strings.Contains(err.Error(), "has a price each minute: it is for btc-5m and btc-15m") {
		t.Errorf("bars of a minute for btc-60s: %v", err)
	}
}

// TestImportColumns tests that the same bars give the same tape, whatever the unit of the times and however the columns
// are found.
func TestImportColumns(t *testing.T) {
	bars := func(header string, row func(i int, c string) string) string {
		lines := []string{header}
		for i, c := range []string{"90000.5", "90001", "90002.25"} {
			lines = append(lines, row(i, c))
		}
		return strings.TrimPrefix(strings.Join(lines, "\n"), "\n") + "\n"
	}
	number := func(unit int64) string {
		return bars("", func(i int, c string) string { return fmt.Sprintf("%d,1,2,3,%s,4", (barsBegin+int64(i))*unit, c) })
	}
	const link = "https://www.CryptoDataDownload.com\n"
	download := newestFirst(1, bars("unix,date,symbol,open,high,low,close,Volume BTC", func(i int, c string) string {
		return fmt.Sprintf("%d,2026-01-05 00:00:0%d,BTC/USDT,1,2,3,%s,4", barsBegin+i, i, c)
	}))
	separated := func(by string) string { return strings.ReplaceAll(download, ",", by) }
	at := func(i int, layout string) string { return time.Unix(barsBegin+int64(i), 0).UTC().Format(layout) }
	want := "ts_ns,feed,source,price\n1767571201000000000,BTC,x,90000.50000000\n1767571202000000000,BTC,x,90001.00000000\n1767571203000000000,BTC,x,90002.25000000\n"
	for name, x := range map[string]struct{ file, time, price string }{
		"s":                 {file: number(1)},
		"ms":                {file: number(1e3)},
		"µs":                {file: number(1e6)},
		"ns":                {file: number(1e9)},
		"line ends":         {file: strings.ReplaceAll(number(1), "\n", "\r\n")},
		"by number":         {bars("", func(i int, c string) string { return fmt.Sprintf("x, %s ,%d", c, barsBegin+i) }), "3", "2"},
		"Coinbase":          {file: bars("time,low,high,open,close,volume", func(i int, c string) string { return fmt.Sprintf("%d,1,2,3,%s,4", barsBegin+i, c) })},
		"other places":      {file: bars("\ufeffClose,Timestamp", func(i int, c string) string { return fmt.Sprintf("%s,%d", c, barsBegin+i) })},
		"by name":           {bars("begin,last,close", func(i int, c string) string { return fmt.Sprintf("%d,%s,1", barsBegin+i, c) }), "begin", "last"},
		"numbers too":       {bars("begin,last,close", func(i int, c string) string { return fmt.Sprintf("%d,%s,1", barsBegin+i, c) }), "1", "2"},
		"newest first":      {file: newestFirst(1, bars("time,low,high,open,close,volume", func(i int, c string) string { return fmt.Sprintf("%d,1,2,3,%s,4", barsBegin+i, c) }))},
		"no names":          {file: "1767571202,1,2,3,90002.25\n1767571201,1,2,3,90001\n1767571200,1,2,3,90000.5\n"},
		"a link":            {file: link + download},
		"blank lines":       {file: "\n" + link + "\r\n" + download},
		"semicolons":        {file: separated(";")},
		"tabs":              {file: separated("\t")},
		"empty cells":       {file: strings.ReplaceAll(separated("\t"), "BTC/USDT", "")},
		"a link, tabs":      {file: "\ufeff" + link + separated("\t")},
		"quoted":            {file: bars("\"date, UTC\";time;close", func(i int, c string) string { return fmt.Sprintf("\"a,b\";%d;%s", barsBegin+i, c) })},
		"a comma in a cell": {file: strings.ReplaceAll(separated(";"), "BTC/USDT", "BTC, USDT")},
		"decimals":          {file: bars("time,close", func(i int, c string) string { return fmt.Sprintf("%d.%s,%s", barsBegin+i, strings.Repeat("0", i+1), c) })},
		"ISO":               {file: bars("time,close", func(i int, c string) string { return at(i, "2006-01-02T15:04:05.000Z") + "," + c })},
		"ISO, blank":        {bars("", func(i int, c string) string { return c + "," + at(i, "2006-01-02 15:04:05+00:00") }), "2", "1"},
		"ISO, no zone":      {bars("", func(i int, c string) string { return c + "," + at(i, time.DateTime) }), "2", "1"},
	} {
		m := &Import{File: writeText(t, "bars.csv", x.file), Out: filepath.Join(t.TempDir(), "tape.csv"), Source: "x", Feed: "btc", Time: x.time, Price: x.price}
		_, err := m.Run()
		if b, _ := os.ReadFile(m.Out); err != nil || string(b) != want {
			t.Errorf("%s: %v, the tape is\n%s, want\n%s\nof\n%s", name, err, b, want, x.file)
		}
	}
}

// TestImportErrors tests that an error names line and column, and changes nothing.
func TestImportErrors(t *testing.T) {
	good := klines([]string{"1", "2", "3"})
	lines := strings.SplitAfter(good, "\n")
	dir := t.TempDir()
	out := filepath.Join(dir, "tape.csv")
	if err := os.WriteFile(out, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		file, want string
		change     func(*Import)
	}{
		"a large gap":               {file: klines(strings.Split("1,1,1,1,1,1,1,1,1", ","), 2, 3, 4, 5, 6, 7), want: "line 3, column 1: 6 s are missing"},
		"a falling time":            {file: lines[0] + lines[2] + lines[1], want: "line 3, column 1: the time falls to 1767571201000000"},
		"a repeated time":           {file: lines[0] + lines[1] + lines[1], want: "line 3, column 1: the time 1767571201000000 is there twice"},
		"a missing minute":          {file: candles([]string{"1", "2", "3"}) + "1767571440,1,1,1,4,1,1,1\n", want: "line 5, column time: 1767571440 is 120 s after the bar before"},
		"a second in minutes":       {file: candles([]string{"1", "2", "3"}) + "1767571321,1,1,1,4,1,1,1\n", want: "line 5, column time: 1767571321 is 1 s after"},
		"bars of 5 s":               {file: "time,close\n1767571200,1\n1767571205,2\n1767571210,3\n", want: "line 3, column time: no two bars follow each other by 1 s"},
		"bars of an hour":           {file: "time,close\n1767571200,1\n1767574800,2\n", want: "line 3, column time: 3599 s are missing"},
		"a price that is text":      {file: lines[0] + strings.ReplaceAll(lines[1], ",2,2,2,2,", ",2,2,2,x,"), want: `line 2, column 5: "x" is no price`},
		"no price":                  {file: "time,close\n1767571200,1\n1767571201,\n", want: `line 3, column close: "" is no price`},
		"a price of 0":              {file: "time,close\n1767571200,0.000\n", want: `line 2, column close: "0.000" is no price`},
		"a negative price":          {file: "time,close\n1767571200,-1\n", want: `line 2, column close: "-1" is no price`},
		"a price that is NaN":       {file: "time,close\n1767571200,1\n1767571201,NaN\n", want: `line 3, column close: "NaN" is no price`},
		"a time that is text":       {file: lines[0] + "x" + lines[1], want: `line 2, column 1: "x1767571201000000" is no time`},
		"a time of 0":               {file: "time,close\n0,1\n", want: `line 2, column time: "0" is no time`},
		"another unit":              {file: "time,close\n1767571200,1\n1767571201000,2\n", want: `line 3, column time: "1767571201000" is a time in ms, the first one in s`},
		"half a second":             {file: "time,close\n1767571200500,1\n", want: `line 2, column time: "1767571200500" is not a whole second`},
		"a time too late":           {file: "time,close\n99999999999,1\n", want: "line 2, column time: \"99999999999\" is a time after the year 2262"},
		"a line cut off":            {file: lines[0] + lines[1][:22], want: "line 2, column 5: the line has 4 cells, the first one 12"},
		"a quote":                   {file: "time,close\n1767571200,\"1\n", want: "line 2, column 15: extraneous"},
		"times that rise again":     {file: lines[2] + lines[1] + lines[2], want: "line 3, column 1: the time rises to 1767571202000000"},
		"a repeated time, falling":  {file: lines[2] + lines[1] + lines[1], want: "line 3, column 1: the time 1767571201000000 is there twice"},
		"a large gap, falling":      {file: "time,close\n1767571210,1\n1767571209,2\n1767571200,2\n", want: "line 4, column time: 8 s are missing after 1767571200"},
		"a missing minute, falling": {file: "time,close\n1767571380,1\n1767571320,2\n1767571200,2\n", want: "line 4, column time: 1767571200 is 120 s before the bar of the line before"},
		"bars of 5 s, falling":      {file: "time,close\n1767571210,1\n1767571205,2\n", want: "line 3, column time: no two bars follow each other by 1 s"},
		"decimals of a time":        {file: "time,close\n1767571200.50,1\n", want: `line 2, column time: "1767571200.50" is no time`},
		"a point alone":             {file: "time,close\n1767571200.,1\n", want: `line 2, column time: "1767571200." is no time`},
		"an error after a link":     {file: "link\n\ntime,close\n1767571200,1\n1767571201,x\n", want: `line 5, column close: "x" is no price`},
		"names after a link":        {file: "link\ntime,last\n", want: "line 2: no column close"},
		"a quote after a link":      {file: "link\ntime,close\n1767571200,\"1\n", want: "line 3, column 15: extraneous"},
		"a link and no names":       {file: "link\n" + good, want: "line 1 has no comma, semicolon or tab, and no names of columns follow it"},
		"a first line cut off":      {file: lines[0][:9] + "\n" + lines[1] + lines[2], want: "line 1 has no comma, semicolon or tab, and no names of columns follow it"},
		"two links":                 {file: "link\nlink\ntime,close\n", want: "line 2: no comma, semicolon or tab separates columns"},
		"a link alone":              {file: "\nlink\n\n", want: "line 2: no comma, semicolon or tab separates columns"},
		"a column alone":            {file: "close\n1\n2\n", want: "line 2: no comma, semicolon or tab separates columns"},
		"blank lines alone":         {file: "\n\n", want: "the file is empty"},
		"mixed separators":          {file: "time;close\n1767571200;1\n1767571201,2\n", want: "line 3, column 2: the line has 1 cell, the first one 2"},
		"mixed with the names":      {file: "time,close\n1767571200;1\n", want: "line 2, column 2: the line has 1 cell, the first one 2"},
		"a comma as a point":        {file: "1767571200;1;2;3;90000,5\n", want: `line 1, column 5: "90000,5" is no price`},
		"one bar":                   {file: lines[0], want: "one bar alone"},
		"names alone":               {file: "time,close\n", want: "no bar"},
		"nothing":                   {file: "", want: "the file is empty"},
		"no column of that name":    {file: "time,close\n1,1\n", want: "line 1: no column last: name one of time, close", change: func(m *Import) { m.Price = "last" }},
		"no usual name":             {file: "begin,last\n1,1\n", want: "line 1: no column time or timestamp"},
		"a name of two columns":     {file: "time,close,close\n1,1,1\n", want: "line 1: column close is there twice"},
		"no names":                  {file: good, want: "line 1: no column close: the line has no names", change: func(m *Import) { m.Price = "close" }},
		"no column 13":              {file: good, want: "line 1: no column 13: there are 12", change: func(m *Import) { m.Price = "13" }},
		"column 0":                  {file: good, want: "line 1: no column 0", change: func(m *Import) { m.Time = "0" }},
		"a feed":                    {file: good, want: "feed \"eth\": one of [btc gold wti]", change: func(m *Import) { m.Feed = "eth" }},
		"no source":                 {file: good, want: "source \"\"", change: func(m *Import) { m.Source = "" }},
		"a source of two lines":     {file: good, want: "source \"a\\nb\"", change: func(m *Import) { m.Source = "a\nb" }},
		"no file":                   {want: "no such file", change: func(m *Import) { m.File = filepath.Join(dir, "none") }},
		"a folder":                  {want: "is no regular file", change: func(m *Import) { m.File = dir }},
		"the same file":             {want: "is the file of the bars", change: func(m *Import) { m.File = out }},
		"a folder as the tape":      {file: good, want: "is no regular file", change: func(m *Import) { m.Out = dir }},
	} {
		m := &Import{File: writeText(t, "bars.csv", x.file), Out: out, Source: "x", Feed: "btc"}
		if x.change != nil {
			x.change(m)
		}
		_, err := m.Run()
		if bad := (*ConfigError)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want an error of the settings with %q", name, err, x.want)
		}
		b, err := os.ReadFile(out)
		entries, _ := os.ReadDir(dir)
		if err != nil || string(b) != "as it was" || len(entries) != 1 {
			t.Errorf("%s: the tape has %q, %v, and its folder %v", name, b, err, entries)
		}
	}
	if _, err := (&Import{File: writeText(t, "bars.csv", "x,y\n"), Out: filepath.Join(dir, "new", "tape.csv"), Source: "x", Feed: "btc"}).Run(); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("a folder for a tape that was not written")
	}
}
