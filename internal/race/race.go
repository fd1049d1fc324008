//go:build race

// Package race tells tests whether they run under the race detector, which makes everything about ten
// times as long.
package race

// Enabled reports whether the program was built with -race.
const Enabled = true
