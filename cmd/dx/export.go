package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/core/export"
	"duplex/core/mirror"
	"duplex/server"
)

// exportOptions are the flags of `dx export` and `dx arena export` that say how files are written.
type exportOptions struct {
	Format string `help:"Form of the files: ${enum}." enum:"csv,parquet" default:"csv"`
	Codec  string `help:"Compression of Parquet: zstd, which is the default, or snappy." enum:",zstd,snappy" default:"" placeholder:"CODEC"`
	Raw    bool   `help:"Write texts of CSV as they are, for a program. Without it, one that a spreadsheet would take for a formula has ' before it."`
}

func (o *exportOptions) options() (export.Options, error) {
	if o.Codec != "" && o.Format == string(export.CSV) {
		return export.Options{}, cli.BadFlag("codec", export.ErrCodecOfCSV)
	}
	return export.Options{Format: export.Format(o.Format), Codec: export.Codec(o.Codec), Raw: o.Raw}, nil
}

// exportCmd is `dx export`.
type exportCmd struct {
	Table string `arg:"" help:"Table to export, such as fills, or all."`
	exportOptions
	From   string `help:"First seq, or a time such as 2026-11-22 or 2026-11-22T09:00:00Z; default: the beginning." placeholder:"SEQ|TIME"`
	To     string `help:"Last seq, or a time before which the last row is; default: the end." placeholder:"SEQ|TIME"`
	Out    string `required:"" type:"path" help:"Folder to write into. A file that exists is never changed." placeholder:"DIR"`
	Data   string `help:"Data directory of the venue, which may be running." default:"dx-data" type:"existingdir" env:"DX_DATA"`
	Mirror string `help:"Its mirror: sqlite or postgres://USER:PASSWORD@HOST/DATABASE." default:"sqlite" env:"DX_MIRROR"`
}

func (e *exportCmd) Help() string {
	return `Writes rows of the mirror to files of one UTC day each, TABLE-YYYY-MM-DD, and manifest.json, which has the range, the running hash of the journal, and the rows and SHA-256 of every file. It also says whether a file is complete: whether it has every row of its day, which has ended. Exports of other tables, days and formats can share a folder and its manifest. Money is in pips, and in dollars in columns that end in _usd. Times are in ns, and in CSV again in columns that end in _iso.

Tables: ` + strings.Join(exportNames(), ", ") + `.

Examples:
  dx export all --format parquet --codec snappy --out export
  dx export fills --from 2026-11-22 --to 2026-11-23 --out days
  dx export fills --from 2026-11-23 --to 2026-11-24 --out days`
}

func exportNames() (names []string) {
	for _, t := range mirror.ExportTables() {
		names = append(names, t.Name)
	}
	return names
}

func (e *exportCmd) Run(ctx context.Context, out io.Writer) (err error) {
	tables := mirror.ExportTables()
	if e.Table != "all" {
		tables = slices.DeleteFunc(tables, func(t export.Table) bool { return t.Name != e.Table })
		if len(tables) == 0 {
			return cli.BadFlag("table", fmt.Errorf("%q is none of %s, all", e.Table, strings.Join(exportNames(), ", ")))
		}
	}
	r, err := parseRange(e.From, e.To)
	if err != nil {
		return err
	}
	o, ok, err := server.MirrorOptions(e.Data, e.Mirror)
	if err == nil && !ok {
		err = errors.New("there is no mirror to export")
	}
	if err != nil {
		return cli.BadFlag("mirror", err)
	}
	options, err := e.options()
	if err != nil {
		return err
	}
	files, err := export.Create(e.Out, options)
	if err != nil {
		return cli.BadFlag("out", err)
	}
	names := make([]string, len(tables))
	for i := range tables {
		names[i] = tables[i].Name
	}
	show := cli.NewCounter(os.Stderr, "rows")
	m, err := mirror.Export(ctx, o, names, r, files, show.Update)
	if err == nil {
		err = files.Close(m)
	}
	show.Clear()
	if err != nil {
		err = errors.Join(err, files.Abort())
		switch {
		case errors.Is(err, mirror.ErrEmptyRange):
			return cli.BadFlag("to", err)
		case errors.Is(err, export.ErrExists), errors.Is(err, mirror.ErrOtherExports):
			return cli.BadFlag("out", err)
		case ctx.Err() != nil:
			return errors.New("stopped; no file stays")
		}
		return err
	}
	_, err = io.WriteString(out, e.summary(files.Written(), r))
	return err
}

// summary says what was written.
func (e *exportCmd) summary(m export.Manifest, r mirror.Range) string {
	word := "files"
	if len(m.Files) == 1 {
		word = "file"
	}
	text := fmt.Sprintf("wrote %s rows in %d %s to %s", cli.Grouped(m.Rows), len(m.Files), word, cli.RelativePath(e.Out))
	if m.Rows == 0 {
		return text + ": the mirror has no row in this range\n"
	}
	text += fmt.Sprintf(", of seq %d to %d", m.FromSeq, m.ToSeq)
	if r.ToSeq > m.ToSeq {
		text += ", where the mirror ends"
	}
	return text + "\n"
}

// parseRange parses two bounds, both seqs or both times.
func parseRange(from, to string) (r mirror.Range, err error) {
	fromSeq, fromTs, err := parseBound("from", from)
	if err != nil {
		return r, err
	}
	toSeq, toTs, err := parseBound("to", to)
	if err != nil {
		return r, err
	}
	if fromSeq != 0 && toTs != 0 || fromTs != 0 && toSeq != 0 {
		return r, cli.BadFlag("to", errors.New("must be a seq if --from is one, and a time if --from is one"))
	}
	return mirror.Range{FromSeq: fromSeq, ToSeq: toSeq, FromTs: fromTs, ToTs: toTs}, nil
}

// parseBound parses a seq or a time; without text both are 0.
func parseBound(flag, text string) (seq uint64, ts int64, err error) {
	if text == "" {
		return 0, 0, nil
	}
	if seq, err = cli.ParseUint(text, 63); err == nil && seq > 0 {
		return seq, 0, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano} {
		if at, err := time.Parse(layout, text); err == nil && at.UnixNano() > 0 {
			return 0, at.UnixNano(), nil
		}
	}
	return 0, 0, cli.BadFlag(flag, errors.New("must be a seq above 0, a day such as 2026-11-22, or a time such as 2026-11-22T09:00:00Z"))
}
