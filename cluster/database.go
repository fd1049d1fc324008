package cluster

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"duplex/core/journal"
)

// database is what a member reads in etcd's database before etcd opens it. etcd ends the process, or believes it,
// where a value makes no sense.
type database struct {
	path string
	id   ID // of the cluster; zero while it is not known

	applied, term uint64 // of the newest entry; 0 if there is none
	alarm         bool   // etcd has no space
	newest        map[string]version
	members       []membership.Member
}

// version is the newest one of a key.
type version struct {
	number, revision int64
	value            []byte
}

func (db *database) damage(format string, args ...any) error {
	return &journal.Damage{File: db.path, Err: fmt.Errorf("%w: %s", fmt.Errorf(format, args...), replaceMember)}
}

// checkDatabase reads etcd's database. The error is a *journal.Damage if the file is missing, shorter than its header
// says, or has what neither etcd nor a member writes; or one of the disk.
func checkDatabase(dir string, id ID) (*database, error) {
	db := &database{path: filepath.Join(dir, "etcd", "member", "snap", "db"), id: id, newest: map[string]version{}}
	f, err := os.Open(db.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, db.damage("%w", errNoDB)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() == 0 {
		return nil, db.damage("%w", errNoDB)
	}
	file, err := openBolt(f)
	if errors.Is(err, errNoHeader) {
		return nil, db.damage("%w", err)
	}
	if err != nil {
		return nil, err
	}
	if need := file.size(); st.Size() < need || need/file.pageSize != int64(file.pages) {
		return nil, db.damage("it has %d bytes, its header says at least %d: it was cut", st.Size(), need)
	}
	err = file.walk(db.take)
	if err == nil {
		err = db.check()
	}
	if path := (*os.PathError)(nil); err != nil && !errors.As(err, &path) {
		err = db.damage("%w", err)
	}
	return db, err
}

// take takes one key, or a bucket if key is nil.
func (db *database) take(bucket string, key, value []byte) error {
	if key == nil {
		if !slices.ContainsFunc(schema.AllBuckets, func(b backend.Bucket) bool { return string(b.Name()) == bucket }) {
			return fmt.Errorf("a bucket %q", bucket)
		}
		return nil
	}
	switch bucket {
	case string(schema.Key.Name()):
		return db.takeVersion(key, value)
	case string(schema.Meta.Name()):
		return db.takeMeta(string(key), value)
	case string(schema.Members.Name()):
		return db.takeMember(string(key), value)
	case string(schema.MembersRemoved.Name()):
		_, err := types.IDFromString(string(key))
		return err
	case string(schema.Alarm.Name()):
		db.alarm = true
	}
	return nil
}

// takeVersion takes a version of a key. Its name in the bucket is the revision at which it was written.
func (db *database) takeVersion(name, value []byte) error {
	if len(name) != 17 || name[8] != '_' {
		return fmt.Errorf("%x is not a revision", name)
	}
	at := [2]int64{int64(binary.BigEndian.Uint64(name)), int64(binary.BigEndian.Uint64(name[9:]))}
	if at[0] < 0 || at[1] < 0 {
		return fmt.Errorf("revision %d.%d", at[0], at[1])
	}
	kv := new(mvccpb.KeyValue)
	if err := proto.Unmarshal(value, kv); err != nil {
		return fmt.Errorf("revision %d: %w", at[0], err)
	}
	key := string(kv.Key)
	was := db.newest[key]
	switch {
	case kv.ModRevision != at[0], kv.CreateRevision > kv.ModRevision, kv.Version < 1, kv.Lease != 0:
		return fmt.Errorf("revision %d says that it is revision %d, version %d", at[0], kv.ModRevision, kv.Version)
	case was.number > 0 && kv.Version != was.number+1:
		return fmt.Errorf("revision %d has version %d of %q after version %d", at[0], kv.Version, key, was.number)
	}
	switch key {
	case configKey, configSumKey:
	default:
		if _, err := decodeRecord(cmp.Or(db.id, recordID(kv.Value)), kv.Value); err != nil {
			return fmt.Errorf("revision %d: %w", at[0], err)
		}
	}
	db.newest[key] = version{kv.Version, kv.ModRevision, append(was.value[:0], kv.Value...)}
	return nil
}

// takeMeta takes what etcd knows of its own state.
func (db *database) takeMeta(key string, value []byte) error {
	switch key {
	case string(schema.MetaConsistentIndexKeyName), string(schema.MetaTermKeyName):
		if len(value) != 8 {
			return fmt.Errorf("%s has %d bytes", key, len(value))
		}
		if key == string(schema.MetaTermKeyName) {
			db.term = binary.BigEndian.Uint64(value)
		} else {
			db.applied = binary.BigEndian.Uint64(value)
		}
	case string(schema.MetaConfStateName):
		if err := json.Unmarshal(value, new(raftpb.ConfState)); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	case string(schema.ScheduledCompactKeyName), string(schema.FinishedCompactKeyName):
		if len(value) != 17 || value[8] != '_' || value[0] > 127 {
			return fmt.Errorf("%s is %x", key, value)
		}
	case string(schema.MetaStorageVersionName):
	default:
		return fmt.Errorf("a key %q of etcd's own state", key)
	}
	return nil
}

func (db *database) takeMember(key string, value []byte) error {
	m := membership.Member{}
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return fmt.Errorf("member %s: %w", key, err)
	}
	if m.ID.String() != key {
		return fmt.Errorf("member %s says that it is %s", key, m.ID)
	}
	db.members = append(db.members, m)
	return nil
}

// check checks the whole, after walk.
func (db *database) check() error {
	if len(db.newest) > 0 && db.applied == 0 {
		return errors.New("it has values, and says that it has no entry")
	}
	text, ok := db.newest[configKey]
	if !ok {
		return nil
	}
	// An older version of this program writes no sum, and leaves that of another revision.
	if sum, ok := db.newest[configSumKey]; ok && sum.revision == text.revision && string(sum.value) != configSum(text.value) {
		return fmt.Errorf("the configuration of the cluster: %w", errChecksum)
	}
	cfg := config{}
	if err := json.Unmarshal(text.value, &cfg); err != nil {
		return fmt.Errorf("the configuration of the cluster: %w", err)
	}
	for _, m := range db.members {
		for _, u := range m.PeerURLs {
			of := func(m member) bool { return strings.HasSuffix(u, "://"+m.Peer) }
			if _, err := url.Parse(u); err != nil || !slices.ContainsFunc(cfg.Members, of) && !slices.ContainsFunc(cfg.Former, of) {
				return fmt.Errorf("member %s at %q is not one of the configuration", m.Name, u)
			}
		}
	}
	return nil
}

// configSum is the value of configSumKey that belongs to a configuration.
func configSum(text []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli)) }
