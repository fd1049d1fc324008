package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"duplex/core/journal"
)

// journalComparison compares the venue's log with a preallocated file that has only a checksum
// per group, the upper bound of the disk. Both write groups of size records of 100 bytes, with
// one sync per group.
func journalComparison(size int) comparison {
	return comparison{
		Name: fmt.Sprintf("log-%d", size), Peer: "preallocated file, CRC, fdatasync",
		peer: writeGroups(size, rawLog), venue: writeGroups(size, venueLog),
	}
}

// writeGroups returns a measurement that proposes groups one after the other.
func writeGroups(size int, open func(dir string) (propose func([]byte) error, done func() error, err error)) measurement {
	return func(ctx context.Context, r *harness) (f result, err error) {
		dir, err := os.MkdirTemp(r.dir, "log")
		if err != nil {
			return f, err
		}
		defer os.RemoveAll(dir)
		propose, done, err := open(dir)
		if err != nil {
			return f, err
		}
		defer func() { err = errors.Join(err, done()) }()
		body := make([]byte, size*100)
		for i := range body {
			body[i] = byte(i * 7)
		}
		var latencies []time.Duration
		cpuBefore, err := cpuTime(os.Getpid())
		if err != nil {
			return f, err
		}
		start := time.Now()
		for time.Since(start) < r.duration && ctx.Err() == nil {
			at := time.Now()
			if err := propose(body); err != nil {
				return f, err
			}
			latencies = append(latencies, time.Since(at))
		}
		elapsed := time.Since(start)
		after, err := cpuTime(os.Getpid())
		if err != nil {
			return f, err
		}
		slices.Sort(latencies)
		n := len(latencies) * size
		return result{PerSecond: float64(n) / elapsed.Seconds(), P50: latencies[len(latencies)/2], P99: latencies[len(latencies)*99/100], CPU: (after - cpuBefore) / time.Duration(n)}, nil
	}
}

func venueLog(dir string) (func([]byte) error, func() error, error) {
	f, err := journal.Open(dir, journal.Options{})
	if err != nil {
		return nil, nil, err
	}
	var n uint64
	return func(body []byte) error {
		n++
		return f.Propose(context.Background(), journal.Group{Proposal: n, Body: body})
	}, f.Close, nil
}

const rawBytes = 64 << 20

func rawLog(dir string) (func([]byte) error, func() error, error) {
	f, err := os.OpenFile(filepath.Join(dir, "raw"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if _, err := f.Write(make([]byte, rawBytes)); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	table, at := crc32.MakeTable(crc32.Castagnoli), int64(0)
	var buf []byte
	return func(body []byte) error {
		buf = binary.LittleEndian.AppendUint32(buf[:0], uint32(len(body)))
		buf = binary.LittleEndian.AppendUint32(buf, crc32.Checksum(body, table))
		buf = append(buf, body...)
		if at+int64(len(buf)) > rawBytes {
			at = 0
		}
		if _, err := f.WriteAt(buf, at); err != nil {
			return err
		}
		at += int64(len(buf))
		return unix.Fdatasync(int(f.Fd()))
	}, f.Close, nil
}
