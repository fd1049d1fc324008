package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"duplex/core/journal"
)

var (
	errNoDB  = errors.New("it is missing, or empty")
	errNoWAL = errors.New("etcd has no WAL")
)

// replaceMember says what to do about etcd's damaged data.
const replaceMember = "replace the member (dx cluster add, remove, promote), or see dx cluster recover if the majority is lost"

// mayLack is how many entries etcd's WAL may lack of those that its database has. etcd applies what the
// others have committed while it writes it to its WAL, so when the power fails the database may be ahead by
// what it applies at a time. That is 1 MiB, in which there are fewer small entries than this. This member
// has confirmed none of them.
const mayLack = 10_000

// checkEtcdData returns a *journal.Damage if etcd's database is missing, was cut, has what etcd would not have
// written, or does not fit to the WAL, which exists. etcd verifies the records of its WAL itself.
func checkEtcdData(dir string, id ID) error {
	db, err := checkDatabase(dir, id)
	if err != nil {
		return err
	}
	return db.checkWAL(filepath.Join(dir, "etcd", "member", "wal"), mayLack)
}

// checkWAL returns a *journal.Damage if the WAL lacks more than some entries of those that the database has: etcd
// would start, get from the others what is missing, and vote meanwhile as if it had confirmed nothing of that. And
// if the database does not have just the entries that it says it has: etcd would apply some of them again, or never.
func (db *database) checkWAL(dir string, some uint64) error {
	w, err := readWAL(dir, db.applied)
	if err != nil {
		return err
	}
	if db.applied > w.last+some {
		return &journal.Damage{File: w.path, Err: fmt.Errorf("it ends at entry %d, and etcd's database has entry %d: it was cut: %s", w.last, db.applied, replaceMember)}
	}
	if db.applied > w.last { // the end of the WAL is lost, or is not read because a record is damaged, which etcd names
		return nil
	}
	if db.term > w.term {
		return db.damage("it has term %d, and the WAL ends with term %d", db.term, w.term)
	}
	received := filepath.Join(filepath.Dir(db.path), fmt.Sprintf("%016x.snap.db", w.snapshot))
	if _, err := os.Stat(received); db.applied < w.snapshot && err != nil { // else etcd opens that one
		return db.damage("it has entries up to %d, and etcd's snapshot has entry %d", db.applied, w.snapshot)
	}
	// etcd without space refuses what is in its WAL.
	if w.put != nil && db.applied >= w.snapshot && !w.alarm && !db.alarm && !bytes.Equal(w.put, db.newest[logKey].value) {
		return db.damage("its newest group is not that of entry %d, which it says it has", w.putIndex)
	}
	return nil
}

// walEnd is the end of a WAL, up to the first record that is not whole.
type walEnd struct {
	path     string // of the newest file
	last     uint64 // index of the last entry or snapshot
	term     uint64 // the highest
	snapshot uint64 // index of the newest one
	alarm    bool   // etcd had no space for a while
	received bool   // a snapshot came from another member, and what is older may be missing

	put      []byte // of the newest entry up to the index applied that puts a group: the record; nil if there is none
	putIndex uint64
}

// readWAL reads the newest file of a WAL, and older ones until it has an entry that puts a group. applied is the last
// entry that etcd's database has.
func readWAL(dir string, applied uint64) (w walEnd, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil || len(files) == 0 {
		return w, errors.Join(err, errNoWAL)
	}
	slices.Sort(files)
	slices.Reverse(files)
	for i, path := range files {
		var number, first uint64 // of the file; of the first entry in it
		if _, err := fmt.Sscanf(filepath.Base(path), "%016x-%016x.wal", &number, &first); err != nil {
			return w, fmt.Errorf("%s: %w", path, err)
		}
		older := walEnd{path: files[0], last: max(first, 1) - 1}
		if err := older.read(path, applied); err != nil {
			return w, err
		}
		if i == 0 {
			w = older
		} else {
			w.term, w.snapshot, w.alarm = max(w.term, older.term), max(w.snapshot, older.snapshot), w.alarm || older.alarm
			w.put, w.putIndex = older.put, older.putIndex
		}
		if w.put != nil || older.received {
			break
		}
	}
	return w, nil
}

// read reads one file.
func (w *walEnd) read(path string, applied uint64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := wal.NewDecoder(fileutil.NewFileReader(f))
	for rec := new(walpb.Record); d.Decode(rec) == nil; {
		switch rec.GetType() {
		case wal.CrcType:
			d.UpdateCRC(rec.GetCrc())
		case wal.EntryType:
			e := new(raftpb.Entry)
			if err := proto.Unmarshal(rec.Data, e); err != nil {
				return nil
			}
			w.last, w.term = e.GetIndex(), max(w.term, e.GetTerm()) // it replaces what was there
			w.takeEntry(e, applied)
		case wal.StateType:
			var s raftpb.HardState
			if err := proto.Unmarshal(rec.Data, &s); err != nil {
				return nil
			}
			w.term = max(w.term, s.GetTerm())
		case wal.SnapshotType:
			var s walpb.Snapshot
			if err := proto.Unmarshal(rec.Data, &s); err != nil {
				return nil
			}
			if s.GetIndex() > w.last { // another member has sent it, in place of the entries before it
				w.last, w.put, w.putIndex, w.received = s.GetIndex(), nil, 0, true
			}
			w.snapshot = max(w.snapshot, s.GetIndex())
		}
	}
	return nil
}

// takeEntry looks for a put of a group, and for etcd's alarm.
func (w *walEnd) takeEntry(e *raftpb.Entry, applied uint64) {
	if w.putIndex >= e.GetIndex() { // it was not confirmed, and another one has taken its place
		w.put, w.putIndex = nil, 0
	}
	r := new(etcdserverpb.InternalRaftRequest)
	if e.GetType() != raftpb.EntryNormal || proto.Unmarshal(e.Data, r) != nil {
		return
	}
	w.alarm = w.alarm || r.Alarm != nil
	if p := r.Put; p != nil && string(p.Key) == logKey && e.GetIndex() <= applied {
		w.put, w.putIndex = p.Value, e.GetIndex()
	}
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
