// Package export writes tables to files of one UTC day each, as CSV or Parquet, with a manifest
// that lists them (docs/guides/data.md).
//
//	f, err := Create(dir, options)          locks the folder, which may have other exports
//	f.Present()                             their manifest, by which the caller compares the journal
//	f.Table(&t, span), f.Row(values) …      rows by rising time
//	f.Close(manifest)                       the manifest is written last, and keeps their entries
//
// Invariants:
//
//  1. A file gets its final name only when it is complete and synced. Close without an error, and
//     its place in the manifest, are the proof that an export is complete.
//  2. No file that existed before is changed, except the manifest, which Close replaces by one that
//     also has its entries. After an error and Abort, no new file stays.
//  3. Money is exact: in pips as integers, and in dollars as decimals.
//  4. CSV with Raw has the same values as Parquet, and an empty cell where that has null.
//
// The package knows no table and no database.
package export
