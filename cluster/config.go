package cluster

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/internal/address"
	"duplex/internal/atomicfile"
)

// ID is the id of a cluster, chosen at random when the cluster forms.
type ID [8]byte

func newID() (id ID) {
	rand.Read(id[:]) // never fails
	return id
}

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(b []byte) error {
	raw, err := hex.DecodeString(string(b))
	if err != nil || len(raw) != len(id) {
		return fmt.Errorf("%q is not the id of a cluster", b)
	}
	*id = ID(raw)
	return nil
}

// Address is a member as --cluster names it.
type Address struct {
	Name string
	Peer string // host:port of etcd's peer port
}

// ParseAddresses reads "a=H1:7000,b=H2:7000,c=H3:7000". It returns the members in the order of
// their names.
func ParseAddresses(text string) (list []Address, err error) {
	for part := range strings.SplitSeq(text, ",") {
		name, peer, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return nil, fmt.Errorf("%q is not NAME=HOST:PORT", part)
		}
		if err := CheckName(name); err != nil {
			return nil, err
		}
		if err := address.CheckDial(peer); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, a := range list {
			if a.Name == name {
				return nil, fmt.Errorf("the name %s is used twice", name)
			}
			if a.Peer == peer {
				return nil, fmt.Errorf("%s and %s have the same address %s", a.Name, name, peer)
			}
		}
		list = append(list, Address{name, peer})
	}
	slices.SortFunc(list, func(a, b Address) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// CheckName returns an error unless a name is 1 to 32 lower-case letters, digits and hyphens.
func CheckName(name string) error {
	if name == "" || len(name) > 32 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(name, "-") {
		return fmt.Errorf("%q is not the name of a node: 1 to 32 of a-z, 0-9 and -", name)
	}
	return nil
}

// config is what the members agree on, one value in etcd.
type config struct {
	Format    int               `json:"format"`
	ClusterID ID                `json:"cluster_id"`
	Base      position          `json:"base"` // the log begins after it
	NextNode  uint32            `json:"next_node"`
	Members   []member          `json:"members"`          // in the order of their names
	Former    []member          `json:"former,omitempty"` // that were removed, with their last addresses
	Settings  map[string]string `json:"settings"`
	MasterKey string            `json:"master_key"` // fingerprint

	revision int64 // of etcd, at which it was written
}

// member is a member of the cluster. Its number is never given to another one.
type member struct {
	Node   uint32 `json:"node"`
	Name   string `json:"name"`
	Peer   string `json:"peer"`
	Follow string `json:"follow,omitempty"` // host:port of its follow port, once it has published it
}

// position is a journal.Position as JSON.
type position struct {
	Number uint64 `json:"number"`
	Chain  string `json:"chain,omitempty"` // 64 hex characters
	Stamp  int64  `json:"stamp,omitempty"`
}

func positionOf(p journal.Position) position {
	if p.Number == 0 {
		return position{}
	}
	return position{p.Number, hex.EncodeToString(p.Chain[:]), p.Stamp}
}

// journal is the inverse of positionOf.
func (p position) journal() (at journal.Position, err error) {
	at.Number, at.Stamp = p.Number, p.Stamp
	if p.Chain == "" {
		return at, nil
	}
	chain, err := hex.DecodeString(p.Chain)
	if err != nil || len(chain) != len(at.Chain) {
		return at, fmt.Errorf("%q is not a running hash", p.Chain)
	}
	at.Chain = [32]byte(chain)
	return at, nil
}

const configFormat = 1

// newConfig is the configuration of a cluster that forms. first is the number of the first member.
func newConfig(members []Address, base position, first uint32, settings map[string]string, masterKey []byte) *config {
	c := &config{Format: configFormat, ClusterID: newID(), Base: base, Settings: settings, NextNode: first}
	c.MasterKey = fingerprint(masterKey, c.ClusterID)
	for _, a := range members {
		c.Members = append(c.Members, member{Node: c.NextNode, Name: a.Name, Peer: a.Peer})
		c.NextNode++
	}
	return c
}

// named returns the member of a name; nil if there is none.
func (c *config) find(name string) *member {
	i := slices.IndexFunc(c.Members, func(m member) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Members[i]
}

// SettingError says that a setting of this node differs from that of the cluster.
type SettingError struct {
	Setting    string
	Have, Want string // of this node, of the cluster
}

func (e *SettingError) Error() string {
	if e.Want == "" && e.Have == "" {
		return e.Setting + " differs from that of the cluster"
	}
	return fmt.Sprintf("%s is %s, that of the cluster is %s", e.Setting, e.Have, e.Want)
}

// checkSettings compares the settings of this node with those of the cluster.
func checkSettings(have, want map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] != want[name] {
			return &SettingError{name, have[name], want[name]}
		}
	}
	return nil
}

// The settings that are rules of the venue. Only commands change them, once there is a cluster.
const (
	SettingDispute    = "--dispute"
	SettingMinSources = "--min-sources"
)

