package journal

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// BodyMax is the longest body of a group, in bytes.
const BodyMax = 16 << 20

// Group is one record of the log: commands that become durable together.
type Group struct {
	Number   uint64   // 1, 2, 3 and so on; set by the log
	Node     uint32   // the node that proposed it; 0 on one machine, from 1 on in a log of several
	Proposal uint64   // the node's own number of it, see Log.NewLife
	Stamp    int64    // ns since the Unix epoch, never falls; set by the log
	Body     []byte   // commands, see AppendCommand; at most BodyMax bytes
	Chain    [32]byte // hash of everything up to and including this group; set by the log
}

// Position is a place between two groups, named by the group before it. The zero Position is
// the start of a log.
type Position struct {
	Number uint64
	Chain  [32]byte
	Stamp  int64
}

// After is the position after g.
func (g *Group) After() Position { return Position{g.Number, g.Chain, g.Stamp} }

// Next returns g as the group after p: it sets Number and Chain, and raises a Stamp lower than
// that of p. A log of several machines derives these on delivery, so that every machine
// derives the same.
func (p Position) Next(g Group) Group {
	g.Number, g.Stamp = p.Number+1, max(g.Stamp, p.Stamp)
	head := g.chainHead()
	g.Chain = chain(&p.Chain, head[:], g.Body)
	return g
}

// The record of a group, little-endian:
//
//	 0  magic     "DXG" and the version of the format, 2
//	 4  crc32c    of the magic and all that follows
//	 8  number    u64
//	16  node      u32
//	20  length    u32, of the body
//	24  proposal  u64
//	32  stamp     i64
//	40  chain     32 bytes, SHA-256 of the chain before and of 8..40 and the body
//	72  body      masked with the chain
//	  + end       one byte, 0xA5
//
// Three parts serve recovery alone (torn_tail.go). By the CRC a record is recognized as
// complete on its own, while the CRC of the WAL runs over everything before it. The mask and
// the end byte ensure that no complete record contains a sector of zeros or ends with a zero:
// nobody can choose a body that equals its own hash. So zeros are bytes that were never
// written.
const (
	recordHead = 72
	recordEnd  = 0xA5
	recordMax  = recordHead + BodyMax + 1
)

// formatVersion is the version of the records that this program reads and writes. No published version
// has written version 1, whose commands name no key.
const formatVersion = 2

var (
	recordMagic = []byte{'D', 'X', 'G'}
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
)

var (
	errMagic    = errors.New("not a group")
	errVersion  = fmt.Errorf("written by a newer version of this program: it reads format %d", formatVersion)
	errFormat1  = fmt.Errorf("a journal of format 1, which this program does not read: dx 0.1.0 does")
	errLength   = errors.New("the length in its head is not that of the record")
	errChecksum = errors.New("checksum does not match")
	errChain    = errors.New("running hash does not match")
)

// appendRecord appends the record of g and sets g.Chain; before is the chain of the group
// before it.
func appendRecord(dst []byte, before *[32]byte, g *Group) []byte {
	at := len(dst)
	dst = appendRecordHead(dst, g)
	g.Chain = chain(before, dst[at+8:], g.Body)
	return sealRecord(append(dst, g.Chain[:]...), at, g)
}

// appendRecordHead appends a record up to its chain, without its checksum.
func appendRecordHead(dst []byte, g *Group) []byte {
	dst = append(dst, recordMagic...)
	dst = append(dst, formatVersion, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, g.Number)
	dst = binary.LittleEndian.AppendUint32(dst, g.Node)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(g.Body)))
	dst = binary.LittleEndian.AppendUint64(dst, g.Proposal)
	return binary.LittleEndian.AppendUint64(dst, uint64(g.Stamp))
}

// sealRecord appends the body to the record that begins at an index, and sets the checksum.
func sealRecord(dst []byte, at int, g *Group) []byte {
	dst = append(dst, g.Body...)
	mask(dst[at+recordHead:], &g.Chain)
	dst = append(dst, recordEnd)
	binary.LittleEndian.PutUint32(dst[at+4:], recordChecksum(dst[at:]))
	return dst
}

// recordChecksum returns the checksum of a whole record.
func recordChecksum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:4], castagnoli), castagnoli, b[8:])
}

// recordLength returns the length of the record whose head is at the start of b.
func recordLength(b []byte) (int, error) {
	if len(b) < recordHead || !bytes.HasPrefix(b, recordMagic) || b[3] == 0 {
		return 0, errMagic
	}
	if b[3] != formatVersion {
		if b[3] < formatVersion {
			return 0, errFormat1
		}
		return 0, errVersion
	}
	length := binary.LittleEndian.Uint32(b[20:])
	if length > BodyMax {
		return 0, errLength
	}
	return recordHead + int(length) + 1, nil
}

// readRecord reads the record at the start of b and returns its length. It verifies the record
// on its own; follows verifies that it continues another.
func readRecord(b []byte) (g Group, n int, err error) {
	if n, err = recordLength(b); err != nil {
		return g, 0, err
	}
	if len(b) < n {
		return g, 0, errLength
	}
	b = b[:n]
	if binary.LittleEndian.Uint32(b[4:]) != recordChecksum(b) || b[len(b)-1] != recordEnd {
		return g, 0, errChecksum
	}
	g = Group{
		Number:   binary.LittleEndian.Uint64(b[8:]),
		Node:     binary.LittleEndian.Uint32(b[16:]),
		Proposal: binary.LittleEndian.Uint64(b[24:]),
		Stamp:    int64(binary.LittleEndian.Uint64(b[32:])),
		Chain:    [32]byte(b[40:]),
		Body:     bytes.Clone(b[recordHead : len(b)-1]),
	}
	mask(g.Body, &g.Chain)
	return g, len(b), nil
}

// follows reports whether the chain of g continues the chain before.
func (g *Group) follows(before *[32]byte) bool {
	head := g.chainHead()
	return chain(before, head[:], g.Body) == g.Chain
}

// chainHead is the part of a record's head that the chain covers.
func (g *Group) chainHead() (head [32]byte) {
	binary.LittleEndian.PutUint64(head[0:], g.Number)
	binary.LittleEndian.PutUint32(head[8:], g.Node)
	binary.LittleEndian.PutUint32(head[12:], uint32(len(g.Body)))
	binary.LittleEndian.PutUint64(head[16:], g.Proposal)
	binary.LittleEndian.PutUint64(head[24:], uint64(g.Stamp))
	return head
}

func chain(before *[32]byte, head, body []byte) (sum [32]byte) {
	h := sha256.New()
	h.Write(before[:])
	h.Write(head)
	h.Write(body)
	h.Sum(sum[:0])
	return sum
}

// mask masks b with key, or unmasks it.
func mask(b []byte, key *[32]byte) {
	var wide [512]byte
	for i := 0; i < len(wide); i += len(key) {
		copy(wide[i:], key[:])
	}
	for len(b) > 0 {
		b = b[subtle.XORBytes(b, b, wide[:]):]
	}
}
