// Package duplex carries the files of the repository's root that the binary shows.
package duplex

import _ "embed"

// Changelog is CHANGELOG.md.
//
//go:embed CHANGELOG.md
var Changelog []byte
