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

// inLog is records of 100 bytes made durable in groups, each group with a sync of its
// own: the venue's log beside a preallocated file with a checksum a group and nothing
// else, which is as fast as the disk goes.
func inLog(size int) comparison {
	return comparison{
		Name: fmt.Sprintf("log-%d", size), Peer: "preallocated file, CRC, fdatasync",
		peer: groups(size, rawLog), venue: groups(size, venueLog),
	}
}

// groups proposes one group after the other for the rig's duration.
func groups(size int, open func(dir string) (propose func([]byte) error, done func() error, err error)) work {
	return func(ctx context.Context, r *rig) (f figures, err error) {
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
		var took []time.Duration
		spent, err := cpu(os.Getpid())
		if err != nil {
			return f, err
		}
		begun := time.Now()
		for time.Since(begun) < r.duration && ctx.Err() == nil {
			at := time.Now()
			if err := propose(body); err != nil {
				return f, err
			}
			took = append(took, time.Since(at))
		}
		elapsed := time.Since(begun)
		after, err := cpu(os.Getpid())
		if err != nil {
			return f, err
		}
		slices.Sort(took)
		n := len(took) * size
		return figures{PerSecond: float64(n) / elapsed.Seconds(), P50: took[len(took)/2], P99: took[len(took)*99/100], CPU: (after - spent) / time.Duration(n)}, nil
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
		return f.Propose(journal.Group{Proposal: n, Body: body})
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
