package sim

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
)

// trace records a line for each thing that happens in a run. Two runs of one seed have the
// same lines and so the same hash.
type trace struct {
	sum hash.Hash
	to  io.Writer // may be nil
}

func newTrace(to io.Writer) *trace { return &trace{sum: sha256.New(), to: to} }

func (t *trace) line(format string, args ...any) {
	s := fmt.Sprintf(format, args...) + "\n"
	io.WriteString(t.sum, s)
	if t.to != nil {
		io.WriteString(t.to, s)
	}
}

func (t *trace) hash() (h [32]byte) {
	t.sum.Sum(h[:0])
	return h
}
