// Package guides is for the tests of the pages beside it: every figure of rounds.md
// is computed anew by the machine itself.
package guides
