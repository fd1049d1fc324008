package export

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"

	"duplex/internal/atomicfile"
)

// ManifestName is the name of the manifest.
const ManifestName = "manifest.json"

// lockName is the name of the file that an export locks while it writes into a folder.
const lockName = ".lock"

var (
	// ErrExists means that a folder has a file that the export would write.
	ErrExists = errors.New("exists already: delete it, or export into another folder")
	// ErrBusy means that another export is writing into the folder.
	ErrBusy = errors.New("another export is writing into it")
	// ErrNoManifest means that a file with the name of the manifest has other content.
	ErrNoManifest = errors.New("is not the manifest of an export of this version: export into another folder")
)

// Manifest says what the exports of a folder hold, all of one journal.
type Manifest struct {
	FromSeq    uint64  `json:"from_seq,string"`        // the first seq that may be in the files
	ToSeq      uint64  `json:"to_seq,string"`          // the last
	Chain      string  `json:"chain"`                  // running hash of the journal at the cursor of the database at the newest export, also for a range that ends before, in hex
	Group      uint64  `json:"group,string,omitempty"` // number of the journal's group there
	LastAction *Action `json:"last_action,omitempty"`  // newest row of actions there, by which a database is recognized when the journal no longer has the group
	Rows       uint64  `json:"rows"`
	Files      []File  `json:"files"` // by name
}

// Action is the seq of an action and its time in ns since the Unix epoch.
type Action struct {
	Seq uint64 `json:"seq,string"`
	Ts  int64  `json:"ts,string"`
}

// File is a file of an export.
type File struct {
	Name     string `json:"name"`
	Table    string `json:"table"`
	Day      string `json:"day"`             // YYYY-MM-DD, UTC; "" for a table without a time
	Complete bool   `json:"complete"`        // it has every row of its day, which has ended; without a day, of all time
	FromSeq  uint64 `json:"from_seq,string"` // those of the export that wrote it, as the chain
	ToSeq    uint64 `json:"to_seq,string"`
	Chain    string `json:"chain"`
	Rows     uint64 `json:"rows"`
	SHA256   string `json:"sha256"` // in hex
}

// Span is a time from From up to, but without, To, in ns since the Unix epoch.
type Span struct{ From, To int64 }

// Always is all of time.
var Always = Span{math.MinInt64, math.MaxInt64}

// covers reports whether a UTC day is in s; "" is all of time.
func (s Span) covers(day string) (bool, error) {
	if day == "" {
		return s == Always, nil
	}
	start, err := time.Parse(time.DateOnly, day)
	return s.From <= start.UnixNano() && start.AddDate(0, 0, 1).UnixNano() <= s.To, err
}

// Files is an export that is being written. It belongs to one goroutine.
type Files struct {
	dir     string
	created bool // dir did not exist before
	lock    *fileutil.LockedFile
	options Options
	present *Manifest // of earlier exports; nil: none
	files   []File

	// Part names the part of a table without a time that the export has, in the name of its file; "" is all
	// of it. It is set before the first row.
	Part string

	written Manifest
	table   *Table
	span    Span
	day     string
	current *file
}

// Create begins an export into dir, which it creates if necessary. Other exports into the same folder are
// refused until Close returns nil, or Abort. Errors: ErrBusy, ErrNoManifest, one of the options or of the disk.
func Create(dir string, o Options) (*Files, error) {
	if _, err := o.codec(); err != nil {
		return nil, err
	}
	_, err := os.Stat(dir)
	f := &Files{dir: dir, created: errors.Is(err, fs.ErrNotExist), options: o}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if f.lock, err = lock(filepath.Join(dir, lockName)); errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("%s: %w", dir, ErrBusy)
	}
	if err == nil {
		f.present, err = readManifest(filepath.Join(dir, ManifestName))
	}
	if err != nil {
		return nil, errors.Join(err, f.Abort())
	}
	return f, nil
}

// lock locks the file at path, which unlock removes. A file that was removed before the lock was taken locks
// nobody out, so another one is tried. fileutil.ErrLocked means that another export has it.
func lock(path string) (*fileutil.LockedFile, error) {
	for {
		l, err := fileutil.TryLockFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		mine, err := l.Stat()
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		now, err := os.Stat(path)
		if err == nil && os.SameFile(mine, now) {
			return l, nil
		}
		if closed := l.Close(); closed != nil || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, closed)
		}
	}
}

func (f *Files) unlock() error {
	if f.lock == nil {
		return nil
	}
	err := errors.Join(os.Remove(f.lock.Name()), f.lock.Close())
	f.lock = nil
	return err
}

