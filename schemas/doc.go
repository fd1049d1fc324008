// Package schemas is the wire: the JSON of every request and answer, strict
// decoding, the fault table, what a signature covers, and cursors. Gate, lanes,
// tools and the Go client all speak through it, so that a name, a range or a code
// is written down once.
//
// A request is one struct that carries its path, query and body fields together,
// because the same struct is the argument object of the tool:
//
//	body    json:"qty"                    Decode
//	query   json:"limit" in:"query"       DecodeQuery
//	path    json:"market_id" in:"path"    DecodePath
//	tool    all of them as members        DecodeArguments
//
// The tags that draw its JSON Schema (minimum, maximum, enum, pattern, minItems,
// …) are the ones decoding checks; rules that join fields are in Check.
//
// It never opens a connection, reads a clock or decides what an account may do.
package schemas
