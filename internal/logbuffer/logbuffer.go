// Package logbuffer collects in memory what a test's subject writes, such as its log, and can
// be read while the subject still runs.
package logbuffer

import (
	"strings"
	"sync"
)

// Buffer collects text. Its zero value is empty and ready to use. It is safe for concurrent
// use and must not be copied after the first write.
type Buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends p. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the text so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
