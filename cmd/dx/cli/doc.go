// Package cli has what several commands of dx share: the flags that name a venue and a
// key, errors that name a flag, output for people and for programs, and progress.
//
// Invariants:
//
//  1. A secret comes from the environment or from a file, and no error text contains it.
//  2. Output differs between a terminal and a file in layout only.
//  3. A count in a table has a comma between each three digits, an id has none.
//
// The package has no command of its own and never starts a venue.
package cli
