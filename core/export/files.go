package export

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"duplex/internal/atomicfile"
)

// ManifestName is the name of the manifest.
const ManifestName = "manifest.json"

// Manifest says what an export holds.
type Manifest struct {
	FromSeq uint64 `json:"from_seq,string"` // the first seq that may be in it
	ToSeq   uint64 `json:"to_seq,string"`   // the last
	Chain   string `json:"chain"`           // running hash of the journal at the cursor of the database, also for a range that ends before, in hex
	Rows    uint64 `json:"rows"`
	Files   []File `json:"files"`
}

// File is a file of an export.
type File struct {
	Name   string `json:"name"`
	Table  string `json:"table"`
	Day    string `json:"day"` // YYYY-MM-DD, UTC; "" for a table without a time
	Rows   uint64 `json:"rows"`
	SHA256 string `json:"sha256"` // in hex
}

// Files is an export that is being written. It belongs to one goroutine.
type Files struct {
	// Raw writes texts to CSV as they are. Without it, an apostrophe is put before a text that begins with
	// =, +, -, @, a tab or a CR, which a spreadsheet would run as a formula. It is set before the first row.
	Raw bool

	dir     string
	created bool // dir did not exist before
	format  Format
	files   []File

	written Manifest
	table   *Table
	day     string
	current *file
}

// Create begins an export into dir, which it creates if necessary. It refuses a folder that has a
// manifest, or a file of one of the tables in this format.
func Create(dir string, format Format, tables []Table) (*Files, error) {
	if format != CSV && format != Parquet {
		return nil, fmt.Errorf("no format %q: csv and parquet exist", format)
	}
	_, err := os.Stat(dir)
	created := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	present, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range present {
		taken := e.Name() == ManifestName
		for _, t := range tables {
			taken = taken || strings.HasPrefix(e.Name(), t.Name) && strings.HasSuffix(e.Name(), "."+string(format))
		}
		if taken {
			return nil, fmt.Errorf("%s exists already: export into an empty folder", filepath.Join(dir, e.Name()))
		}
	}
	return &Files{dir: dir, created: created, format: format}, nil
}

// Table ends the files of the table before and begins those of t.
func (f *Files) Table(t *Table) error {
	err := f.end()
	f.table, f.day = t, ""
	return err
}

// Row adds a row of the current table. ts is its time in ns since the Unix epoch; 0 for a table
// without one. Times never fall, or an error says so.
func (f *Files) Row(ts int64, r Row) error {
	day := ""
	if ts != 0 {
		day = time.Unix(0, ts).UTC().Format(time.DateOnly)
	}
	if f.current == nil || day != f.day {
		if f.current != nil && day < f.day {
			return fmt.Errorf("table %s: a row of %s after one of %s", f.table.Name, day, f.day)
		}
		if err := f.end(); err != nil {
			return err
		}
		if err := f.begin(day); err != nil {
			return err
		}
	}
	f.current.rows++
	return f.current.enc.row(r)
}

// Close ends the export and writes the manifest. It sets Rows and Files of m.
func (f *Files) Close(m Manifest) error {
	if err := f.end(); err != nil {
		return err
	}
	m.Files = append([]File{}, f.files...)
	for _, x := range f.files {
		m.Rows += x.Rows
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	f.written = m
	return atomicfile.Write(filepath.Join(f.dir, ManifestName), append(b, '\n'))
}

// Written returns the manifest after Close.
func (f *Files) Written() Manifest { return f.written }

// Abort removes every file that the export has written, and the folder if Create made it. So the
// same export can be tried again.
func (f *Files) Abort() error {
	err := f.discard()
	for _, x := range f.files {
		err = errors.Join(err, os.Remove(filepath.Join(f.dir, x.Name)))
	}
	f.files = nil
	if f.created && err == nil {
		err = os.Remove(f.dir)
	}
	return err
}

// discard removes the file that is being written.
func (f *Files) discard() error {
	if f.current == nil {
		return nil
	}
	err := errors.Join(f.current.f.Close(), os.Remove(f.current.f.Name()))
	f.current = nil
	return err
}

// file is the file that is being written, under a temporary name.
type file struct {
	f    *os.File
	buf  *bufio.Writer
	sum  hash.Hash
	enc  encoder
	rows uint64
	name string
}

func (f *Files) begin(day string) (err error) {
	name := f.table.Name + "." + string(f.format)
	if day != "" {
		name = f.table.Name + "-" + day + "." + string(f.format)
	}
	c := &file{name: name, sum: sha256.New()}
	if c.f, err = os.CreateTemp(f.dir, "."+name+"-*"); err != nil {
		return err
	}
	f.current, f.day = c, day
	c.buf = bufio.NewWriterSize(io.MultiWriter(c.f, c.sum), 64<<10)
	if c.enc, err = f.format.encoder(c.buf, f.table, f.Raw); err != nil {
		return errors.Join(err, f.discard())
	}
	return nil
}

// end completes the current file and gives it its name.
func (f *Files) end() error {
	c := f.current
	if c == nil {
		return nil
	}
	path := filepath.Join(f.dir, c.name)
	err := c.enc.close()
	if err == nil {
		err = c.buf.Flush()
	}
	if err == nil {
		err = c.f.Sync()
	}
	if err != nil {
		return err // Abort removes the file
	}
	f.current = nil
	linked := os.Link(c.f.Name(), path) // unlike Rename it never replaces a file
	if err := errors.Join(linked, c.f.Close(), os.Remove(c.f.Name())); err != nil {
		if linked == nil {
			err = errors.Join(err, os.Remove(path))
		}
		return err
	}
	f.files = append(f.files, File{Name: c.name, Table: f.table.Name, Day: f.day, Rows: c.rows, SHA256: hex.EncodeToString(c.sum.Sum(nil))})
	return atomicfile.SyncDir(f.dir)
}
