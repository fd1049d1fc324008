package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"duplex/core/journal"
)

// etcd's database is a file of bbolt, which the process maps into memory: a file that was cut ends the
// process with SIGBUS when a page beyond its end is read. So the file is compared with its own header
// before etcd opens it. The header is one of the first two pages, the one with the higher transaction:
//
//	16  magic      u32, and the version, u32
//	24  page size  u32
//	56  pages      u64, all that the file has
//	64  txid       u64
//	72  sum        FNV-64a of bytes 16 to 71
const (
	boltMagic     = 0xED0CDAED
	boltVersion   = 2
	boltMeta      = 16
	boltMetaBytes = 64
	boltPageMin   = 1 << 10
	boltPageMax   = 1 << 16
)

var (
	errNoHeader = errors.New("it has no header of a database: it was cut or overwritten")
	errNoDB     = errors.New("it is missing, or empty")
	errNoWAL    = errors.New("etcd has no WAL")
)

// replaceMember says what to do about etcd's damaged data.
const replaceMember = "replace the member (dx cluster add, remove, promote), or see dx cluster recover if the majority is lost"

// checkDatabase returns a *journal.Damage if etcd's database, beside a WAL that exists, is missing or
// shorter than its header says.
func checkDatabase(dir string) error {
	path := filepath.Join(dir, "etcd", "member", "snap", "db")
	damage := func(err error) error {
		return &journal.Damage{File: path, Err: fmt.Errorf("%w: %s", err, replaceMember)}
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return damage(errNoDB)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() == 0 {
		return damage(errNoDB)
	}
	need, err := databaseSize(f)
	if errors.Is(err, errNoHeader) {
		return damage(err)
	}
	if err == nil && st.Size() < need {
		return damage(fmt.Errorf("it has %d bytes, its header says at least %d: it was cut", st.Size(), need))
	}
	return err
}

// databaseSize returns the least size of a database in bytes, by its header.
func databaseSize(f io.ReaderAt) (need int64, err error) {
	newest, found := uint64(0), false
	offsets := []int64{0}
	for size := int64(boltPageMin); size <= boltPageMax; size *= 2 {
		offsets = append(offsets, size)
	}
	for _, at := range offsets {
		var b [boltMetaBytes]byte
		switch _, err := f.ReadAt(b[:], at+boltMeta); {
		case err == io.EOF:
			continue
		case err != nil:
			return 0, err
		}
		u32, u64 := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
		sum := fnv.New64a()
		sum.Write(b[:56])
		page := int64(u32(b[8:]))
		if u32(b[:]) != boltMagic || u32(b[4:]) != boltVersion || u64(b[56:]) != sum.Sum64() || at != 0 && at != page {
			continue
		}
		if txid := u64(b[48:]); !found || txid > newest {
			newest, found, need = txid, true, int64(u64(b[40:]))*page
		}
	}
	if !found {
		return 0, errNoHeader
	}
	return need, nil
}

// mayLack is how many entries etcd's WAL may lack of those that its database has. etcd applies what the
// others have committed while it writes it to its WAL, so when the power fails the database may be ahead by
// what it applies at a time. That is 1 MiB, in which there are fewer small entries than this. This member
// has confirmed none of them.
const mayLack = 10_000

// checkWAL returns a *journal.Damage if etcd's WAL lacks more than some entries of those that its database
// has. etcd would start, get from the others what is missing, and vote meanwhile as if it had confirmed
// nothing of that. A record that makes no sense is left to etcd, which names it.
func checkWAL(dir string, some uint64) error {
	member := filepath.Join(dir, "etcd", "member")
	applied, err := appliedIndex(filepath.Join(member, "snap", "db"))
	if err != nil {
		return err
	}
	file, last, err := endOfWAL(filepath.Join(member, "wal"))
	if err != nil || applied <= last+some {
		return err
	}
	return &journal.Damage{File: file, Err: fmt.Errorf("it ends at entry %d, and etcd's database has entry %d: it was cut: %s", last, applied, replaceMember)}
}

// appliedIndex returns the index of the newest entry that a database of etcd has; 0 if it has none. The
// error is a *journal.Damage if a page makes no sense.
func appliedIndex(path string) (index uint64, err error) {
	damage := func(what any) error {
		return &journal.Damage{File: path, Err: fmt.Errorf("%v: %s", what, replaceMember)}
	}
	defer func() {
		if what := recover(); what != nil { // bbolt's answer to such a page
			err = damage(what)
		}
	}()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if system := syscall.Errno(0); errors.As(err, &system) || errors.Is(err, bolterrors.ErrTimeout) {
		return 0, fmt.Errorf("%s: %w", path, err) // it says nothing about the file
	}
	if err != nil {
		return 0, damage(err)
	}
	err = db.View(func(tx *bolt.Tx) error {
		meta := tx.Bucket(schema.Meta.Name())
		if meta == nil {
			return nil // a database that etcd has just made
		}
		if v := meta.Get(schema.MetaConsistentIndexKeyName); len(v) == 8 {
			index = binary.BigEndian.Uint64(v)
		}
		return nil
	})
	return index, errors.Join(err, db.Close())
}

// endOfWAL returns the newest file of a WAL, and the index of the last entry or snapshot in it. It reads up
// to the first record that is not whole.
func endOfWAL(dir string) (path string, last uint64, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil || len(files) == 0 {
		return "", 0, errors.Join(err, errNoWAL)
	}
	path = slices.Max(files)
	var number, next uint64 // of the file; of the first entry in it
	if _, err := fmt.Sscanf(filepath.Base(path), "%016x-%016x.wal", &number, &next); err != nil {
		return path, 0, fmt.Errorf("%s: %w", path, err)
	}
	last = max(next, 1) - 1
	f, err := os.Open(path)
	if err != nil {
		return path, 0, err
	}
	defer f.Close()
	d := wal.NewDecoder(fileutil.NewFileReader(f))
	for rec := new(walpb.Record); d.Decode(rec) == nil; {
		switch rec.GetType() {
		case wal.CrcType:
			d.UpdateCRC(rec.GetCrc())
		case wal.EntryType:
			var e raftpb.Entry
			if err := proto.Unmarshal(rec.Data, &e); err != nil {
				return path, last, nil
			}
			last = e.GetIndex() // it replaces what was there
		case wal.SnapshotType:
			var s walpb.Snapshot
			if err := proto.Unmarshal(rec.Data, &s); err != nil {
				return path, last, nil
			}
			last = max(last, s.GetIndex())
		}
	}
	return path, last, nil
}

// damageOfWAL is a *journal.Damage for an error of etcd's start that comes from a damaged WAL.
func damageOfWAL(dir string, err error) error {
	for _, known := range []error{wal.ErrCRCMismatch, wal.ErrSnapshotMismatch, wal.ErrSnapshotNotFound, wal.ErrSliceOutOfRange, wal.ErrFileNotFound, wal.ErrMetadataConflict, proto.Error} {
		if errors.Is(err, known) {
			return &journal.Damage{File: filepath.Join(dir, "etcd", "member", "wal"), Err: fmt.Errorf("%w: %s", err, replaceMember)}
		}
	}
	return err
}

// raftLostEntries is what etcd says before it ends the process because another member knows of entries
// that this one has confirmed and does not have.
const raftLostEntries = "Was the raft log corrupted, truncated, or lost?"

// unreadableWAL are the beginnings of what etcd says before it ends the process because of its WAL.
var unreadableWAL = []string{"failed to open WAL", "failed to read WAL"}

// damageOfMessage is a *journal.Damage for a message with which etcd ends the process because of its WAL;
// nil for any other one. why is the error that etcd gives. One of the system, such as too many open files,
// says nothing about the WAL.
func damageOfMessage(dir, message string, why error) error {
	reason := ""
	switch {
	case strings.Contains(message, raftLostEntries):
		reason = "it lacks entries that this member has confirmed: it was cut"
	case slices.ContainsFunc(unreadableWAL, func(text string) bool { return strings.HasPrefix(message, text) }):
		if system := syscall.Errno(0); errors.As(why, &system) {
			return nil
		}
		reason = fmt.Sprint(why)
	default:
		return nil
	}
	return &journal.Damage{File: filepath.Join(dir, "etcd", "member", "wal"), Err: fmt.Errorf("%s: %s", reason, replaceMember)}
}
