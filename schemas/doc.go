// Package schemas defines the wire format: the JSON of every request and response,
// strict decoding, the table of errors, signatures and cursors. The gate, the lanes,
// the tools and the Go client share it, so each name, range and code has one definition.
//
// A request is one struct with its path, query and body fields together, because the
// same struct is the argument object of the tool:
//
//	body    json:"qty"                    Decode
//	query   json:"limit" in:"query"       DecodeQuery
//	path    json:"market_id" in:"path"    DecodePath
//	tool    all of them as members        DecodeArguments
//
// Decoding a body:
//
//	check that it is one valid JSON object
//	for each member: find the field, decode the value, check it against the tags
//	report missing fields
//	run Check, for the rules that involve several fields
//	return the fault of the highest rank, or leave it to the core
//
// Invariants:
//
//  1. The tags that produce the JSON Schema (minimum, maximum, enum, pattern, minItems,
//     …) are the tags that decoding checks.
//  2. Decoding accepts no unknown and no repeated member, and no member name in
//     another case (docs/rules/rest.md#closed-requests).
//  3. Of several faults the one of the highest rank is returned
//     (docs/rules/errors.md#which-code-answers).
//  4. The same value always encodes to the same bytes.
//
// The package never opens a connection, reads a clock or decides what an account may do.
package schemas
