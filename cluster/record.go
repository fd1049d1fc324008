package cluster

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"duplex/core/journal"
)

// BodyMax is the longest body of a group in a log of several machines, in bytes.
const BodyMax = 1 << 20

// The record of a proposal, little-endian:
//
//	 0  magic     "DXC" and the version of the format, 1
//	 4  crc32c    of the magic and of all that follows
//	 8  cluster   8 bytes, the id of the cluster
//	16  node      u32
//	20  proposal  u64
//	28  stamp     i64, the clock of the proposer
//	36  body
//
// The proposer computes the CRC, because etcd's database has no checksum of its values.
const recordHead = 36

var (
	recordMagic = [4]byte{'D', 'X', 'C', 1}
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
)

var (
	errRecord   = errors.New("not the record of a group")
	errChecksum = errors.New("checksum does not match")
	errForeign  = errors.New("written by another cluster")
)

func encodeRecord(id ID, g *journal.Group) []byte {
	b := make([]byte, 0, recordHead+len(g.Body))
	b = append(b, recordMagic[:]...)
	b = append(b, 0, 0, 0, 0)
	b = append(b, id[:]...)
	b = binary.LittleEndian.AppendUint32(b, g.Node)
	b = binary.LittleEndian.AppendUint64(b, g.Proposal)
	b = binary.LittleEndian.AppendUint64(b, uint64(g.Stamp))
	b = append(b, g.Body...)
	binary.LittleEndian.PutUint32(b[4:], recordSum(b))
	return b
}

func recordSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:4], castagnoli), castagnoli, b[8:])
}

// recordID is the cluster that a record says it is of; zero if it is too short for one.
func recordID(b []byte) (id ID) {
	if len(b) >= recordHead {
		id = ID(b[8:16])
	}
	return id
}

// decodeRecord returns the group of a record, without Number and Chain. Its body is part of b.
func decodeRecord(id ID, b []byte) (g journal.Group, err error) {
	switch {
	case len(b) < recordHead || [4]byte(b) != recordMagic:
		return g, errRecord
	case binary.LittleEndian.Uint32(b[4:]) != recordSum(b):
		return g, errChecksum
	case ID(b[8:16]) != id:
		return g, errForeign
	}
	return journal.Group{
		Node:     binary.LittleEndian.Uint32(b[16:]),
		Proposal: binary.LittleEndian.Uint64(b[20:]),
		Stamp:    int64(binary.LittleEndian.Uint64(b[28:])),
		Body:     b[recordHead:],
	}, nil
}
