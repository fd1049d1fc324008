// Package guides has only a test for the guides in its folder: it recomputes every figure of
// rounds.md with the venue's code.
package guides
