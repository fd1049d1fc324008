// Package export writes tables to files of one UTC day each, as CSV or Parquet, with a manifest
// that lists them (docs/guides/data.md).
//
//	f, err := Create(dir, format, tables)   refuses a folder that has one of the files
//	f.Table(&t), f.Row(values) …            rows by rising time
//	f.Close(manifest)                       the manifest is written last
//
// Invariants:
//
//  1. A file gets its final name only when it is complete and synced. Close without an error, and
//     the manifest, are the proof that an export is complete.
//  2. No file that existed before is changed. After an error and Abort, no new file stays.
//  3. Money is exact: in pips as integers, and in dollars as decimals.
//
// The package knows no table and no database.
package export
