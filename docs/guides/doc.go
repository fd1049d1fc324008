// Package guides tests the pages in its folder: it recomputes every figure of rounds.md
// with the venue's own code.
package guides
