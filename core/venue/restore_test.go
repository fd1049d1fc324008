package venue

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"pgregory.net/rapid"

	"duplex/core"
)

func piecesOf(t interface{ Fatal(...any) }, v *Venue) (list [][]byte) {
	image, err := v.Image()
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range image.Pieces() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, bytes.Clone(b))
	}
	return list
}

func sequence(list [][]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, b := range list {
			if !yield(b, nil) {
				return
			}
		}
	}
}

// TestPieces checks that the joined pieces are the state, that a venue restored from them is equal, and
// that missing and additional pieces are rejected.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, s, _ := begin(t)
		for range rapid.IntRange(0, 60).Draw(t, "commands") {
			v.Apply(s.stamp(), s.command(), &core.Events{})
		}
		list, whole := piecesOf(t, v), bytesOf(t, v)
		if !bytes.Equal(bytes.Join(list, nil), whole) {
			t.Fatal("the pieces are not the state")
		}
		w, hash, err := RestorePieces(sequence(list))
		if err != nil || hash != sha256.Sum256(whole) || !bytes.Equal(bytesOf(t, w), whole) {
			t.Fatalf("restored to another state, %v", err)
		}
		if of, err := v.Hash(); err != nil || of != hash {
			t.Fatalf("hash %x, not %x, %v", of, hash, err)
		}
		n := rapid.IntRange(0, len(list)-1).Draw(t, "cut")
		if _, _, err := RestorePieces(sequence(list[:n])); err == nil {
			t.Fatalf("%d of %d pieces are accepted", n, len(list))
		}
		if _, _, err := RestorePieces(sequence(append(list, []byte{0}))); err == nil {
			t.Fatal("an additional piece is accepted")
		}
	})
}

// TestRestoreOfDamagedPieces checks that RestorePieces fails if any single piece cannot be read or is damaged.
func TestRestoreOfDamagedPieces(t *testing.T) {
	v, do := opened(t)
	for _, c := range otherCommands() {
		do(c)
	}
	list := piecesOf(t, v)
	errRead := errors.New("read error")
	for i := range list {
		damaged := slices.Clone(list)
		damaged[i] = []byte{0xff}
		if _, _, err := RestorePieces(sequence(damaged)); err == nil {
			t.Errorf("piece %d of %d is damaged, but accepted", i, len(list))
		}
		_, _, err := RestorePieces(func(yield func([]byte, error) bool) {
			for j, b := range list {
				if j == i && !yield(nil, errRead) || j != i && !yield(b, nil) {
					return
				}
			}
		})
		if !errors.Is(err, errRead) {
			t.Errorf("piece %d of %d cannot be read: %v", i, len(list), err)
		}
	}
}

// TestRestoreEmptyList checks that an empty list is restored as one.
func TestRestoreEmptyList(t *testing.T) {
	v, do := opened(t)
	do(&core.SetSchedule{Windows: []core.Window{}})
	again, _, err := RestorePieces(sequence(piecesOf(t, v)))
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Windows(); got == nil || len(got) != 0 {
		t.Errorf("windows %#v", got)
	}
}

// TestRestoreLongList restores a list that is longer than the capacity that is allocated before its elements
// are read.
func TestRestoreLongList(t *testing.T) {
	const n = 2000
	v, do := opened(t)
	for i := range n {
		do(&core.Deposit{User: 1, DepositID: fmt.Sprint("long ", i), Amount: 1})
	}
	again, _, err := RestorePieces(sequence(piecesOf(t, v)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := again.deposits.Len(), v.deposits.Len(); got != want || want < n {
		t.Errorf("%d deposits, want %d", got, want)
	}
}

// FuzzPieces checks that RestorePieces accepts only pieces of a state that Restore accepts.
func FuzzPieces(f *testing.F) {
	for _, b := range states(f) {
		v, err := Restore(b)
		if err != nil {
			f.Fatal(err)
		}
		joined, err := encoding.Marshal(piecesOf(f, v))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(joined)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var list [][]byte
		if cbor.Unmarshal(b, &list) != nil {
			return
		}
		v, _, err := RestorePieces(sequence(list))
		if err != nil {
			return
		}
		if one, err := v.MarshalBinary(); err == nil {
			if _, err := Restore(one); err != nil {
				t.Fatalf("%x is taken, and its own bytes %x are not: %v", b, one, err)
			}
		}
	})
}