// readManifest returns the manifest at path, nil if there is none.
func readManifest(path string) (*Manifest, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields() // a member that this version does not know would be lost
	err = d.Decode(m)
	older := slices.ContainsFunc(m.Files, func(x File) bool { return x.Chain == "" })
	if err != nil || older || m.Chain == "" {
		return nil, errors.Join(fmt.Errorf("%s %w", path, ErrNoManifest), err)
	}
	return m, nil
}

// Present returns the manifest of earlier exports into the folder, nil if there is none. The caller
// refuses to add rows of another journal.
func (f *Files) Present() *Manifest { return f.present }

// Table ends the files of the table before and begins those of t. The export has every row of t whose time is
// in whole.
func (f *Files) Table(t *Table, whole Span) error {
	err := f.end()
	f.table, f.span, f.day = t, whole, ""
	return err
}

// Row adds a row of the current table. ts is its time in ns since the Unix epoch; 0 for a table
// without one. Times never fall, or an error says so. ErrExists means that the folder has the file of the day.
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

// Close ends the export and writes the manifest, which keeps the entries of earlier exports. The caller sets
// all of m but Rows and Files.
func (f *Files) Close(m Manifest) error {
	if err := f.end(); err != nil {
		return err
	}
	m.Files, m.Rows = append([]File{}, f.files...), 0
	for i := range m.Files {
		x := &m.Files[i]
		x.FromSeq, x.ToSeq, x.Chain = m.FromSeq, m.ToSeq, m.Chain
	}
	m.sum()
	all := m
	if f.present != nil {
		all.Files = slices.Clone(m.Files)
		for _, x := range f.present.Files {
			// An entry with the name of a new file is of a file that was deleted: otherwise ErrExists.
			if !slices.ContainsFunc(m.Files, func(y File) bool { return x.Name == y.Name }) {
				all.Files = append(all.Files, x)
			}
		}
		all.sum()
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(f.dir, ManifestName), append(b, '\n')); err != nil {
		return err
	}
	f.written, f.files, f.created = m, nil, false // Abort leaves what is complete
	return f.unlock()
}

// sum sorts the files of m, and sets the rows and, if there is a file, the range from them.
func (m *Manifest) sum() {
	slices.SortFunc(m.Files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	m.Rows = 0
	for i, x := range m.Files {
		m.Rows += x.Rows
		if i == 0 {
			m.FromSeq, m.ToSeq = x.FromSeq, x.ToSeq
		}
		m.FromSeq, m.ToSeq = min(m.FromSeq, x.FromSeq), max(m.ToSeq, x.ToSeq)
	}
}

// Written returns the manifest of this export alone after Close.
func (f *Files) Written() Manifest { return f.written }

// Abort removes every file that the export has written, and the folder if Create made it. So the
// same export can be tried again.
func (f *Files) Abort() error {
	err := f.discard()
	for _, x := range f.files {
		err = errors.Join(err, os.Remove(filepath.Join(f.dir, x.Name)))
	}
	f.files = nil
	err = errors.Join(err, f.unlock())
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
	name := f.table.Name + "." + string(f.options.Format)
	if part := cmp.Or(day, f.Part); part != "" {
		name = f.table.Name + "-" + part + "." + string(f.options.Format)
	}
	path := filepath.Join(f.dir, name)
	if _, err := os.Lstat(path); err == nil { // end would find it too, after all rows of the day
		return fmt.Errorf("%s %w", path, ErrExists)
	}
	c := &file{name: name, sum: sha256.New()}
	if c.f, err = os.CreateTemp(f.dir, "."+name+"-*"); err != nil {
		return err
	}
	f.current, f.day = c, day
	c.buf = bufio.NewWriterSize(io.MultiWriter(c.f, c.sum), 64<<10)
	if c.enc, err = f.options.encoder(c.buf, f.table); err != nil {
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
	complete, err := f.span.covers(f.day)
	if err == nil {
		err = c.enc.close()
	}
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
	if errors.Is(linked, fs.ErrExist) {
		linked = fmt.Errorf("%s %w", path, ErrExists)
	}
	if err := errors.Join(linked, c.f.Close(), os.Remove(c.f.Name())); err != nil {
		if linked == nil {
			err = errors.Join(err, os.Remove(path))
		}
		return err
	}
	f.files = append(f.files, File{Name: c.name, Table: f.table.Name, Day: f.day, Complete: complete, Rows: c.rows, SHA256: hex.EncodeToString(c.sum.Sum(nil))})
	return atomicfile.SyncDir(f.dir)
}