// RuleSettings are the settings of rules.
func RuleSettings(r *core.Rules) map[string]string {
	var each []string
	for f, n := range r.MinSources {
		if n > 1 {
			each = append(each, fmt.Sprintf("%s=%d", core.Feed(f), n))
		}
	}
	if each == nil {
		each = []string{"1 for each feed"}
	}
	return map[string]string{SettingDispute: time.Duration(r.DisputeNs).String(), SettingMinSources: strings.Join(each, ",")}
}

// CheckRules compares the settings of rules with those of rules that are in force.
func CheckRules(have, inForce *core.Rules) error {
	return checkSettings(RuleSettings(have), RuleSettings(inForce))
}

// fingerprint identifies a master key without revealing it.
func fingerprint(key []byte, id ID) string {
	h := hmac.New(sha256.New, key)
	h.Write(id[:])
	return hex.EncodeToString(h.Sum(nil))
}

// checkMasterKey compares the master keys of this node, one of which may be that of the cluster.
func checkMasterKey(keys [][]byte, id ID, want string) error {
	for _, k := range keys {
		if hmac.Equal([]byte(fingerprint(k, id)), []byte(want)) {
			return nil
		}
	}
	return &SettingError{Setting: "the master key"}
}

// checkMembers compares --cluster with the members. The list founds a cluster. Later each of its entries must
// be one that is or was a member at that address: the members change by commands, and a list that was right
// stays right. It returns the names of the members that the list lacks.
func (c *config) checkMembers(list []Address) (missing []string, err error) {
	for _, a := range list {
		was := slices.ContainsFunc(c.Former, func(m member) bool { return m.Name == a.Name && m.Peer == a.Peer })
		switch is := c.find(a.Name); {
		case is != nil && is.Peer == a.Peer, was && is == nil:
		case is != nil:
			return nil, &SettingError{"--cluster", a.Name + "=" + a.Peer, is.Name + "=" + is.Peer}
		default:
			return nil, &SettingError{"--cluster", a.Name + "=" + a.Peer, "of " + c.names() + ", and never had that member"}
		}
	}
	for _, m := range c.Members {
		if !slices.ContainsFunc(list, func(a Address) bool { return a.Name == m.Name }) {
			missing = append(missing, m.Name)
		}
	}
	return missing, nil
}

// identity is the file CLUSTER of a data folder: who this node is. While Forming is set, the node has
// data of its own and no cluster yet: it writes the configuration of one, whose log continues the
// journal after Base, and whose members get numbers from Node on.
type identity struct {
	Format    int      `json:"format"`
	ClusterID ID       `json:"cluster_id"`
	Name      string   `json:"name"`
	Node      uint32   `json:"node"`
	Base      position `json:"base"`
	Life      uint32   `json:"life"`       // of the newest run that may have proposed something
	MasterKey string   `json:"master_key"` // fingerprint
	Joined    bool     `json:"joined,omitempty"`
	Forming   bool     `json:"forming,omitempty"`
	Diverged  string   `json:"diverged,omitempty"` // why this member has stopped: a majority attests another state
	Leaving   bool     `json:"leaving,omitempty"`  // Detach was interrupted: the archive is complete, etcd's data may be gone

	// Settings are those of the cluster; while Forming is set, those that the journal has in force. A start
	// compares them before the node takes part in anything.
	Settings map[string]string `json:"settings,omitempty"`
}

const (
	identityName = "CLUSTER"
	lockName     = "CLUSTER.lock"
)

// readIdentity returns nil if there is none. The file ends with the CRC-32C of what is before it,
// because a life that is too low could give two groups one number.
func readIdentity(dir string) (*identity, error) {
	path := filepath.Join(dir, identityName)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, sum, _ := strings.Cut(string(b), crcLine)
	if fmt.Sprintf("%08x\n", crc32.Checksum([]byte(text), castagnoli)) != sum {
		return nil, &journal.Damage{File: path, Err: fmt.Errorf("%w: give a follower an empty folder; of a member, %s", errChecksum, replaceMember)}
	}
	id := &identity{}
	if err := json.Unmarshal([]byte(text), id); err != nil || id.Format != configFormat || id.Node == 0 {
		return nil, &journal.Damage{File: path, Err: errors.Join(errors.New("not the identity of a node"), err)}
	}
	return id, nil
}

// RecordedSettings returns the settings of the cluster to whose node a data folder belongs; nil if it is
// not one of a node.
func RecordedSettings(dir string) (map[string]string, error) {
	id, err := readIdentity(dir)
	if id == nil {
		return nil, err
	}
	return id.Settings, nil
}

const crcLine = "\ncrc32c "

func (id *identity) write(dir string) error {
	b, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return err
	}
	b = fmt.Appendf(b, "%s%08x\n", crcLine, crc32.Checksum(b, castagnoli))
	return atomicfile.Write(filepath.Join(dir, identityName), b)
}
